"""Code for branches, calls, convergence and block barriers."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.decode.binding import KEY_UNIFORM, BindingError, Bound
from warplens.lift.decode.blocks import ALL_KEYS
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.sass.model import (
    PT,
    RZ,
    Barrier,
    Imm,
    Label,
    Operand,
    Pred,
    Reg,
    UPred,
    UReg,
)


def _extra_predicate(w: RegionWriter, item: Bound) -> None:
    """Folds a second predicate operand (`@P0 EXIT P1`) into the guard."""
    for operand in item.inst.operands:
        if isinstance(operand, Pred | UPred) and not (operand.index == PT and not operand.negate):
            extra = w.operands.predicate(operand, False)
            w.guard = extra if w.guard is None else w.x.pand(w.guard, extra)


def _target(w: RegionWriter, item: Bound) -> int:
    for operand in item.inst.operands:
        if isinstance(operand, Label):
            return w.layout.block_at[operand.address // 16]
    raise BindingError("no branch target")


def _convergence(item: Bound) -> int:
    for operand in item.inst.operands:
        if isinstance(operand, Barrier):
            return operand.index
    raise BindingError("no convergence barrier")


def _scalar_operand(w: RegionWriter, operand: Operand) -> str:
    """A 32-bit operand as one i32: uniform registers as they are, vectors from the first lane."""
    if isinstance(operand, Reg):
        value = w.x.u32(0) if operand.index == RZ else w.registers.read_bits(operand.index)
        value = w.x.not_(value) if operand.invert else value
        return w.x.scalar(w.x.first_active(value))
    word = w.operands.word(operand, 0, True)
    if getattr(operand, "invert", False):
        word = w.u.not_(word)
    return word.ref


def _not_ended(w: RegionWriter, mask: str) -> str:
    ended = w.load_u32(at.WARP_EXITED)
    return w.emit(f"and i32 {mask}, {w.emit(f'xor i32 {ended}, -1')}")


def _missing(w: RegionWriter, need: str) -> str:
    """i1: some lane of `need` that has not ended is not in the running split."""
    alive = _not_ended(w, need)
    others = w.emit(f"and i32 {alive}, {w.emit(f'xor i32 {w.mask}, -1')}")
    return w.emit(f"icmp ne i32 {others}, 0")


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
        need = _scalar_operand(w, masks[0]) if masks else "-1"
        if "DIV" in modifiers and w.guard is not None:
            # Lanes whose guard is false count as not being here; all lanes jump.
            absent = w.emit(f"xor i32 {w.lanes_mask()}, -1")
            absent = _not_ended(w, w.emit(f"and i32 {need}, {absent}"))
            missing = w.emit(f"icmp ne i32 {absent}, 0")
            w.guard = None
        else:
            missing = _missing(w, need)
        if "CONV" in modifiers:
            missing = w.emit(f"xor i1 {missing}, true")
        special = w.emit(f"select i1 {missing}, i32 {w.mask}, i32 0")
    else:
        _extra_predicate(w, item)
    taken = None if w.guard is None else w.lanes_mask()
    if "ANY" in modifiers and taken is not None:
        any_ = w.emit(f"icmp ne i32 {taken}, 0")
        taken = w.emit(f"select i1 {any_}, i32 {w.mask}, i32 0")
    if special is not None:
        taken = special if taken is None else w.emit(f"and i32 {special}, {taken}")
    _branch(w, target, taken, w.index)


@role("exit")
def exit_(w: RegionWriter, item: Bound) -> None:
    """EXIT: lanes end."""
    _extra_predicate(w, item)
    w.registers.flush()
    w.terminated = True
    lanes = w.mask if w.guard is None else w.lanes_mask()
    ended = w.load_u32(at.WARP_EXITED)
    w.store_u32(at.WARP_EXITED, w.emit(f"or i32 {ended}, {lanes}"))
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


def _barrier_place(w: RegionWriter, number: int) -> str:
    return w.field(at.WARP_BARRIERS + 128 * number)


def _barrier_of_split(w: RegionWriter, number: int, mask: str) -> str:
    """The participants of a convergence barrier as the running lanes know them."""
    w.module.helper("llvm.cttz.i32", "declare i32 @llvm.cttz.i32(i32, i1)")
    lane = w.emit(f"call i32 @llvm.cttz.i32(i32 {mask}, i1 false)")
    lane = w.emit(f"and i32 {lane}, 31")
    place = w.emit(f"getelementptr i32, ptr {_barrier_place(w, number)}, i32 {lane}")
    return w.emit(f"load i32, ptr {place}, align 4")


@role("bssy")
def bssy(w: RegionWriter, item: Bound) -> None:
    """BSSY: the executing lanes are the barrier's participants."""
    lanes = w.lanes_mask()
    value = w.x.broadcast("u32", lanes)
    w.store_vector(value.ref, _barrier_place(w, _convergence(item)), w.vector_mask(lanes))


