"""Kernels and modules ready to run: compiled code, globals and constant banks in memory."""

from __future__ import annotations

import struct
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import Unsupported
from warplens.execute import host_code
from warplens.execute.cooperative import asks_for_parameters, asks_for_workspace
from warplens.execute.device_functions import HOOKS, hook_address
from warplens.execute.host_code import HostCode
from warplens.execute.memory import DeviceMemory
from warplens.execute.own_sums import sum_bytes
from warplens.execute.tensor_memory.state import pair_barrier_place
from warplens.isa import families, warpgroup
from warplens.isa.tensor_memory import has_tensor_memory
from warplens.lift import jit, kept
from warplens.lift import layout as at
from warplens.lift.constants import new_bank
from warplens.lift.decode.binding import Bound, bind
from warplens.lift.engines.host import HostFeatures, host_features
from warplens.lift.lifter import lift
from warplens.lift.regions.lifted import Lifted
from warplens.lift.regions.watch import Watch
from warplens.lift.roles import ROLES
from warplens.lift.stencils import UnusableCode
from warplens.sass.model import SassKernel
from warplens.toolchain.cubin import Cubin

families.load_all()

_MOST_OUTCOMES = 64
_SOON_FAST = 500  # instructions that tier 1 takes a tenth of a second for
_ADDRESS_RELOCATIONS = ("R_CUDA_64", "R_CUDA_G64", "R_CUDA_FUNC_DESC_64")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountTables:
    """Where a kernel's counters go: row i adds slot times weight to a column's [start, end).

    `used` names the columns that the kernel can have; `zeros` stands for all others.
    """

    used: tuple[str, ...]
    slots: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    zeros: npt.NDArray[np.int64]


def _count_tables(lifted: Lifted) -> CountTables:
    table = lifted.counters.rows.T
    zeros = np.zeros(len(lifted.kernel.instructions), np.int64)
    zeros.flags.writeable = False
    return CountTables(
        used=lifted.counters.names, slots=table[0], weights=table[1], columns=table[2],
        starts=table[3], ends=table[4], zeros=zeros,
    )  # fmt: skip


def _has_loops(lifted: Lifted) -> bool:
    """Whether control can go back, or anywhere; the branch to itself behind the end is none."""
    return any(
        block.indirect or any(after <= block.index for after in block.successors)
        for block in lifted.layout.blocks
        if block.successors != (block.index,) or block.end - block.start > 1
    )


