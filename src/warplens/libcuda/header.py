"""The driver API's functions as NVIDIA's headers list them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from warplens.toolchain import packages

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DECLARED = re.compile(r"\bCUresult\s+CUDAAPI\s+(cu\w+)\s*\(")
_RENAMED = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(cu[A-Z]\w*)[ \t]+"
    r"(?:__CUDA_API_(PTDS|PTSZ)\()?(cu[A-Z]\w*)\)?[ \t]*$",
    re.MULTILINE,
)
_PER_THREAD = re.compile(r"__CUDA_API_(PTDS|PTSZ)\((cu\w+)\)")
_VERSIONED = re.compile(r"\(CUDAAPI \*PFN_(cu\w+?)_v(\d+)(?:_ptds|_ptsz)?\)")
_PROFILER = ("cuProfilerInitialize", "cuProfilerStart", "cuProfilerStop")  # in cudaProfiler.h


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverApi:
    """What the headers say.

    Attributes:
        names: every exported function.
        current: the name in a program's text -> the exported one that the header makes of it.
        versions: the name in a program's text -> the CUDA versions that changed its signature.
    """

    names: tuple[str, ...]
    current: dict[str, str]
    versions: dict[str, tuple[int, ...]]


@lru_cache(maxsize=1)
def driver_api() -> DriverApi:
    """The API of the installed headers.

    Raises:
        ToolchainError: the pip package with the headers is missing.
    """
    folder = packages.include_dirs()[0]
    text = _COMMENT.sub("", (folder / "cuda.h").read_text())
    names = {name for name in _DECLARED.findall(text)} | set(_PROFILER)
    current: dict[str, str] = {}
    for name, _, target in _RENAMED.findall(text):
        names.add(target)
        current.setdefault(name, target)
    for suffix, name in _PER_THREAD.findall(text):
        names.add(f"{name}_{suffix.lower()}")
    versions: dict[str, set[int]] = {}
    for name, version in _VERSIONED.findall((folder / "cudaTypedefs.h").read_text()):
        versions.setdefault(name, set()).add(int(version))
    return DriverApi(
        names=tuple(sorted(name for name in names if not name.startswith("cuda"))),
        current=current,
        versions={name: tuple(sorted(found)) for name, found in versions.items()},
    )
