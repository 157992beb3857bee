"""Which lanes an instruction of control flow concerns: its guards, masks and barriers."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.decode.binding import BindingError, Bound
from warplens.lift.regions.writer import RegionWriter
from warplens.sass.model import PT, RZ, Barrier, Operand, Pred, Reg, UPred


def extra_predicate(w: RegionWriter, item: Bound) -> None:
    """Folds a second predicate operand (`@P0 EXIT P1`) into the guard.

    The chip counts the lanes that it keeps as predicated off, patched code as predicated on.
    """
    for operand in item.inst.operands:
        if isinstance(operand, Pred | UPred) and not (operand.index == PT and not operand.negate):
            before = w.popcount(w.lanes_mask())
            extra = w.operands.predicate(operand, False)
            w.guard = extra if w.guard is None else w.x.pand(w.guard, extra)
            held = w.emit(f"sub i64 {before}, {w.popcount(w.lanes_mask())}")
            w.count(w.counter("thread_inst_held", w.index, w.index + 1), held)


def convergence_barrier(item: Bound) -> int:
    """The number of the convergence barrier that the instruction names."""
    for operand in item.inst.operands:
        if isinstance(operand, Barrier):
            return operand.index
    raise BindingError("no convergence barrier")


def scalar_operand(w: RegionWriter, operand: Operand) -> str:
    """A 32-bit operand as one i32: uniform registers as they are, vectors from the first lane."""
    if isinstance(operand, Reg):
        value = w.x.u32(0) if operand.index == RZ else w.registers.read_bits(operand.index)
        value = w.x.not_(value) if operand.invert else value
        return w.x.scalar(w.x.first_active(value))
    word = w.operands.word(operand, 0, True)
    if getattr(operand, "invert", False):
        word = w.u.not_(word)
    return word.ref


def not_ended(w: RegionWriter, mask: str) -> str:
    """The lanes of `mask` that have not ended."""
    ended = w.load_u32(at.WARP_EXITED)
    return w.emit(f"and i32 {mask}, {w.emit(f'xor i32 {ended}, -1')}")


def missing_lanes(w: RegionWriter, need: str) -> str:
    """i1: some lane of `need` that has not ended is not in the running split."""
    alive = not_ended(w, need)
    others = w.emit(f"and i32 {alive}, {w.emit(f'xor i32 {w.mask}, -1')}")
    return w.emit(f"icmp ne i32 {others}, 0")