@dataclass(slots=True)
class Program:
    """A kernel's machine code and tables."""

    lifted: Lifted
    code: jit.MachineCode | None  # of tier 0; None: not compiled yet
    regions: npt.NDArray[np.int64]
    region_of: npt.NDArray[np.int64]
    code_map: npt.NDArray[np.int64]
    bank2: npt.NDArray[np.uint8]
    uses_heap: bool
    features: HostFeatures
    count_tables: CountTables
    has_loops: bool
    asks_for_workspace: bool
    asks_for_parameters: bool
    samples: bool  # it uses textures or surfaces
    has_tensor_memory: bool
    has_warpgroup_products: bool
    pair_barrier: int  # in reserved shared memory, see tensor_memory/state.py
    host_code: bytes  # of the module: it makes tensor maps of the arguments
    meets_as_grid: bool  # its blocks wait for each other at the grid's barrier
    shared_unit: int  # bytes of its widest load from shared memory
    sum_bytes: int = 0  # of numbers that reductions in memory add, if they do nothing else
    observed: bool | Watch = False
    is_fast: bool = False
    seconds_run: float = 0.0  # in all launches so far; a busy kernel deserves fast code
    # Workers of small launches that are over, and constant banks without parameters, by shape.
    spares: dict[object, list[Any]] = field(default_factory=dict)
    banks: dict[object, npt.NDArray[np.uint8]] = field(default_factory=dict)

    # Why blocks run in order (empty: they need not), by where the kernel goes; see `places_of`.
    outcomes: dict[object, str] = field(default_factory=dict)

    def note_outcome(self, places: object, reason: str) -> None:
        """Keeps for later launches to the same places what a run in any order has shown."""
        if places is None:
            return
        if len(self.outcomes) >= _MOST_OUTCOMES:
            self.outcomes.clear()
        self.outcomes[places] = reason

    def get_ready(self, is_large: bool) -> None:
        """Compiles what has not been compiled; tier 1 right away for a large launch of a short
        kernel, which would spend more in tier 0 until then."""
        if self._has_code():  # tier 1 may be under way: nobody waits for it
            return
        with self._turn:
            if self._has_code():
                return
            is_short = len(self.lifted.kernel.instructions) <= _SOON_FAST
            if is_large and is_short and not self.is_fast and not self.observed:
                self.is_fast = True
                self._put_fast_code()
                return
            self.code = self._slow_code()
            self.regions[:] = self.code.addresses
            self.lifted.ir = ""  # several times the machine code

    def _slow_code(self) -> jit.MachineCode:
        """Code of tier 0."""
        try:
            return jit.compile_lifted(self.lifted, self.features)
        except UnusableCode:  # a compiler that no one has met yet
            kernel = self.lifted.kernel
            lifted = lift(kernel, self.features, self.observed, tier=0, copied=False)
            return jit.compile_lifted(lifted, self.features)

    def _has_code(self) -> bool:
        return self.code is not None or self._fast_code is not None

    def make_fast(self, wait: bool = True) -> None:
        """Compiles tier 1 and puts it in place; a running launch goes on with the new code.

        Args:
            wait: False compiles in a thread of its own and returns at once.
        """
        if self.is_fast:
            return
        self.is_fast = True
        if wait:
            self._compile_fast()
        else:
            threading.Thread(target=self._compile_fast).start()

    @property
    def is_traced(self) -> bool:
        """Whether it tells of every access, so that most of its time is the observer's."""
        watch = self.observed
        return watch.accesses if isinstance(watch, Watch) else watch

    @property
    def has_fast_code(self) -> bool:
        """Whether tier 1 is in place (`is_fast` says that it was asked for)."""
        return self._fast_code is not None

    def _compile_fast(self) -> None:
        with self._turn:
            self._put_fast_code()

    def _put_fast_code(self) -> None:
        lifted = kept.lifted(self.lifted.kernel, self.features, self.observed, tier=1)
        self._fast_code = jit.compile_lifted(lifted, self.features)
        self.regions[:] = self._fast_code.addresses
        self.lifted.ir = ""

    _fast_code: jit.MachineCode | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _host: HostCode | None = None

    def given(self, parameters: bytes) -> bytes:
        """A launch's parameters as the kernel sees them, with maps that its module makes."""
        if not self.host_code:
            return parameters
        if self._host is None:
            self._host = host_code.load(self.host_code)
        kernel = self.lifted.kernel
        size = len(kernel.constants.get(0, b"")) - kernel.parameter_base
        return self._host.changed(kernel.name, parameters, min(size, host_code.ROOM))

    def bound_of(self, index: int) -> Bound:
        """An instruction with its table entry."""
        inst = self.lifted.kernel.instructions[index]
        entry = families.find(inst)
        assert entry is not None
        return bind(inst, entry)


def lifted_of(kernel: SassKernel, cubin: Cubin, features: HostFeatures | None = None,
              observe: bool | Watch = False, single: bool = False) -> Lifted:  # fmt: skip
    """Lifts a kernel; `observe` adds an observer's calls (observe.py; all, or those that a watch
    names), with `single` for every instruction and with all registers in memory.

    Raises:
        Unsupported: it uses instructions or device functions that are not known.
    """
    assert ROLES
    features = features or host_features()
    if single:
        lifted = lift(kernel, features, observe, tier=0, single=True)
    else:
        lifted = kept.lifted(kernel, features, observe)
    _refuse_unknown(kernel, cubin)
    return lifted


def prepare(kernel: SassKernel, cubin: Cubin, features: HostFeatures | None = None,
            observe: bool | Watch = False, single: bool = False,
            lifted: Lifted | None = None) -> Program:  # fmt: skip
    """Lifts a kernel, if that is not done; its first launch compiles it. See `lifted_of`.

    Raises:
        Unsupported: it uses instructions or device functions that are not known.
    """
    features = features or host_features()
    lifted = lifted or lifted_of(kernel, cubin, features, observe, single)
    return assemble(lifted, None, cubin, features, observe=observe, single=single)


_SAMPLING = frozenset({"TEX", "TLD", "TLD4", "TXD", "TXQ", "SULD", "SUST", "SURED"})
_LDS_BYTES = {"64": 8, "128": 16}



def _externs(kernel: SassKernel, cubin: Cubin) -> tuple[str, ...]:
    return cubin.kernels[kernel.name].externs if kernel.name in cubin.kernels else ()


def unknown_functions(kernel: SassKernel, cubin: Cubin) -> tuple[str, ...]:
    """Device functions that a kernel calls and warplens does not provide."""
    return tuple(sorted(set(_externs(kernel, cubin)) - set(HOOKS)))