@role("break")
def break_(w: RegionWriter, item: Bound) -> None:
    """BREAK: the executing lanes no longer take part in the barrier."""
    _extra_predicate(w, item)
    n = _convergence(item)
    lanes = w.lanes_mask()
    value = w.x.broadcast("u32", _barrier_of_split(w, n, lanes))
    place = _barrier_place(w, n)
    old = Value("u32", w.emit(f"load <32 x i32>, ptr {place}, align 64"))
    keep = w.x.broadcast("u32", w.emit(f"xor i32 {lanes}, -1"))
    some = w.x.icmp("ne", w.x.broadcast("u32", lanes), w.x.u32(0))
    same = w.x.pand(w.x.icmp("eq", old, value), some)
    new = w.x.select(same, w.x.and_(old, keep), old)
    w.line(f"store <32 x i32> {new.ref}, ptr {place}, align 64")


@role("bsync")
def bsync(w: RegionWriter, item: Bound) -> None:
    """BSYNC: go on if all participants are here, else the runner keeps the split waiting."""
    if w.guard is not None:
        raise BindingError("guarded BSYNC")
    n = _convergence(item)
    w.registers.flush()
    w.terminated = True
    follow = w.next_block()
    need = _barrier_of_split(w, n, w.mask)
    others = _not_ended(w, w.emit(f"and i32 {need}, {w.emit(f'xor i32 {w.mask}, -1')}"))
    alone, wait = w.module.label("alone"), w.module.label("wait")
    nobody = w.emit(f"icmp eq i32 {others}, 0")
    w.line(f"br i1 {nobody}, label %{alone}, label %{wait}")
    w.module.start(alone)
    w.goto(follow)
    w.module.start(wait)
    w.store_u32(at.WARP_ARGS, str(n))
    w.leave(follow, w.mask, at.EVENT_BSYNC)


@role("bmov")
def bmov(w: RegionWriter, item: Bound) -> None:
    """BMOV between a convergence barrier and a register, lane by lane."""
    destination, source = item.inst.operands[0], item.inst.operands[1]
    lanes = w.executing()
    if isinstance(destination, Barrier):
        value = w.operands.bits_word(source, 0, False)
        w.store_vector(value.ref, _barrier_place(w, destination.index), lanes)
        return
    if not isinstance(source, Barrier):
        raise BindingError(f"BMOV source {source!r}")
    place = _barrier_place(w, source.index)
    value = Value("u32", w.emit(f"load <32 x i32>, ptr {place}, align 64"))
    if "CLEAR" in item.inst.modifiers:
        w.store_vector("zeroinitializer", place, lanes)
    if isinstance(destination, Reg) and destination.index != RZ:
        w.operands.write_word(destination.index, value, w.guard)
    elif isinstance(destination, UReg) and destination.index != RZ:
        scalar = w.x.scalar(w.x.first_active(value))
        w.operands.write_word(KEY_UNIFORM + destination.index, Value("u32", scalar), None)


