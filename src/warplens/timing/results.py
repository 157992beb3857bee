"""Writing results: a sub-partition's register file takes one register of a warp a cycle.

What has a fixed latency takes its cycle when it issues. Loads from shared memory get the cycles
that are left, in order; one that has waited for long goes first. So a load of four registers costs
a sub-partition that is busy with multiply-adds two to three cycles, and one whose multiply-adds
read conflicting registers nothing (measured, validation/data/mixes_sm90.json); cycles and states of
products' inner loops follow (validation/data/tiles_sm90.json).
"""

from __future__ import annotations

from warplens.sass.model import RZ, Instruction, Reg
from warplens.timing.scoreboard import NO_BARRIER
from warplens.timing.state import COMING, Record, stage

PATIENCE = 12.0  # cycles that a load waits before it goes first (fitted to tiles_sm90.json)
# Cycles for two and four registers of a lane (mixes_sm90.json: two to three and a half more than
# the load's own, of 16 and of 32 instructions between multiply-adds)
_WIDE = {"64": 2, "128": 3}


def cycles_of(inst: Instruction, is_fixed: bool) -> int:
    """Cycles in which an instruction writes its result: a load from shared memory, or one of fixed
    latency; 0 for others."""
    if inst.opcode == "LDS":
        return max((n for name, n in _WIDE.items() if name in inst.modifiers), default=1)
    first = inst.operands[0] if inst.operands else None
    return int(is_fixed and isinstance(first, Reg) and first.index != RZ)


@stage
def load(sub: Record, warp: Record, board: int, registers: int, done: float) -> None:
    """A load whose data would be there at `done`, for a scoreboard."""
    if sub.asked - sub.come >= COMING:
        return  # too many to know
    place = sub.asked % COMING
    sub.coming[place] = done - registers
    sub.left_of[place] = registers
    sub.asked += 1
    if board != NO_BARRIER:
        warp.tickets[board] = sub.asked


@stage
def update(sub: Record, now: int) -> None:
    """Gives loads the cycles up to `now`."""
    if sub.come >= sub.asked:
        return
    while sub.come < sub.asked:
        place = sub.come % COMING
        begin = max(float(sub.written), sub.coming[place])
        if begin >= now:
            break
        end = begin + sub.left_of[place]
        if end > now:
            sub.left_of[place] = end - now
            break
        sub.written = end
        sub.come += 1
    sub.written = max(sub.written, float(now))


@stage
def operate(sub: Record, now: int, registers: float) -> None:
    """An operation issues, whose result has its cycle."""
    update(sub, now)
    sub.written = float(now) + registers


@stage
def until(sub: Record, ticket: int, now: int) -> int:
    """When a load has its data, if nothing else issues."""
    end = max(float(now), sub.written)
    for number in range(sub.come, ticket):
        place = number % COMING
        end = max(end, sub.coming[place]) + sub.left_of[place]
    return int(max(now + 1, int(end)))


@stage
def presses(sub: Record, now: int) -> bool:
    """Whether the oldest load has waited too long for others to go first."""
    update(sub, now)
    if sub.come >= sub.asked:
        return False
    return bool(sub.coming[sub.come % COMING] + PATIENCE < now)
