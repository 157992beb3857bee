"""Builds of a kernel that tell the checks what they need, and what their code tells of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warplens.execute import grid as engine
from warplens.execute.program import ModuleImage, Program
from warplens.lift.watching import Watch
from warplens.sanitize import state as st
from warplens.sanitize.ptx import OrderingLines, SharedArray, ordering_lines, shared_arrays
from warplens.sanitize.tables import instruction_table

if TYPE_CHECKING:
    from warplens.kernel import Kernel

UNOPTIMISED = "--ptxas-options=-O0"
# What the two passes must be told of: what orders warps, and what orders lanes.
BLOCK_SYNCS = frozenset({"bar", "fence", "copy_commit", "bulk"})
LANE_SYNCS = frozenset({"bar", "warpsync", "exit", "call", "shuffle", "bulk"})


@dataclass(slots=True)
class Variant:
    """One build of a kernel."""

    program: Program
    image: ModuleImage
    ptx: str
    arrays: tuple[SharedArray, ...]
    _tables: dict[int, npt.NDArray[np.int64]] = field(default_factory=dict)

    def table(self, mode: int) -> npt.NDArray[np.int64]:
        """A fresh instruction table for a pass."""
        found = self._tables.get(mode)
        if found is None:
            kernel = self.program.lifted.kernel
            # Volatile accesses order lanes not at all.
            lines = ordering_lines(self.ptx, kernel.name)
            if mode == st.MODE_LANE:
                lines = OrderingLines(waits=lines.waits)
            found = self._tables[mode] = instruction_table(kernel, lines)
        return found.copy()


_OBSERVED: dict[tuple[int, Watch], tuple[Kernel, Variant]] = {}
_UNOPTIMISED: dict[int, tuple[Kernel, Kernel]] = {}


def observed(kernel: Kernel, watch: Watch) -> Variant:
    """The kernel's build with the calls of an observer; kept, for it is costly."""
    found = _OBSERVED.get((id(kernel), watch))
    if found is None or found[0] is not kernel:
        image = kernel._image
        program = engine.prepare(kernel.sass, image.kernels.cubin, observe=watch)
        ptx = image.ptx or ""
        arrays = shared_arrays(ptx, kernel.sass)
        found = (kernel, Variant(program, image.memory_image, ptx, arrays))
        _OBSERVED[id(kernel), watch] = found
    return found[1]


def unoptimised(kernel: Kernel, watch: Watch) -> Variant:
    """The kernel compiled without optimisation, its variables as the kernel's own are now."""
    found = _UNOPTIMISED.get(id(kernel))
    if found is None or found[0] is not kernel:
        assert kernel.module.unit is not None
        module = kernel.device.recompiled(kernel.module.unit, (UNOPTIMISED,))
        other = module[kernel.asked].clustered(kernel.sass.cluster_shape)
        found = _UNOPTIMISED[id(kernel)] = (kernel, other)
    variant = observed(found[1], watch)
    _copy_variables(kernel, variant)
    return variant


def _copy_variables(kernel: Kernel, variant: Variant) -> None:
    """Gives the other build's module variables the present values of the kernel's own."""
    memory = kernel.device.memory
    cubin = kernel._image.kernels.cubin
    for name, symbol in cubin.symbols.items():
        source = kernel._image.memory_image.addresses.get(name)
        target = variant.image.addresses.get(name)
        if source is None or target is None or not symbol.section.startswith(".nv.global"):
            continue
        memory.view(target, symbol.size)[:] = memory.view(source, symbol.size)