@role("warpsync")
def warpsync(w: RegionWriter, item: Bound) -> None:
    """WARPSYNC: all lanes of the mask must be in this split, else wait for them."""
    masks = [o for o in item.inst.operands if isinstance(o, Reg | UReg | Imm)]
    need = _scalar_operand(w, masks[0]) if masks else "-1"
    if w.tells("warpsync"):
        w.store_u32(at.WARP_ARGS, need)
        own = w.x.broadcast("u32", need)  # lanes may name different masks
        if masks and isinstance(masks[0], Reg) and masks[0].index != RZ:
            own = w.registers.read_bits(masks[0].index)
        w.line(f"store <32 x i32> {own.ref}, ptr {w.field(at.WARP_SCRATCH)}, align 64")
        w.tell_sync(w.lanes_mask())
    apart = "EXCLUSIVE" in item.inst.modifiers or "COLLECTIVE" in item.inst.modifiers
    if apart and masks and isinstance(masks[0], Reg):
        _exclusive(w, w.operands.bits_word(masks[0], 0, False))
        return
    w.registers.flush()
    w.terminated = True
    follow = w.next_block()
    go, wait = w.module.label("synced"), w.module.label("unsynced")
    w.line(f"br i1 {_missing(w, need)}, label %{wait}, label %{go}")
    w.module.start(wait)
    w.store_u32(at.WARP_ARGS, need)
    w.leave(follow, w.mask, at.EVENT_WARPSYNC)
    w.module.start(go)
    w.goto(follow)


def _exclusive(w: RegionWriter, own: Value) -> None:
    """WARPSYNC.EXCLUSIVE, .COLLECTIVE: lanes that name one mask go on together, without others."""
    w.registers.flush()
    w.terminated = True
    follow = w.next_block()
    remaining = at.WARP_ARGS + 8
    masks = w.field(at.WARP_SCRATCH)
    w.line(f"store <32 x i32> {own.ref}, ptr {masks}, align 64")
    w.store_u32(remaining, w.mask)
    w.module.helper("llvm.cttz.i32", "declare i32 @llvm.cttz.i32(i32, i1)")
    head, more, last = (w.module.label(s) for s in ("groups", "more", "last"))
    w.line(f"br label %{head}")
    w.module.start(head)
    rest = w.load_u32(remaining)
    lane = w.emit(f"call i32 @llvm.cttz.i32(i32 {rest}, i1 true)")
    place = w.emit(f"getelementptr i32, ptr {masks}, i32 {lane}")
    need = w.emit(f"load i32, ptr {place}, align 4")
    same = w.x.ballot_scalar(w.x.icmp("eq", own, w.x.broadcast("u32", need)))
    group = w.emit(f"and i32 {same}, {rest}")
    left = w.emit(f"xor i32 {rest}, {group}")
    w.store_u32(remaining, left)
    w.line(f"br i1 {w.emit(f'icmp eq i32 {left}, 0')}, label %{last}, label %{more}")
    w.module.start(more)
    w.park(follow, group)
    w.line(f"br label %{head}")
    w.module.start(last)
    absent = _not_ended(w, w.emit(f"and i32 {need}, {w.emit(f'xor i32 {w.mask}, -1')}"))
    go, wait = w.module.label("synced"), w.module.label("unsynced")
    w.line(f"br i1 {w.emit(f'icmp ne i32 {absent}, 0')}, label %{wait}, label %{go}")
    w.module.start(wait)
    w.store_u32(at.WARP_ARGS, need)
    w.leave(follow, group, at.EVENT_WARPSYNC)
    w.module.start(go)
    w.goto(follow, group)


