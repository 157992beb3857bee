"""CUDA's runtime inside an extension module, replaced by ours.

Some frameworks link NVIDIA's runtime statically. It asks the driver for tables that are not
documented, so it gets nowhere on the simulated driver. Where the module has a symbol table, its
copies of the runtime's functions are made to jump to a library of ours before the module runs, as
`programs/` does for whole programs. What the runtime adds to the driver is the same code there and
here; here it serves this process's driver.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from warplens.driver.cells import called
from warplens.driver.machine import Driver
from warplens.driver.memory import DEVICE
from warplens.errors import Unsupported
from warplens.libcuda import place
from warplens.libcuda.build import build
from warplens.programs.library import error_texts
from warplens.programs.program import Program, RuntimeFault
from warplens.programs.runtime import served
from warplens.programs.runtime.table import SHAPES, RuntimeEntry
from warplens.toolchain.elf import ElfFile

_C_TYPES: dict[str, Any] = {
    "I32": ctypes.c_int32, "U8": ctypes.c_uint8, "U16": ctypes.c_uint16, "U32": ctypes.c_uint32,
    "U64": ctypes.c_uint64, "I64": ctypes.c_int64, "Pointer": ctypes.c_uint64,
    "F32": ctypes.c_float, "F64": ctypes.c_double,
    "Location": ctypes.c_uint64,  # two words, in one register
}  # fmt: skip
_JUMP_BYTES, _FUNCTION = 12, 2  # of a jump; the ELF type of functions
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
_WRITTEN = frozenset({
    "cudaGetLastError", "cudaPeekAtLastError", "cudaGetErrorName", "cudaGetErrorString",
})  # fmt: skip


class _Memory:
    """The driver's memory, with what the runtime's functions ask of a program's."""

    def __init__(self, driver: Driver) -> None:
        self._memory = driver.memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def is_device_only(self, address: int) -> bool:
        """Whether only a device reaches an address."""
        found = self._memory.allocation(address)
        return found is not None and found[1].kind == DEVICE

    def words(self, address: int) -> str:
        """What is at an address, for messages."""
        found = self._memory.allocation(address)
        if found is not None:
            return f"{found[1].kind} memory"
        return "host memory" if self._memory.find(address) is None else "a device's variable"


class _Caller:
    """This process, which asks for host functions to be called."""

    @staticmethod
    def call(kind: int, function: int, *arguments: int) -> int:
        """Calls one."""
        return called(kind, function, *arguments)


class _Here(Program):
    """This process as a program: its driver is the one that is in place, its code is in modules."""

    def __init__(self, driver: Driver) -> None:
        self.driver: Any = driver
        self.memory: Any = _Memory(driver)
        self.recorder = None
        self.symbols = {}
        self._functions = {}

    @property
    def peer(self) -> Any:
        """Who calls host functions."""
        return _Caller

    def print(self) -> None:
        """Nothing: the driver prints what kernels print."""


def _is_served(entry: RuntimeEntry) -> bool:
    return not (entry.written or entry.is_internal or entry.takes_data) and all(
        kind in _C_TYPES for kind in entry.types
    )


def _callback(entry: RuntimeEntry, here: Callable[[], _Here]) -> Any:
    kinds = entry.types

    def flat(values: Iterable[Any]) -> list[Any]:
        found: list[Any] = []
        for kind, value in zip(kinds, values, strict=True):
            is_pair = kind == "Location"
            found += struct.unpack("<ii", struct.pack("<Q", value)) if is_pair else [value]
        return found

    def callback(*values: Any) -> int:
        program = here()
        try:
            with program.driver.lock:
                entry.function(program, *flat(values))
        except RuntimeFault as refusal:
            return refusal.code
        except BaseException as error:
            return int(program.driver.failed(entry.name, error))
        return 0

    return ctypes.CFUNCTYPE(ctypes.c_int, *(_C_TYPES[kind] for kind in kinds))(callback)


