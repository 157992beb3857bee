"""Cuts a kernel into lifted blocks (resume points at their starts) and regions (one function each).

A lifted block is straight-line code of at most `MAX_BLOCK` instructions; a split can be suspended
only between two of them. A region is a run of lifted blocks compiled as one LLVM function in which
registers live in SSA values: large enough to hold loops, small enough to keep code generation
linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from warplens.lift.decode.binding import N_KEYS, Bound, bits
from warplens.lift.decode.waiting import Waiting, find_waiting, suspends
from warplens.sass.model import Label, Reg, SassKernel, UReg

MAX_BLOCK = 250
MAX_REGION = 1000
ALL_KEYS = (1 << N_KEYS) - 1

# After these a split may be suspended, so the next instruction starts a lifted block.
_ENDS_BLOCK = frozenset({
    "bra", "exit", "bsync", "call", "ret", "brx", "brxu", "bar", "warpsync", "yield", "sleep",
    "trap", "cluster_arrive", "cluster_wait", "warpgroup_wait",
})  # fmt: skip


_BARRIERS = frozenset({"bar", "warpgroup_wait"})  # where a whole warp waits for others


@dataclass(slots=True)
class LiftedBlock:
    """Instructions [start, end); `successors` are lifted-block indices."""

    index: int
    start: int
    end: int
    successors: tuple[int, ...] = ()
    indirect: bool = False  # leaves through a computed address: everything is live
    reads: int = 0  # keys read before written
    writes: int = 0  # keys certainly or possibly written
    kills: int = 0  # keys certainly written for all executing lanes
    live_in: int = 0
    in_loop: bool = False
    dirty_in: int = 0  # keys that at its start may differ from the warp's record
    dirty: int = 0  # the same at its end
    cleans: frozenset[int] = frozenset()  # successors before which those keys are stored
    is_rest: bool = False  # goes on where the block before was cut, and is reached no other way


@dataclass(slots=True)
class Region:
    """Lifted blocks [first, last) compiled as one function."""

    index: int
    first: int
    last: int
    entries: list[int] = field(default_factory=list)
    lazy: int = 0  # keys read from the record where they do not differ from it


@dataclass(slots=True)
class Layout:
    """The cut of one kernel."""

    blocks: list[LiftedBlock]
    regions: list[Region]
    region_of: list[int]
    block_at: dict[int, int]  # instruction index -> lifted block that starts there
    return_points: tuple[int, ...]
    waiting: Waiting
    has_parts: bool  # barriers' masks and the order of parts are those of execute/parts.py


def has_parts(bound: Sequence[Bound | None]) -> bool:
    """Whether it matters in which order parts of a warp run and when they meet.

    Nested regions without BREAK and YIELD give the same in any order. Kernels that save barriers
    in registers (BMOV), which was not recorded, keep a mask for each lane.
    """
    items = [item for item in bound if item is not None]
    roles = {item.op.role for item in items}
    saves = any(item.op.role == "bmov" for item in items)
    marked = any(item.op.role == "bssy" and item.inst.modifiers for item in items)
    return "bssy" in roles and bool(roles & {"break", "yield"}) and not (saves or marked)


def _leaders(kernel: SassKernel, bound: list[Bound | None]) -> list[int]:
    leaders = {b.start for b in kernel.blocks} | {0}
    n = len(bound)
    parts = has_parts(bound)
    ends = _ENDS_BLOCK | {"break"} if parts else _ENDS_BLOCK
    for i, item in enumerate(bound):
        if item is None:
            continue
        if item.op.role in ends and i + 1 < n:
            leaders.add(i + 1)
        if suspends(item) or (parts and _is_barrier(item)):
            leaders.add(i)
        for operand in item.inst.operands:
            if isinstance(operand, Label) and 0 <= operand.address // 16 < n:
                leaders.add(operand.address // 16)
    for targets in kernel.branch_targets.values():
        leaders.update(t // 16 for t in targets)
    leaders.update(a // 16 for a in kernel.functions)
    cut: list[int] = []
    for start in sorted(x for x in leaders if x < n):
        while cut and start - cut[-1] > MAX_BLOCK:
            cut.append(cut[-1] + MAX_BLOCK)
        cut.append(start)
    while n - cut[-1] > MAX_BLOCK:
        cut.append(cut[-1] + MAX_BLOCK)
    return cut


def _is_conditional(item: Bound) -> bool:
    if not item.inst.is_unguarded:
        return True
    extra = [o for o in item.inst.operands if type(o).__name__ in ("Pred", "UPred")]
    special = {"DIV", "CONV", "ANY"} & set(item.inst.modifiers)
    return bool(extra or special)


def _successors(
    kernel: SassKernel, item: Bound, block: LiftedBlock, at: dict[int, int],
    returns: tuple[int, ...],
) -> tuple[tuple[int, ...], bool]:
    follow = (at[block.end],) if block.end in at else ()
    computed = any(isinstance(o, Reg | UReg) for o in item.inst.operands)
    labels = tuple(
        at[o.address // 16] for o in item.inst.operands
        if isinstance(o, Label) and o.address // 16 in at
    )  # fmt: skip
    if computed and item.op.role != "bra":  # the label is only an offset to the register
        labels = ()
    match item.op.role:
        case "bra":
            return (labels + follow if _is_conditional(item) else labels), False
        case "call":
            if not labels:
                return (follow + returns, True)
            return (labels + follow if _is_conditional(item) else labels), False
        case "ret":
            return (returns + follow if _is_conditional(item) else returns), True
        case "brx" | "brxu":
            targets = kernel.branch_targets.get(item.inst.address)
            if targets:
                return tuple(sorted({at[t // 16] for t in targets} | set(follow))), False
            return follow, True
        case "exit" | "trap":
            return (follow if _is_conditional(item) or item.op.role == "trap" else ()), False
        case "warpsync":
            # WARPSYNC.COLLECTIVE names the end of its bracket; control just falls through.
            return follow, False
    return follow, False


def _summarise(block: LiftedBlock, bound: list[Bound | None]) -> None:
    reads = writes = kills = 0
    for i in range(block.start, block.end):
        item = bound[i]
        if item is None:
            continue
        reads |= bits(item.reads) & ~kills
        written = bits(item.writes)
        writes |= written
        if item.inst.is_unguarded:
            kills |= written
    block.reads, block.writes, block.kills = reads, writes, kills


def _liveness(blocks: list[LiftedBlock]) -> None:
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            out = ALL_KEYS if block.indirect and not block.successors else 0
            for s in block.successors:
                out |= blocks[s].live_in
            live = block.reads | (out & ~block.kills)
            if live != block.live_in:
                block.live_in = live
                changed = True


def _regions(blocks: list[LiftedBlock]) -> list[Region]:
    n = len(blocks)
    crossing = [0] * (n + 1)  # back edges that a cut before block i would break
    for block in blocks:
        for s in block.successors:
            if s <= block.index:
                for i in range(s + 1, block.index + 1):
                    crossing[i] += 1
    loop_end: dict[int, int] = {}  # loop header -> last block with an edge back to it
    for block in blocks:
        for s in block.successors:
            if s <= block.index:
                loop_end[s] = max(loop_end.get(s, s), block.index)
    regions: list[Region] = []
    first = 0
    while first < n:
        size, last = 0, first
        while last < n and (last == first or size + blocks[last].end - blocks[last].start
                            <= MAX_REGION):  # fmt: skip
            end = loop_end.get(last)
            if last > first and end is not None and (
                blocks[end].end - blocks[first].start > MAX_REGION
            ):
                break  # what stands before a long loop would make its registers dirty for ever
            size += blocks[last].end - blocks[last].start
            last += 1
        if last < n and last not in loop_end:
            candidates = [
                i for i in range(first + 1, last + 1)
                if blocks[i - 1].end - blocks[first].start >= min(MAX_REGION // 3, size)
            ]  # fmt: skip
            last = min(candidates, key=lambda i: (crossing[i], -i)) if candidates else last
        regions.append(Region(len(regions), first, last))
        first = last
    return regions


def _find_loops(blocks: list[LiftedBlock]) -> None:
    """Marks what stands between the target of a backward jump and the jump."""
    depth = [0] * (len(blocks) + 1)
    for block in blocks:
        for s in block.successors:
            if s <= block.index:
                depth[s] += 1
                depth[block.index + 1] -= 1
    for block, loops in zip(blocks, accumulate(depth), strict=False):
        block.in_loop = loops > 0


def _waits(block: LiftedBlock, bound: list[Bound | None]) -> bool:
    """Whether a block always ends at a barrier of the thread block: the region is left there."""
    item = bound[block.end - 1]
    return item is not None and item.op.role in _BARRIERS and item.inst.is_unguarded


def _find_dirty(blocks: list[LiftedBlock], region: Region, bound: list[Bound | None]) -> None:
    """What may have to be stored when a region is left, block by block.

    Loops with barriers are left and entered again in every round. What stands before such a loop
    is stored on the way into it: else its registers would be stored in every round.
    """
    inside = range(region.first, region.last)
    ways = {i: [s for s in blocks[i].successors if s in inside and not _waits(blocks[i], bound)]
            for i in inside}  # fmt: skip
    loop_end: dict[int, int] = {}
    for i in inside:
        for s in blocks[i].successors:
            if s <= i and s in inside:
                loop_end[s] = max(loop_end.get(s, s), i)
    stops = {h for h, end in loop_end.items()
             if any(_waits(blocks[i], bound) for i in range(h, end + 1))}  # fmt: skip
    for i in inside:
        blocks[i].cleans = frozenset(s for s in ways[i] if s > i and s in stops)
    changed = True
    while changed:
        changed = False
        for i in inside:
            block = blocks[i]
            block.dirty = block.dirty_in | block.writes
            for s in ways[i]:
                more = blocks[s].dirty_in | (0 if s in block.cleans else block.dirty)
                changed = changed or more != blocks[s].dirty_in
                blocks[s].dirty_in = more
    in_rounds = 0  # read in loops that are not left in every round: better kept in registers
    for h, end in loop_end.items():
        if h not in stops:
            for i in range(h, end + 1):
                in_rounds |= blocks[i].reads | (blocks[i].writes & ~blocks[i].kills)
    region.lazy = ALL_KEYS & ~in_rounds


def _is_barrier(item: Bound | None) -> bool:
    return item is not None and item.op.role in ("bsync", "warpsync")


def _find_rests(blocks: list[LiftedBlock], layout: Layout, bound: list[Bound | None]) -> None:
    """Marks blocks that only the length of the one before them cuts off."""
    ways_in = [0] * len(blocks)
    for block in blocks:
        for s in block.successors:
            ways_in[s] += 1
    if any(b.indirect for b in blocks):
        return
    first = {region.first for region in layout.regions}
    for before, block in pairwise(blocks):
        item = bound[before.end - 1]
        block.is_rest = (
            item is not None and item.op.role not in _ENDS_BLOCK | {"break"}
            and ways_in[block.index] == 1 and block.index not in first
            and block.index not in layout.return_points
            and not suspends(bound[block.start])
            and not (layout.has_parts and _is_barrier(bound[block.start]))
        )  # fmt: skip


def lay_out(
    kernel: SassKernel, bound: list[Bound | None], *, single: bool = False
) -> Layout:
    """Cuts the kernel; `bound` has one entry per instruction (None for gaps).

    With `single` every instruction is a block and a region of its own, and all registers stay in
    the warp's record: what a debugger needs.
    """
    n = len(bound)
    starts = list(range(n)) if single else _leaders(kernel, bound)
    blocks = [
        LiftedBlock(i, s, starts[i + 1] if i + 1 < len(starts) else n)
        for i, s in enumerate(starts)
    ]
    at = {b.start: b.index for b in blocks}
    returns = tuple(
        at[b.end] for b in blocks
        if (item := bound[b.end - 1]) is not None and item.op.role == "call" and b.end in at
    )  # fmt: skip
    for block in blocks:
        last = bound[block.end - 1]
        if last is not None:
            block.successors, block.indirect = _successors(kernel, last, block, at, returns)
        elif block.end in at:
            block.successors = (at[block.end],)
        _summarise(block, bound)
    for block in blocks:
        item = bound[block.end - 1]
        if item is not None and item.op.role == "call" and block.indirect:
            # An indirect call's callee may read any register.
            block.reads |= ((1 << 256) - 1) & ~block.kills
    if single:
        for block in blocks:
            block.live_in = ALL_KEYS
        regions = [Region(i, i, i + 1) for i in range(len(blocks))]
    else:
        _liveness(blocks)
        regions = _regions(blocks)
    region_of = [0] * len(blocks)
    for region in regions:
        for i in range(region.first, region.last):
            region_of[i] = region.index
    _find_loops(blocks)
    for region in regions:
        _find_dirty(blocks, region, bound)
    waiting = find_waiting(blocks, bound)
    layout = Layout(blocks, regions, region_of, at, returns, waiting, has_parts(bound))
    _find_rests(blocks, layout, bound)
    return layout
