"""Warp: the CUDA runtime inside its library is replaced by ours; kernels are its own NVRTC's."""

from __future__ import annotations

from importlib.machinery import PathFinder
from pathlib import Path

from warplens.frontends.frontend import Frontend
from warplens.frontends.runtime_inside import take_over

_PACKAGE = "warp-lang"


def _prepare() -> None:
    """Before its import: replaces the runtime inside its library."""
    found = PathFinder.find_spec("warp")
    if found is None or found.origin is None:
        return
    library = Path(found.origin).parent / "bin" / "warp.so"
    if library.exists():
        take_over(library)


FRONTEND = Frontend(
    module="warp", package=_PACKAGE, first="1.19", before="1.20", prepare=_prepare
)
