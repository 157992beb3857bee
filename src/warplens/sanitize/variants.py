"""Builds of a kernel that tell the checks what they need, and what their code tells of each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from warplens.execute.executable import ExecutableLaunch, KernelCode
from warplens.execute.program import ModuleImage, Program
from warplens.lift.regions.watch import Watch
from warplens.naming import bare_name
from warplens.sanitize import state as st
from warplens.sanitize.barriers import calls, shared_functions, skipping_exits, statements
from warplens.sanitize.ptx import SharedArray, ordering_lines, shared_arrays
from warplens.sanitize.tables import instruction_table
from warplens.sass.model import SassKernel

UNOPTIMISED, DEBUG = "--ptxas-options=-O0", "--device-debug"
_SHARED = frozenset({"LD", "ST", "ATOM", "LDS", "STS", "ATOMS", "REDS", "LDGSTS", "SYNCS", "UBLKCP",
                     "UTMALDG", "LDSM", "STSM", "UMEMSETS"})  # fmt: skip
_VARIABLES = (".nv.global", ".nv.constant3")
# What the two passes must be told of: what orders warps, and what orders lanes.
_CLUSTER_SYNCS = frozenset({"cluster_arrive", "cluster_wait"})
_BLOCK_SYNCS = frozenset({"bar", "fence", "copy_commit", "bulk"}) | _CLUSTER_SYNCS
LANE_SYNCS = frozenset({
    "bar", "warpsync", "exit", "call", "shuffle", "bulk", "fence",
}) | _CLUSTER_SYNCS  # fmt: skip


def block_syncs(kernel: SassKernel) -> frozenset[str]:
    """What the pass over the kernel as compiled must be told of."""
    has_barriers = any(inst.opcode == "BAR" for inst in kernel.instructions)
    ends = frozenset({"exit"} if has_barriers else ())
    return _BLOCK_SYNCS | ends | ({"call"} if shared_functions(kernel) else frozenset())


@dataclass(slots=True)
class Variant:
    """One build of a kernel."""

    program: Program
    image: ModuleImage
    ptx: str
    arrays: tuple[SharedArray, ...]
    source_name: str = ""
    source: str = ""
    _tables: dict[int, npt.NDArray[np.int64]] = field(default_factory=dict)

    def table(self, mode: int) -> npt.NDArray[np.int64]:
        """A fresh instruction table for a pass."""
        found = self._tables.get(mode)
        if found is None:
            kernel = self.program.lifted.kernel
            lines = ordering_lines(self.ptx, kernel.name)
            if mode == st.MODE_LANE:  # volatile takes the place of __syncwarp() no more
                lines = replace(lines, strong=lines.strong - lines.volatile)
            found = self._tables[mode] = instruction_table(kernel, lines)
            for bar, statement in statements(kernel, self.ptx).items():
                found[bar, st.I_STATEMENT] = statement
            functions = shared_functions(kernel)
            for index, number in functions.items():
                found[index, st.I_CACHE] = number
            of_calls = [i for i in functions if kernel.instructions[i].opcode == "CALL"]
            for call, statement in calls(kernel, self.ptx, of_calls).items():
                found[call, st.I_STATEMENT] = statement
            if mode == st.MODE_BLOCK:
                skips = skipping_exits(kernel, self.source_name, self.source)
                found[sorted(skips), st.I_FLAGS] |= st.F_SKIPS
        return found.copy()


_VARIANTS: WeakKeyDictionary[KernelCode, dict[Watch, Variant]] = WeakKeyDictionary()


def observed(code: KernelCode, watch: Watch) -> Variant:
    """The kernel's build with the calls of an observer; kept, for it is costly."""
    known = _VARIANTS.setdefault(code, {})
    if watch not in known:
        arrays = shared_arrays(code.ptx, code.sass)
        unit = code.image.unit
        name, text = (unit.name, unit.text) if unit is not None else ("", "")
        known[watch] = Variant(
            code.observed(watch), code.image.variables, code.ptx, arrays, name, text
        )
    return known[watch]


def lost_shared(launch: ExecutableLaunch) -> bool:
    """Whether the compiler has left out all that a kernel does with shared memory.

    Stores that nobody reads are dropped before there is machine code: only a debug build has them.
    """
    unit, sass = launch.code.image.unit, launch.sass
    if unit is None or any(inst.opcode in _SHARED for inst in sass.instructions):
        return False
    text = unit.text
    start = text.find(f"{bare_name(sass.demangled or sass.name)}(")
    end = text.find("__global__", start)
    return start >= 0 and "__shared__" in text[start : end if end >= 0 else len(text)]


def unoptimised(launch: ExecutableLaunch, watch: Watch) -> Variant:
    """The kernel compiled without optimisation, its variables as the kernel's own are now."""
    options = (DEBUG,) if lost_shared(launch) else (UNOPTIMISED,)
    variant = observed(launch.code.recompiled(options), watch)
    _copy_variables(launch, variant)
    return variant


def _copy_variables(launch: ExecutableLaunch, variant: Variant) -> None:
    """Gives the other build's module variables the present values of the kernel's own."""
    memory = launch.memory
    for name, symbol in launch.code.cubin.symbols.items():
        source = launch.variables.addresses.get(name)
        target = variant.image.addresses.get(name)
        if source is None or target is None or not symbol.section.startswith(_VARIABLES):
            continue
        memory.view(target, symbol.size)[:] = memory.view(source, symbol.size)
