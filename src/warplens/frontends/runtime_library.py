"""Our runtime as a C library for this process: its text, and where it comes from.

A wheel for one platform brings it compiled; elsewhere the host's C compiler makes it once.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warplens.libcuda.build import build, compiled, placed
from warplens.libcuda.shipped import FOLDER
from warplens.programs.library import configuration_text, error_texts, exported_runtime_names
from warplens.programs.runtime import served
from warplens.programs.runtime.table import SHAPES, RuntimeEntry
from warplens.toolchain.cache import key_of

_NAME, _MADE_OF = "libwarplens-runtime.so", "runtime.key"
UNKNOWN = "warplens_unknown_function"
C_TYPES: dict[str, Any] = {
    "I32": ctypes.c_int32, "U8": ctypes.c_uint8, "U16": ctypes.c_uint16, "U32": ctypes.c_uint32,
    "U64": ctypes.c_uint64, "I64": ctypes.c_int64, "Pointer": ctypes.c_uint64,
    "F32": ctypes.c_float, "F64": ctypes.c_double,
    "Location": ctypes.c_uint64,  # two words, in one register
}  # fmt: skip
_SPECIAL = ("REGISTER", "KERNEL", "LAUNCH", "COOPERATIVE", "EXTENDED", "LOOKUP")
_HEAD = """\
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#define EXPORTED __attribute__((visibility("default")))
struct python {
    int (*ensure)(void);
    void (*release)(int);
    void (*fetch)(void **, void **, void **);
    void (*restore)(void *, void *, void *);
};
static struct python python;
static void *targets[%d];
static __thread int last;
static const struct { int code; const char *name, *text; } texts[] = { %s };
EXPORTED void warplens_connect(const struct python *functions, void *const *entries) {
    python = *functions;
    for (int i = 0; i < %d; i++) targets[i] = entries[i];
}
static int missing(atomic_int *is_told, const char *name) {
    if (!atomic_exchange(is_told, 1))
        fprintf(stderr, "warplens: %%s is not supported by the simulated driver\\n", name);
    return last = 801;
}
EXPORTED int cudaGetLastError(void) { int code = last; last = 0; return code; }
EXPORTED int cudaPeekAtLastError(void) { return last; }
EXPORTED const char *cudaGetErrorName(int code) {
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].code == code) return texts[i].name;
    return "unrecognized error code";
}
EXPORTED const char *cudaGetErrorString(int code) {
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].code == code) return texts[i].text;
    return "unrecognized error code";
}
"""
_MISSING = """\
EXPORTED int %s(void) { static atomic_int told; return missing(&told, "%s"); }"""
_DEFINED = re.compile(r"EXPORTED [^(;]*?\b(_?_?cuda[A-Z]\w*)\(|LAUNCHES\((\w+), \d\)")


def _is_served(entry: RuntimeEntry) -> bool:
    return not (entry.written or entry.is_internal or entry.takes_data) and all(
        kind in C_TYPES for kind in entry.types
    )


def entries() -> dict[str, RuntimeEntry]:
    """The functions that Python serves, in the order of their slots."""
    return {name: entry for name, entry in served().items() if _is_served(entry)}


def _called(name: str, types: list[str], slot: int) -> str:
    """A function that asks Python, whatever its caller holds."""
    parameters = ", ".join(f"{kind} a{i}" for i, kind in enumerate(types)) or "void"
    arguments = ", ".join(f"a{i}" for i in range(len(types)))
    return (
        f"EXPORTED int {name}({parameters}) {{\n"
        "    void *type, *value, *traceback;\n"
        "    int lock = python.ensure();\n"
        "    python.fetch(&type, &value, &traceback);\n"
        f"    int code = ((int (*)({', '.join(types) or 'void'}))targets[{slot}])({arguments});\n"
        "    python.restore(type, value, traceback);\n"
        "    python.release(lock);\n"
        "    if (code) last = code;\n    return code;\n}"
    )


def _text() -> str:
    """The library's text: every function of the runtime, those that are not served refuse."""
    asked = entries()
    slots = {name: slot for slot, name in enumerate([*asked, *_SPECIAL])}
    written = _written()
    parts = [_HEAD % (len(slots), error_texts(), len(slots)), configuration_text()]
    parts += [f"#define {name} {slots[name]}" for name in _SPECIAL]
    parts.append(written)
    defined = {name for pair in _DEFINED.findall("\n".join(parts)) for name in pair}
    names = {*exported_runtime_names(), *asked}
    for name in sorted(names - defined):
        plain = name if name in asked else name.removesuffix("_ptsz").removesuffix("_ptds")
        if plain in asked:
            types = [SHAPES[k][0] if k != "Location" else "uint64_t" for k in asked[plain].types]
            parts.append(_called(name, types, slots[plain]))
        else:
            parts.append(_MISSING % (name, name))
    return "\n".join([*parts, _MISSING % (UNKNOWN, "a function of a newer CUDA runtime"), ""])


def _written() -> str:
    return (Path(__file__).parent / "runtime_kernels.c").read_text()


def _made_of() -> bytes:
    """A key of our own parts: what NVIDIA's library of the day exports does not change slots."""
    signatures = [f"{name} {entry.types}" for name, entry in entries().items()]
    return key_of(_HEAD, configuration_text(), _written(), *_SPECIAL, *signatures)


def contents() -> Mapping[str, bytes]:
    """What a wheel gets, by name.

    Raises:
        ToolchainError: there is no C compiler.
    """
    return {_NAME: compiled(_text(), soname=_NAME), _MADE_OF: _made_of()}


def library_path() -> Path:
    """The compiled library: the wheel's if it fits, else one that is made here.

    Raises:
        ToolchainError: there is no C compiler.
    """
    told = FOLDER / _MADE_OF
    if told.exists() and told.read_bytes() == _made_of():
        return placed((FOLDER / _NAME).read_bytes(), _NAME)
    return build(_text(), _NAME)
