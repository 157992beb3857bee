"""CUDA's runtime inside an extension module or library, replaced by ours.

Some frameworks link NVIDIA's runtime statically. It asks the driver for tables that are not
documented, so it gets nowhere on the simulated driver. The module's copies of the runtime's
functions are made to jump to a library of ours before the module is used, as `programs/` does for
whole programs (where they are: `runtime_names`); then the module's initialisers that register its
kernels run again, and tell ours. What the runtime adds to the driver is the same code there and
here; here it serves this process's driver.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from warplens.driver.cells import called, get_text, put_bytes, put_u64
from warplens.driver.machine import Driver
from warplens.driver.memory import DEVICE
from warplens.errors import Unsupported
from warplens.frontends.runtime_library import C_TYPES, UNKNOWN, entries, library_path
from warplens.frontends.runtime_names import find_runtime, read_library
from warplens.libcuda import place
from warplens.programs.program import Images, Program, RuntimeFault
from warplens.programs.runtime.table import RuntimeEntry

_JUMP_BYTES = 12
_OF_DRIVER = (
    "cuLaunchKernel", "cuLaunchCooperativeKernel", "cuLaunchKernelEx", "cuGetProcAddress_v2",
)  # fmt: skip


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

    def show(self, address: int, nbytes: int) -> None:
        """Nothing: this process sees all of it."""

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

    @staticmethod
    def write(address: int, data: bytes) -> None:
        """Changes bytes."""
        put_bytes(address, data)


class _Here(Program):
    """This process as a program: its driver is the one that is in place, its code is in modules."""

    def __init__(self, driver: Driver) -> None:
        self.driver: Any = driver
        self.memory: Any = _Memory(driver)
        self.recorder = None
        self.symbols = {}
        self._images = Images()
        self._functions = {}
        for one in _registered:
            self.register_one(*one)

    @property
    def peer(self) -> Any:
        """Who calls host functions."""
        return _Caller

    def print(self) -> None:
        """Nothing: the driver prints what kernels print."""


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

    return ctypes.CFUNCTYPE(ctypes.c_int, *(C_TYPES[kind] for kind in kinds))(callback)


_registered: list[tuple[Any, ...]] = []  # fat binaries, kernels and variables, before the driver
_program: _Here | None = None


def _here() -> _Here:
    global _program
    if _program is None:
        _program = _Here(place.driver())
    return _program


def _register(kind: int, image: int, host: int, name: int, size: int) -> int:
    one = (kind, image, host, get_text(name) if name else "", size)
    _registered.append(one)
    if _program is not None:
        _program.register_one(*one)
    return 0


def _kernel(host: int, function: int, *_: int) -> int:
    """The driver's handle of a kernel that the module knows by an address."""
    program = _here()
    try:
        with program.driver.lock:
            put_u64(function, program.function(host).number)
    except RuntimeFault as refusal:
        return refusal.code
    except BaseException as error:
        return int(program.driver.failed("cudaLaunchKernel", error))
    return 0


class Runtime:
    """Our runtime as a C library."""

    def __init__(self) -> None:
        callbacks: list[Any] = [_callback(entry, _here) for entry in entries().values()]
        special = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint64] * 5)
        callbacks += [special(_register), special(_kernel)]
        self._callbacks = callbacks
        self._library = ctypes.CDLL(str(library_path()))
        driver = place.library()
        functions = [*callbacks, *(getattr(driver, name) for name in _OF_DRIVER)]
        pointers = [ctypes.cast(one, ctypes.c_void_p).value for one in functions]
        table = (ctypes.c_void_p * len(pointers))(*pointers)
        self._library.warplens_connect(ctypes.byref(place.python_functions()), table)

    def address(self, name: str) -> int:
        """Where a function of ours is."""
        found = getattr(self._library, name, None) or getattr(self._library, UNKNOWN)
        return ctypes.cast(found, ctypes.c_void_p).value or 0


@lru_cache(maxsize=1)
def our_runtime() -> Runtime:
    """The process's one."""
    return Runtime()


_kept: list[Any] = []  # libraries whose code was changed


def take_over(path: Path) -> None:
    """Makes the runtime inside an extension module jump to ours; before the module's import.

    Raises:
        Unsupported: its functions are not found, or the processor is no x86-64.
        OSError: the module cannot be loaded.
    """
    library = read_library(path)
    found = find_runtime(path, library)
    if "cudaGetDevice" not in found.functions or platform.machine() != "x86_64":
        raise Unsupported(f"the CUDA runtime inside {path.name}: its functions have no names")
    module = ctypes.CDLL(str(path))
    base = ctypes.c_uint64.from_address(module._handle).value  # of glibc's link_map
    runtime = our_runtime()
    _kept.append(module)
    _make_jump(base, {place: runtime.address(name) for name, place in found.functions.items()})
    _run_again(base, library.initialisers, found.registering)


def _make_jump(base: int, targets: dict[int, int]) -> None:
    first = min(targets) // mmap.PAGESIZE * mmap.PAGESIZE
    last = max(targets) + mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    region = ctypes.c_void_p(base + first), ctypes.c_size_t(last - first)
    if libc.mprotect(*region, 7):
        raise Unsupported("changing the code of an extension module: the system forbids it")
    for where, target in targets.items():
        # mov rax, address; jmp rax
        code = b"\x48\xb8" + struct.pack("<Q", target) + b"\xff\xe0"
        ctypes.memmove(base + where, code, _JUMP_BYTES)
    libc.mprotect(*region, 5)


def _run_again(base: int, initialisers: tuple[int, int], registering: frozenset[int]) -> None:
    """Runs the initialisers that register kernels: the first time the runtime was NVIDIA's."""
    place, count = initialisers
    table = (ctypes.c_uint64 * count).from_address(base + place) if count else ()
    for address in table:
        if address - base in registering:
            ctypes.CFUNCTYPE(None)(address)()
