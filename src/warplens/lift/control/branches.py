"""Code for branches, calls, returns, and the ends of lanes."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.control.participants import (
    extra_predicate,
    missing_lanes,
    not_ended,
    scalar_operand,
)
from warplens.lift.control.repeats import count_targets
from warplens.lift.decode.binding import BindingError, Bound
from warplens.lift.decode.blocks import ALL_KEYS
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.sass.model import Imm, Label, Operand, Reg, Token, UReg


def _target(w: RegionWriter, item: Bound) -> int:
    for operand in item.inst.operands:
        if isinstance(operand, Label):
            return w.layout.block_at[operand.address // 16]
    raise BindingError("no branch target")


def _branch(w: RegionWriter, target: int, taken: str | None, count_index: int) -> None:
    """Sends the lanes of `taken` (None: all) to `target`, the others to the next block."""
    w.registers.flush()
    w.terminated = True
    executed = w.counter("branch_uniform", count_index, count_index + 1)
    w.count(executed, "1")
    if taken is None:
        w.goto(target)
        return
    some, none, all_, both = (w.module.label(s) for s in ("some", "none", "all", "both"))
    is_some = w.emit(f"icmp ne i32 {taken}, 0")
    w.line(f"br i1 {is_some}, label %{some}, label %{none}")
    w.module.start(none)
    w.goto(w.next_block())
    w.module.start(some)
    is_all = w.emit(f"icmp eq i32 {taken}, {w.mask}")
    w.line(f"br i1 {is_all}, label %{all_}, label %{both}")
    w.module.start(all_)
    w.goto(target)
    w.module.start(both)
    divergent = w.counter("branch_divergent", count_index, count_index + 1)
    w.counter("branch_uniform", count_index, count_index + 1, -1, slot=divergent)
    w.count(divergent, "1")
    rest = w.emit(f"xor i32 {w.mask}, {taken}")
    _diverge(w, target, taken, rest)


def _waits_at_once(w: RegionWriter, target: int) -> bool:
    """Whether a lifted block does nothing but wait at a convergence barrier."""
    first = w.bound[w.layout.blocks[target].start]
    return first.op.role == "bsync" and first.inst.guard is None


def _ends_at_once(w: RegionWriter, target: int) -> bool:
    """Whether a lifted block does nothing but end lanes, and no observer wants to see it."""
    first = w.layout.blocks[target].start
    inst = w.bound[first].inst
    plain = inst.guard is None and not inst.operands and w.bound[first].op.role == "exit"
    return plain and not (w.watch.blocks or w.tells("exit") or first in w.watch.parts)


def _end(w: RegionWriter, target: int, lanes: str) -> None:
    """Ends lanes that come to such a block."""
    w.note_way(target)
    first = w.layout.blocks[target].start
    w.count(w.counter("inst_executed", first, first + 1), "1")
    slot = w.counter("thread_inst_executed", first, first + 1)
    w.counter("thread_inst_executed_true", first, first + 1, slot=slot)
    w.count(slot, w.popcount(lanes))
    ended = w.load_u32(at.WARP_EXITED)
    w.store_u32(at.WARP_EXITED, w.emit(f"or i32 {ended}, {lanes}"))


def _diverge(w: RegionWriter, target: int, taken: str, rest: str) -> None:
    """Two ways: the side with fewer lanes runs first, on a tie the one that falls through.

    So does an H200. A side that would only wait at a convergence barrier is put aside first, one
    that would only end ends at once; that changes nothing but saves a round trip.
    """
    follow = w.next_block()
    if w.layout.has_parts:
        _smaller_first(w, target, taken, rest)
        return
    if _ends_at_once(w, target):
        _end(w, target, taken)
        w.goto(follow, rest)
        return
    if _ends_at_once(w, follow):
        _end(w, follow, rest)
        w.goto(target, taken)
        return
    if _waits_at_once(w, target):
        w.park(target, taken)
        w.goto(follow, rest)
        return
    if _waits_at_once(w, follow):
        w.park(follow, rest)
        w.goto(target, taken)
        return
    _smaller_first(w, target, taken, rest)


def _smaller_first(w: RegionWriter, target: int, taken: str, rest: str) -> None:
    follow = w.next_block()
    fewer = w.emit(f"icmp ult i64 {w.popcount(taken)}, {w.popcount(rest)}")
    jump, fall = w.module.label("jump"), w.module.label("fall")
    w.line(f"br i1 {fewer}, label %{jump}, label %{fall}")
    w.module.start(jump)
    w.park(follow, rest)
    w.goto(target, taken)
    w.module.start(fall)
    w.park(target, taken)
    w.goto(follow, rest)


@role("bra")
def bra(w: RegionWriter, item: Bound) -> None:
    """BRA in its forms."""
    modifiers = item.inst.modifiers
    target = _target(w, item)
    special: str | None = None
    if "DIV" in modifiers or "CONV" in modifiers:
        masks = [o for o in item.inst.operands if isinstance(o, Reg | UReg | Imm)]
        need = scalar_operand(w, masks[0]) if masks else "-1"
        if w.guard is not None:
            # Lanes whose guard is false count as not being here; all lanes jump, or none.
            here = w.lanes_mask()
            absent = not_ended(w, w.emit(f"and i32 {need}, {w.emit(f'xor i32 {here}, -1')}"))
            missing = w.emit(f"icmp ne i32 {absent}, 0")
            w.guard = None
        else:
            here = ""
            missing = missing_lanes(w, need)
        if "CONV" in modifiers:
            missing = w.emit(f"xor i1 {missing}, true")
        if here:  # under a guard that is false for all, it does nothing
            missing = w.emit(f"and i1 {missing}, {w.emit(f'icmp ne i32 {here}, 0')}")
        special = w.emit(f"select i1 {missing}, i32 {w.mask}, i32 0")
    else:
        extra_predicate(w, item)
    taken = None if w.guard is None else w.lanes_mask()
    if "U" in modifiers and taken is not None:  # one way for all lanes, whatever the predicate
        test = f"ne i32 {taken}, 0" if "ANY" in modifiers else f"eq i32 {taken}, {w.mask}"
        taken = w.emit(f"select i1 {w.emit(f'icmp {test}')}, i32 {w.mask}, i32 0")
    if special is not None:
        taken = special if taken is None else w.emit(f"and i32 {special}, {taken}")
    _branch(w, target, taken, w.index)


@role("exit")
def exit_(w: RegionWriter, item: Bound) -> None:
    """EXIT: lanes end."""
    extra_predicate(w, item)
    w.registers.flush()
    w.terminated = True
    lanes = w.mask if w.guard is None else w.lanes_mask()
    ended = w.load_u32(at.WARP_EXITED)
    w.store_u32(at.WARP_EXITED, w.emit(f"or i32 {ended}, {lanes}"))
    if w.layout.has_parts:
        w.store_u32(at.WARP_ARGS, lanes)  # whose barriers may be complete now
    if w.guard is None or not w.has_next():
        w.line(f"ret i32 {at.EVENT_DONE}")
        return
    rest = w.emit(f"xor i32 {w.mask}, {lanes}")
    gone, stay = w.module.label("gone"), w.module.label("stay")
    is_gone = w.emit(f"icmp eq i32 {rest}, 0")
    w.line(f"br i1 {is_gone}, label %{gone}, label %{stay}")
    w.module.start(gone)
    w.line(f"ret i32 {at.EVENT_DONE}")
    w.module.start(stay)
    w.goto(w.next_block(), rest)


@role("trap")
def trap(w: RegionWriter, item: Bound) -> None:
    """BPT.TRAP: the kernel stops itself; BPT.DRAIN and others do nothing."""
    if "TRAP" not in item.inst.modifiers:
        return
    w.registers.flush()
    w.terminated = True
    lanes = w.lanes_mask()
    stop, go = w.module.label("trap"), w.module.label("untrapped")
    w.line(f"br i1 {w.emit(f'icmp ne i32 {lanes}, 0')}, label %{stop}, label %{go}")
    w.module.start(stop)
    w.store_u32(at.WARP_ARGS, str(w.index))
    w.store_u32(at.WARP_ARGS + 4, lanes)
    w.line(f"ret i32 {at.EVENT_TRAP}")
    w.module.start(go)
    if w.has_next():
        w.goto(w.next_block())
    else:
        w.line(f"ret i32 {at.EVENT_FAULT}")


def _indirect(w: RegionWriter, low: Value, high: Value, kind: int) -> None:
    """Leaves through per-lane addresses; lanes whose guard is false go on behind."""
    w.registers.flush()
    w.terminated = True
    for offset, value in ((at.WARP_TARGETS, low), (at.WARP_TARGETS_HIGH, high)):
        w.line(f"store <32 x i32> {value.ref}, ptr {w.field(offset)}, align 64")
    lanes = w.mask if w.guard is None else w.lanes_mask()
    count_targets(w, low, lanes)
    if w.guard is not None:
        rest = w.emit(f"xor i32 {lanes}, {w.mask}")
        some, go, none = (w.module.label(s) for s in ("others", "go", "none"))
        w.line(f"br i1 {w.emit(f'icmp ne i32 {lanes}, 0')}, label %{some}, label %{none}")
        w.module.start(none)
        w.goto(w.next_block())
        w.module.start(some)
        park = w.module.label("park")
        w.line(f"br i1 {w.emit(f'icmp ne i32 {rest}, 0')}, label %{park}, label %{go}")
        w.module.start(park)
        w.park(w.next_block(), rest)
        w.line(f"br label %{go}")
        w.module.start(go)
    live = 0
    for s in w.block.successors:
        live |= w.layout.blocks[s].live_in
        w.entries.add(s)
    if not w.block.successors or w.bound[w.block.end - 1].op.role == "call":
        live = ALL_KEYS
    w.store_keys(live & w.block.dirty, lanes)
    w.store_u32(at.WARP_MASK, lanes)
    w.store_u32(at.WARP_ARGS, str(kind))
    w.store_u32(at.WARP_ARGS + 4, str(w.index))
    w.line(f"ret i32 {at.EVENT_INDIRECT}")


def _jump_kind(item: Bound) -> int:
    absolute = "ABS" in item.inst.modifiers or item.inst.opcode.startswith("JMX")
    return at.INDIRECT_ABSOLUTE if absolute else at.INDIRECT_RELATIVE


def _jump_words(w: RegionWriter, item: Bound, operand: Operand) -> tuple[Value, Value]:
    """The address of an indirect jump: a register pair plus the offset of a label or number."""
    low = w.operands.bits_word(operand, 0, False)
    for extra in item.inst.operands:
        if isinstance(extra, Label):
            low = w.x.add(low, w.x.u32(extra.address))
        elif isinstance(extra, Imm):
            low = w.x.add(low, w.x.u32(extra.bits))
    return low, w.operands.bits_word(operand, 1, False)


@role("call")
def call(w: RegionWriter, item: Bound) -> None:
    """CALL to a label, or through a register pair."""
    labels = [o for o in item.inst.operands if isinstance(o, Label)]
    registers = [o for o in item.inst.operands if isinstance(o, Reg | UReg)]
    if registers:
        _indirect(w, *_jump_words(w, item, registers[0]), _jump_kind(item))
        return
    names = [o.text for o in item.inst.operands if isinstance(o, Token)]
    if names and names[0] in at.SYSTEM_CALLS:
        number = at.FIRST_SYSTEM_CALL + at.SYSTEM_CALLS.index(names[0])
        high = w.x.u32(at.HOOK_WINDOW_HIGH)
        _indirect(w, w.x.u32(number), high, at.INDIRECT_ABSOLUTE)
        return
    if not labels:
        raise BindingError("CALL without a target")
    _branch(w, _target(w, item), None if w.guard is None else w.lanes_mask(), w.index)


@role("ret")
def ret(w: RegionWriter, item: Bound) -> None:
    """RET to the section offset in a register pair."""
    registers = [o for o in item.inst.operands if isinstance(o, Reg | UReg)]
    if not registers:
        raise BindingError("RET without a register")
    _indirect(w, *_jump_words(w, item, registers[0]), _jump_kind(item))


@role("brx", "brxu")
def brx(w: RegionWriter, item: Bound) -> None:
    """BRX: register pair + address of the next instruction + offset."""
    registers = [o for o in item.inst.operands if isinstance(o, Reg | UReg)]
    if not registers:
        raise BindingError(f"{item.inst.opcode} without a register")
    _indirect(w, *_jump_words(w, item, registers[0]), _jump_kind(item))


@role("lepc")
def lepc(w: RegionWriter, item: Bound) -> None:
    """LEPC: the absolute code address of this instruction or of the label."""
    address = item.inst.address
    for operand in item.inst.operands:
        if isinstance(operand, Label):
            address = operand.address
    destination = item.inst.operands[0]
    if not isinstance(destination, Reg):
        raise BindingError("LEPC destination")
    value = w.x.u64((at.CODE_WINDOW_HIGH << 32) + address)
    w.operands.write_wide(destination.index, value, w.guard)
