"""The host processor as LLVM names it, and the few features that choose between two codes."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

import llvmlite.binding as llvm

from warplens.errors import InputError

# Processors that may be asked for by name, as LLVM calls them. "avx2" is any x86 since 2013,
# "no-fma" has half-precision conversions but no fused multiply-add.
_FORCED = {"avx2": "haswell", "no-fma": "ivybridge"}

_AVX512 = ("avx512f", "avx512dq", "avx512bw", "avx512vl")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFeatures:
    """What generated code may use. `cpu` and `features` go to LLVM's target machine."""

    cpu: str
    features: str
    has_avx512: bool
    has_fma: bool
    is_x86: bool
    has_avx2: bool
    has_halves: bool = False  # arithmetic in half precision

    def key(self) -> str:
        """A text that differs whenever code for one host could be illegal on another."""
        return f"{platform.machine()}/{self.cpu}/{self.features}"


def _is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def host_features(force: str | None = None) -> HostFeatures:
    """The host's features, or those of a lesser processor.

    Args:
        force: "avx2", "no-fma" or None; without it the environment variable WARPLENS_HOST decides.
    """
    name = force or os.environ.get("WARPLENS_HOST") or None
    is_x86 = _is_x86()
    if name is None or name == "native":
        features = llvm.get_host_cpu_features()
        present = {key for key, on in features.items() if on}
        return HostFeatures(
            cpu=llvm.get_host_cpu_name(),
            features=features.flatten(),
            has_avx512=all(feature in present for feature in _AVX512),
            has_fma="fma" in present or not is_x86,
            is_x86=is_x86,
            has_avx2="avx2" in present,
            has_halves="avx512fp16" in present,
        )
    if name not in _FORCED or not is_x86:
        known = ", ".join(_FORCED)
        raise InputError(
            f"unknown host processor {name!r}",
            hint=f"Known on x86: {known}. Unset WARPLENS_HOST to use this machine's.",
        )
    return HostFeatures(
        cpu=_FORCED[name],
        features="",
        has_avx512=False,
        has_fma=name == "avx2",
        is_x86=True,
        has_avx2=name == "avx2",
    )
