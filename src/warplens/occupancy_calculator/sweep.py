"""Launch bounds by looking: recompile with register caps and show spills and occupancy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from warplens.errors import InputError
from warplens.gpus.spec import GpuSpec
from warplens.occupancy_calculator.occupancy import Occupancy, occupancy_of_kernel


class _Instruction(Protocol):
    @property
    def opcode(self) -> str: ...


class CompiledKernel(Protocol):
    """What a sweep reads of each compiled variant."""

    @property
    def name(self) -> str: ...
    @property
    def registers(self) -> int: ...
    @property
    def static_shared(self) -> int: ...
    @property
    def n_barriers(self) -> int: ...
    @property
    def local_bytes(self) -> int: ...
    @property
    def instructions(self) -> Sequence[_Instruction]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One row of a sweep.

    Attributes:
        maxrregcount: the register cap given to the compiler, or None.
        stack_bytes: local memory per thread.
        local_loads, local_stores: LDL and STL instructions in the SASS (spills and local arrays).
        occupancy: the full answer for this block.
    """

    maxrregcount: int | None
    block: tuple[int, ...]
    registers: int
    stack_bytes: int
    local_loads: int
    local_stores: int
    instructions: int
    occupancy: Occupancy


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """All variants of a kernel, in the order asked for."""

    kernel: str
    gpu: str
    variants: tuple[Variant, ...]

    def __iter__(self) -> Iterator[Variant]:
        return iter(self.variants)

    def __len__(self) -> int:
        return len(self.variants)

    @property
    def best(self) -> Variant:
        """The variant with the highest occupancy among those with the fewest local accesses."""
        return min(
            self.variants, key=lambda v: (v.local_loads + v.local_stores, -v.occupancy.occupancy)
        )

    def rows(self) -> list[dict[str, Any]]:
        """Plain values, one dictionary per variant."""
        return [
            {
                "maxrregcount": v.maxrregcount,
                "block": "x".join(map(str, v.block)),
                "registers": v.registers,
                "stack_bytes": v.stack_bytes,
                "local_loads": v.local_loads,
                "local_stores": v.local_stores,
                "instructions": v.instructions,
                "blocks": v.occupancy.blocks,
                "warps": v.occupancy.warps,
                "occupancy": v.occupancy.occupancy,
                "limiters": ",".join(v.occupancy.limiters),
            }
            for v in self.variants
        ]

    def __str__(self) -> str:
        titles = ("cap", "block", "regs", "stack", "LDL", "STL", "SASS", "blocks", "warps")
        head = "".join(f"{title:>8}" for title in titles) + f"{'occupancy':>11}  limited by"
        lines = [f"{self.kernel} on {self.gpu}", head]
        for row in self.rows():
            cells = list(row.values())
            cells[0] = "-" if cells[0] is None else cells[0]
            text = "".join(f"{cell:>8}" for cell in cells[:9])
            lines.append(f"{text}{100 * row['occupancy']:>9.1f} %  {row['limiters']}")
        return "\n".join(lines)


def sweep(
    compile_variant: Callable[[int | None], CompiledKernel],
    gpu: GpuSpec,
    *,
    maxrregcount: Sequence[int | None] = (None,),
    block: Sequence[int | tuple[int, ...]] = (256,),
    dynamic_shared: int = 0,
) -> Sweep:
    """Compiles a kernel once per register cap and evaluates every block size with each.

    Args:
        compile_variant: gets a register cap (None: no cap) and returns the compiled kernel.
        maxrregcount: caps to try, 16 to 255, or None.
        block: block sizes or shapes.
    """
    caps, blocks = tuple(maxrregcount), tuple(block)
    if not caps or not blocks:
        raise InputError("a sweep needs at least one register cap and one block size")
    for cap in caps:
        if cap is not None and not 16 <= cap <= 255:
            raise InputError(f"maxrregcount = {cap} is outside 16 to 255, the range of the "
                             "compiler")
    variants = []
    name = ""
    for cap in caps:
        kernel = compile_variant(cap)
        name = getattr(kernel, "demangled", kernel.name)
        opcodes = [instruction.opcode for instruction in kernel.instructions]
        for shape in blocks:
            sides = shape if isinstance(shape, tuple) else (shape,)
            variants.append(
                Variant(
                    maxrregcount=cap,
                    block=sides,
                    registers=kernel.registers,
                    stack_bytes=kernel.local_bytes,
                    local_loads=opcodes.count("LDL"),
                    local_stores=opcodes.count("STL"),
                    instructions=len(opcodes),
                    occupancy=occupancy_of_kernel(kernel, gpu, sides, dynamic_shared),
                )
            )
    return Sweep(kernel=name, gpu=gpu.name, variants=tuple(variants))