def _text(names: Iterable[str], entries: dict[str, RuntimeEntry]) -> str:
    slots = {name: slot for slot, name in enumerate(entries)}
    parts = [_HEAD % (len(slots), error_texts(), len(slots))]
    for name in names:
        plain = name if name in entries else name.removesuffix("_ptsz").removesuffix("_ptds")
        if plain not in entries:
            parts.append(f"EXPORTED int {name}(void) {{ static atomic_int told; "
                         f"return missing(&told, \"{name}\"); }}")  # fmt: skip
            continue
        types = [SHAPES[k][0] if k != "Location" else "uint64_t" for k in entries[plain].types]
        parameters = ", ".join(f"{kind} a{i}" for i, kind in enumerate(types)) or "void"
        arguments = ", ".join(f"a{i}" for i in range(len(types)))
        parts.append(
            f"EXPORTED int {name}({parameters}) {{\n"
            "    void *type, *value, *traceback;\n"
            "    int lock = python.ensure();\n"
            "    python.fetch(&type, &value, &traceback);\n"
            f"    int code = ((int (*)({', '.join(types) or 'void'}))targets[{slots[plain]}])"
            f"({arguments});\n"
            "    python.restore(type, value, traceback);\n"
            "    python.release(lock);\n"
            "    if (code) last = code;\n    return code;\n}"
        )
    return "\n".join(parts) + "\n"


class Runtime:
    """Our runtime for the functions of some modules."""

    def __init__(self, names: Iterable[str]) -> None:
        entries = {name: entry for name, entry in served().items() if _is_served(entry)}
        text = _text([name for name in sorted(names) if name not in _WRITTEN], entries)
        self._program: _Here | None = None
        self._callbacks = [_callback(entry, self._here) for entry in entries.values()]
        self._library = ctypes.CDLL(str(build(text, "libwarplens-runtime.so")))
        pointers = [ctypes.cast(one, ctypes.c_void_p).value for one in self._callbacks]
        table = (ctypes.c_void_p * len(pointers))(*pointers)
        self._library.warplens_connect(ctypes.byref(place.python_functions()), table)

    def _here(self) -> _Here:
        if self._program is None:
            self._program = _Here(place.driver())
        return self._program

    def address(self, name: str) -> int:
        """Where a function of ours is."""
        return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0


def _functions(path: Path) -> dict[str, tuple[int, int]]:
    """The runtime's functions in a module: place and size."""
    found = {}
    for symbol in ElfFile(path.read_bytes()).symbols:
        name = symbol.name
        is_runtime = name.startswith("cuda") and name[4:5].isupper()
        if is_runtime and symbol.type == _FUNCTION and symbol.size >= _JUMP_BYTES:
            found[name] = (symbol.value, symbol.size)
    return found


_kept: list[Any] = []  # libraries that modules jump to


def take_over(path: Path) -> None:
    """Makes the runtime inside an extension module jump to ours; before the module's import.

    Raises:
        Unsupported: the module has no symbol table, or the processor is no x86-64.
    """
    functions = _functions(path)
    if "cudaGetDevice" not in functions or platform.machine() != "x86_64":
        raise Unsupported(f"the CUDA runtime inside {path.name}: its functions have no names")
    module = ctypes.CDLL(str(path))
    base = ctypes.c_uint64.from_address(module._handle).value  # of glibc's link_map
    library = Runtime(functions)
    _kept.extend((module, library))
    first = min(place for place, _ in functions.values()) // mmap.PAGESIZE * mmap.PAGESIZE
    last = max(place for place, _ in functions.values()) + mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    region = ctypes.c_void_p(base + first), ctypes.c_size_t(last - first)
    if libc.mprotect(*region, 7):
        raise Unsupported("changing the code of an extension module: the system forbids it")
    for name, (where, _) in functions.items():
        # mov rax, address; jmp rax
        code = b"\x48\xb8" + struct.pack("<Q", library.address(name)) + b"\xff\xe0"
        ctypes.memmove(base + where, code, _JUMP_BYTES)
    libc.mprotect(*region, 5)
