"""The C text of the host libraries that a program is linked with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from warplens.programs.libraries import lt_forms
from warplens.programs.libraries.table import LIBRARIES, Library
from warplens.toolchain import packages

_DECLARED = re.compile(r"^[^#/*\n][^;{}()=]*?\b((?:cublas|cufft|cusparse|cusolver|curand)\w+)\s*\(",
                       re.MULTILINE)  # fmt: skip
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_INLINE = re.compile(r"static[^;{}]*\{.*?^\}", re.DOTALL | re.MULTILINE)
HEAD = """\
#define NO_DEVICE 100
static int result(int status) { return status == NO_DEVICE ? %(none)d : status; }
static int unsupported(int status) { return status ? %(unsupported)d : 0; }
"""
_STATUS = """\
EXPORTED const char *NAMEName(int status) {
    switch (status) {
    case 0: return "CUBLAS_STATUS_SUCCESS";
    case 1: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case 3: return "CUBLAS_STATUS_ALLOC_FAILED";
    case 7: return "CUBLAS_STATUS_INVALID_VALUE";
    case 8: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case 11: return "CUBLAS_STATUS_MAPPING_ERROR";
    case 13: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case 14: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case 15: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case 16: return "CUBLAS_STATUS_LICENSE_ERROR";
    default: return "CUBLAS_STATUS_UNKNOWN";
    }
}
EXPORTED const char *NAMEString(int status) { return NAMEName(status); }
"""
# Functions that give a text need no engine.
TEXTS: Mapping[str, str] = {
    "cublas": _STATUS.replace("NAME", "cublasGetStatus") + """\
EXPORTED size_t cublasGetCudartVersion(void) { return 13000; }
""",
    "cublasLt": _STATUS.replace("NAME", "cublasLtGetStatus") + lt_forms.TEXT,
    "cusparse": """\
EXPORTED const char *cusparseGetErrorName(int status) {
    static const char *const names[] = {
        "CUSPARSE_STATUS_SUCCESS", "CUSPARSE_STATUS_NOT_INITIALIZED",
        "CUSPARSE_STATUS_ALLOC_FAILED", "CUSPARSE_STATUS_INVALID_VALUE",
        "CUSPARSE_STATUS_ARCH_MISMATCH", "CUSPARSE_STATUS_MAPPING_ERROR",
        "CUSPARSE_STATUS_EXECUTION_FAILED", "CUSPARSE_STATUS_INTERNAL_ERROR",
        "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "CUSPARSE_STATUS_ZERO_PIVOT",
        "CUSPARSE_STATUS_NOT_SUPPORTED", "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"};
    return status >= 0 && status < 12 ? names[status] : "unrecognized error code";
}
EXPORTED const char *cusparseGetErrorString(int status) { return cusparseGetErrorName(status); }
""",
}


def library_head(library: Library) -> str:
    """What comes before the stubs."""
    head = HEAD % {"none": library.not_initialized, "unsupported": library.not_supported}
    return head + TEXTS.get(library.name, "")


def _headers(library: Library) -> list[Path]:
    """The library's installed headers that declare functions of the host."""
    return [
        header
        for tree in packages.trees()
        for header in sorted((tree / "include").glob(f"{library.name}*.h"))
        if "device" not in header.name and "_" not in header.stem.removesuffix("_api")
    ]


def header_marks(library: Library) -> tuple[str, ...]:
    """What tells that headers have changed, without reading them."""
    states = ((header, header.stat()) for header in _headers(library))
    return tuple(f"{header} {state.st_size} {state.st_mtime_ns}" for header, state in states)


def declared_names(library: Library) -> tuple[str, ...]:
    """Every function of the library's header, if that is installed."""
    found: set[str] = set()
    for header in _headers(library):
        text = _INLINE.sub("", _COMMENT.sub("", header.read_text(errors="replace")))
        found |= {name for name in _DECLARED.findall(text) if name.startswith(library.prefix)}
    others = tuple({"cublasLt", "cublasXt"} - {library.prefix})
    mine = {name for name in found if not name.startswith(others)}
    return tuple(sorted(name for name in mine if not name.endswith("_t")))


def versions() -> str:
    """Which headers are installed."""
    return " ".join(packages.version_of(one.package) for one in LIBRARIES.values())
