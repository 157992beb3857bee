"""What each resource costs: the same replay with one resource, or two, made ideal."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from warplens.execute.trace import BlockTrace
from warplens.timing.model import Model
from warplens.timing.rewrite import coalesced
from warplens.timing.state import BLOCK_BARRIER, Records

# name -> (bit of Spec.ideal, what is made ideal)
RESOURCES = {
    "dram": (1, "an L2 miss takes as long as a hit, and DRAM bandwidth is unlimited"),
    "l2": (2, "L2 never misses and answers after its latency whatever the load"),
    "l1": (4, "every load hits in L1"),
    "banks": (8, "shared memory has no bank conflicts"),
    "coalescing": (16, "every access is coalesced: it touches as few lines as its bytes need"),
    "divergence": (32, "no divergence: the lanes of divergent code are packed into full warps"),
    "fetch": (64, "every instruction fetch hits the instruction buffer"),
    "registers": (128, "registers do not limit occupancy"),
    "barriers": (256, "warps do not wait at block barriers"),
    "launch": (512, "no launch overhead: a block starts as soon as an SM has room"),
}
COALESCING, DIVERGENCE, REGISTERS = 16, 32, 128
_LANE_STEP = 11  # no factor in common with 32: 32 warps take 32 different lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """The time with some resources ideal, and what share of the real time that saves."""

    resources: tuple[str, ...]
    nanoseconds: float
    saving: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationTable:
    """All single resources and the pairs of those that matter, largest saving first."""

    nanoseconds: float
    rows: tuple[Ablation, ...]

    def __str__(self) -> str:
        lines = [f"modelled duration {self.nanoseconds:,.0f} ns; with resources made ideal:"]
        for row in self.rows:
            name = " + ".join(row.resources)
            lines.append(f"  {name:<28}{row.nanoseconds:>16,.0f} ns{_difference(row.saving)}")
        return "\n".join(lines)

    def __bool__(self) -> bool:
        return bool(self.rows)

    def __getitem__(self, name: str) -> Ablation:
        """The row of a resource, or of a pair written `a+b`."""
        wanted = frozenset(part.strip() for part in name.split("+"))
        for row in self.rows:
            if frozenset(row.resources) == wanted:
                return row
        raise KeyError(name)


def _difference(saving: float) -> str:
    if abs(saving) < 0.0005:
        return f"{'equal':>9}"
    return f"{100 * abs(saving):>9.1f} % {'less' if saving > 0 else 'more'}"


def ablate(model: Model, unlimited_blocks: int, *, pairs: bool = True) -> AblationTable:
    """Replays with each resource ideal, then with pairs of the four that help most."""
    real = _nanoseconds(model, 0, unlimited_blocks)

    def row(names: tuple[str, ...]) -> Ablation:
        bits = 0
        for name in names:
            bits |= RESOURCES[name][0]
        time = _nanoseconds(model, bits, unlimited_blocks)
        return Ablation(resources=names, nanoseconds=time, saving=1.0 - time / real)

    rows = [row((name,)) for name in RESOURCES]
    rows.sort(key=lambda one: -one.saving)
    if pairs:
        best = [one.resources[0] for one in rows[:4]]
        rows += [row(names) for names in combinations(best, 2)]
    rows.sort(key=lambda one: -one.saving)
    return AblationTable(nanoseconds=real, rows=tuple(rows))


def saving(model: Model, unlimited_blocks: int, name: str) -> float:
    """The share of the time that one ideal resource saves."""
    ideal = _nanoseconds(model, RESOURCES[name][0], unlimited_blocks)
    return 1.0 - ideal / _nanoseconds(model, 0, unlimited_blocks)


def tail_saving(model: Model) -> float:
    """The share of the time that would go if the work of the last, partial wave were spread.

    The launch with whole waves only is replayed; its blocks take over the work of the others.
    """
    q = model.question
    wave = q.resident * q.gpu.sm_count
    whole = q.blocks // wave * wave
    if whole in (0, q.blocks):
        return 0.0
    even = _nanoseconds(model.variant(blocks=whole), 0, 0) * q.blocks / whole
    return max(0.0, 1.0 - even / _nanoseconds(model, 0, 0))


def _nanoseconds(model: Model, bits: int, unlimited_blocks: int) -> float:
    changed = model
    if bits:
        resident = model.question.resident
        if bits & REGISTERS:
            resident = max(resident, unlimited_blocks)
        changed = model.variant(ideal=bits, resident=resident)
        if bits & COALESCING:
            changed.sample = changed.rewritten(coalesced)
        if bits & DIVERGENCE:
            changed.sample = changed.rewritten(lambda trace: packed(trace, model.code))
    estimate = changed.estimate
    cycles = estimate.elapsed_cycles - (estimate.overhead_cycles if bits & 512 else 0.0)
    return cycles / model.question.clock_mhz * 1e3


def packed(trace: BlockTrace, code: Records) -> BlockTrace:
    """The trace as if the lanes of a warp went one way: each warp runs what one of its lanes did.

    The lane changes from warp to warp, so that every path has its share of the warps.
    """
    entries = trace.entries
    has_barrier = np.array(
        [bool((code["kind"][a:b] == BLOCK_BARRIER).any())
         for a, b in zip(trace.starts, trace.ends, strict=True)]
    )  # fmt: skip
    keep = np.ones(len(entries), bool)
    for warp, first in enumerate(trace.warp_entries[:-1]):
        last = trace.warp_entries[warp + 1]
        if last <= first:
            continue
        masks = entries["mask"][first:last]
        every = int(np.bitwise_or.reduce(masks))
        lanes = [lane for lane in range(32) if every >> lane & 1]
        if lanes:
            keep[first:last] = masks >> np.uint32(lanes[warp * _LANE_STEP % len(lanes)]) & 1
        keep[last - 1] = True
    keep |= has_barrier[entries["lifted_block"]]
    return trace.with_entries(keep)