def _refuse_unknown(kernel: SassKernel, cubin: Cubin) -> None:
    unknown = unknown_functions(kernel, cubin)
    if unknown:
        raise Unsupported(
            f"{kernel.demangled or kernel.name} calls {', '.join(unknown)}, which warplens does "
            "not support",
            hint=f"Supported device functions: {', '.join(HOOKS)}.",
        )


def assemble(lifted: Lifted, code: jit.MachineCode | None, cubin: Cubin, features: HostFeatures, *,
             observe: bool | Watch = False, single: bool = False) -> Program:  # fmt: skip
    """A lifted kernel and its machine code, if there is some, with the runner's tables."""
    kernel = lifted.kernel
    code_map = np.full(len(kernel.instructions), -1, np.int64)
    for block in lifted.layout.blocks:
        code_map[block.start] = block.index
    return Program(
        lifted=lifted,
        code=code,
        regions=np.array(code.addresses if code else [0] * len(lifted.layout.regions), np.int64),
        region_of=np.array(lifted.layout.region_of, np.int64),
        code_map=code_map,
        bank2=new_bank(kernel.constants.get(2, b"")),
        uses_heap="malloc" in _externs(kernel, cubin),
        features=features,
        count_tables=_count_tables(lifted),
        has_loops=_has_loops(lifted),
        asks_for_workspace=asks_for_workspace(kernel),
        asks_for_parameters=asks_for_parameters(kernel),
        sum_bytes=sum_bytes(kernel),
        samples=any(i.opcode in _SAMPLING for i in kernel.instructions),
        has_tensor_memory=has_tensor_memory(kernel),
        has_warpgroup_products=any(i.opcode in warpgroup.OPCODES for i in kernel.instructions),
        pair_barrier=pair_barrier_place({s.name: s.offset for s in cubin.shared_symbols}),
        host_code=cubin.host_code,
        meets_as_grid="__cuda_syscall_CGS_sync" in _externs(kernel, cubin),
        shared_unit=max(
            (_LDS_BYTES.get(name, 1) for inst in kernel.instructions if inst.opcode == "LDS"
             for name in inst.modifiers), default=1,
        ),
        observed=observe,
        is_fast=single,
    )


@dataclass(slots=True)
class ModuleImage:
    """A module's variables in device memory and its constant banks 3 and 4."""

    banks: dict[int, npt.NDArray[np.uint8]]
    addresses: dict[str, int] = field(default_factory=dict)


def load_module(cubin: Cubin, memory: DeviceMemory) -> ModuleImage:
    """Places a module's variables in device memory and fills in relocated addresses."""
    bases: dict[str, int] = {}
    if cubin.global_bytes:
        bases[".nv.global"] = memory.allocate(cubin.global_bytes, name="module variables")
    if cubin.global_init:
        address = memory.allocate(len(cubin.global_init), name="initialised module variables")
        memory.view(address, len(cubin.global_init))[:] = np.frombuffer(
            cubin.global_init, np.uint8
        )
        bases[".nv.global.init"] = address
    bank3 = new_bank(cubin.constant3)
    if cubin.constant3:
        bases[".nv.constant3"] = memory.map_host(
            bank3[: len(cubin.constant3)], writable=False, name="__constant__ variables"
        )
    addresses = {
        name: bases[symbol.section] + symbol.offset
        for name, symbol in cubin.symbols.items() if symbol.section in bases
    }  # fmt: skip
    for section, base in bases.items():
        addresses.setdefault(section, base)
    for name in HOOKS:
        addresses[name] = hook_address(name)
    for name, (_, offset) in cubin.functions.items():
        addresses.setdefault(name, (at.CODE_WINDOW_HIGH << 32) + offset)
    bank4 = new_bank(cubin.constant4)
    targets: dict[str, Any] = {".nv.constant4": bank4, ".nv.constant3": bank3}
    if ".nv.global.init" in bases:
        targets[".nv.global.init"] = memory.view(bases[".nv.global.init"], len(cubin.global_init))
    for relocation in cubin.relocations:
        place = targets.get(relocation.section)
        if place is None or relocation.kind not in _ADDRESS_RELOCATIONS:
            continue
        value = addresses.get(relocation.symbol, 0) + relocation.addend
        data = struct.pack("<Q", value & (1 << 64) - 1)
        place[relocation.offset : relocation.offset + 8] = np.frombuffer(data, np.uint8)
    return ModuleImage({3: bank3, 4: bank4}, addresses)