@role("yield", "sleep")
def yield_(w: RegionWriter, item: Bound) -> None:
    """YIELD and NANOSLEEP: other splits of the warp first; spinning warps yield sooner."""
    w.registers.flush()
    w.terminated = True
    follow = w.next_block()
    w.spend_fuel(200 if item.op.role == "yield" else 2000)
    yielded = w.load_u32(at.WARP_YIELDED)
    w.store_u32(at.WARP_YIELDED, w.emit(f"or i32 {yielded}, {w.mask}"))
    others = w.emit(f"icmp ne i32 {w.load_u32(at.WARP_SPLITS)}, 0")
    rotate, stay = w.module.label("rotate"), w.module.label("stay")
    w.line(f"br i1 {others}, label %{rotate}, label %{stay}")
    w.module.start(rotate)
    w.leave(follow, w.mask, at.EVENT_YIELD)
    w.module.start(stay)
    w.goto(follow)


@role("nop", "fence")
def nop(w: RegionWriter, item: Bound) -> None:
    """Nothing to do: execution is sequentially consistent."""


@role("bar")
def bar(w: RegionWriter, item: Bound) -> None:
    """BAR: arrive at a named barrier of the block; the runner counts."""
    modifiers = item.inst.modifiers
    values = [o for o in item.inst.operands if isinstance(o, Reg | UReg | Imm)]
    predicates = [o for o in item.inst.operands if isinstance(o, Pred | UPred)]
    number = _scalar_operand(w, values[0]) if values else "0"
    threads = _scalar_operand(w, values[1]) if len(values) > 1 else "0"
    kind = at.BARRIER_ARRIVE if "ARV" in modifiers else at.BARRIER_SYNC
    ballot = "0"
    if "RED" in modifiers:
        kind = {"POPC": at.BARRIER_POPC, "AND": at.BARRIER_AND, "OR": at.BARRIER_OR}[
            next(m for m in modifiers if m in ("POPC", "AND", "OR"))
        ]
        value = w.operands.predicate(predicates[-1], False) if predicates else w.x.true()
        ballot = w.x.ballot_scalar(value)
    leave_guarded(w, at.EVENT_BARRIER, (number, threads, str(kind), ballot))


def leave_guarded(w: RegionWriter, event: int, arguments: tuple[str, ...] = ()) -> None:
    """Ends the region with an event of the executing lanes; the others go on behind."""
    w.registers.flush()
    w.terminated = True
    follow = w.next_block()
    lanes = w.mask
    if w.tells("bar") and arguments:
        for i, value_ref in enumerate(arguments):
            w.store_u32(at.WARP_ARGS + 4 * i, value_ref)
        w.tell_sync(w.lanes_mask())
    if w.guard is not None:
        lanes = w.lanes_mask()
        arrive, skip = w.module.label("arrive"), w.module.label("skip")
        w.line(f"br i1 {w.emit(f'icmp ne i32 {lanes}, 0')}, label %{arrive}, label %{skip}")
        w.module.start(skip)
        w.goto(follow)
        w.module.start(arrive)
        rest = w.emit(f"xor i32 {lanes}, {w.mask}")
        some, go = w.module.label("others"), w.module.label("go")
        w.line(f"br i1 {w.emit(f'icmp ne i32 {rest}, 0')}, label %{some}, label %{go}")
        w.module.start(some)
        w.park(follow, rest)
        w.line(f"br label %{go}")
        w.module.start(go)
    for i, value_ref in enumerate(arguments):
        w.store_u32(at.WARP_ARGS + 4 * i, value_ref)
    w.leave(follow, lanes, event)


@role("b2r")
def b2r(w: RegionWriter, item: Bound) -> None:
    """B2R.RESULT: count of the last BAR.RED and its truth."""
    word = w.load_u32(at.WARP_BAR_RESULT)
    value = w.x.broadcast("u32", word)
    for operand in item.inst.operands:
        if isinstance(operand, Reg) and operand.index != RZ:
            w.operands.write_word(operand.index, value, w.guard)
        elif isinstance(operand, Pred) and operand.index != PT:
            truth = w.x.icmp("ne", value, w.x.u32(0))
            w.operands.write_word(256 + operand.index, truth, w.guard)


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
    executed = w.counter("branch_uniform", w.index, w.index + 1)
    w.count(executed, "1")
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
