"""Code for convergence barriers, WARPSYNC and YIELD: how lanes of a warp meet again."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.control.participants import (
    convergence_barrier,
    extra_predicate,
    missing_lanes,
    not_ended,
    scalar_operand,
)
from warplens.lift.control.repeats import count_group, count_meeting
from warplens.lift.decode.binding import KEY_UNIFORM, BindingError, Bound
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.sass.model import RZ, Barrier, Const, Imm, Reg, UReg


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
    if w.layout.has_parts:
        place = _barrier_place(w, convergence_barrier(item))
        members = w.emit(f"load i32, ptr {place}, align 4")
        w.line(f"store i32 {w.emit(f'or i32 {members}, {lanes}')}, ptr {place}, align 4")
        return
    value = w.x.broadcast("u32", lanes)
    w.store_vector(value.ref, _barrier_place(w, convergence_barrier(item)), w.vector_mask(lanes))


@role("break")
def break_(w: RegionWriter, item: Bound) -> None:
    """BREAK: the executing lanes no longer take part in the barrier."""
    extra_predicate(w, item)
    n = convergence_barrier(item)
    lanes = w.lanes_mask()
    if w.layout.has_parts:
        _break_of_warp(w, n, lanes)
        return
    value = w.x.broadcast("u32", _barrier_of_split(w, n, lanes))
    place = _barrier_place(w, n)
    old = Value("u32", w.emit(f"load <32 x i32>, ptr {place}, align 64"))
    keep = w.x.broadcast("u32", w.emit(f"xor i32 {lanes}, -1"))
    some = w.x.icmp("ne", w.x.broadcast("u32", lanes), w.x.u32(0))
    same = w.x.pand(w.x.icmp("eq", old, value), some)
    new = w.x.select(same, w.x.and_(old, keep), old)
    w.line(f"store <32 x i32> {new.ref}, ptr {place}, align 64")


def _break_of_warp(w: RegionWriter, n: int, lanes: str) -> None:
    """BREAK of a barrier whose mask is the warp's; those that wait there may go on now."""
    w.registers.flush()
    w.terminated = True
    follow = w.next_block()
    place = _barrier_place(w, n)
    before = w.emit(f"load i32, ptr {place}, align 4")
    members = w.emit(f"and i32 {before}, {w.emit(f'xor i32 {lanes}, -1')}")
    w.line(f"store i32 {members}, ptr {place}, align 4")
    left = w.emit(f"icmp ne i32 {lanes}, 0")
    here = w.emit(f"icmp eq i32 {w.emit(f'and i32 {members}, {w.mask}')}, 0")
    others = w.emit(f"icmp ne i32 {w.load_u32(at.WARP_SPLITS)}, 0")
    ask = w.emit(f"and i1 {others}, {w.emit(f'and i1 {left}, {here}')}")
    look, go = w.module.label("complete"), w.module.label("broken")
    w.line(f"br i1 {ask}, label %{look}, label %{go}")
    w.module.start(look)
    w.store_u32(at.WARP_ARGS, str(n))
    w.leave(follow, w.mask, at.EVENT_BREAK)
    w.module.start(go)
    w.goto(follow)


@role("bsync")
def bsync(w: RegionWriter, item: Bound) -> None:
    """BSYNC: go on if all participants are here, else the runner keeps the split waiting."""
    if w.guard is not None:
        raise BindingError("guarded BSYNC")
    n = convergence_barrier(item)
    w.registers.flush()
    w.terminated = True
    follow = w.next_block()
    if w.layout.has_parts:
        w.entries.add(w.block.index)  # lanes that wait may have to execute it again
        need = w.emit(f"load i32, ptr {_barrier_place(w, n)}, align 4")
    else:
        need = _barrier_of_split(w, n, w.mask)
    others = not_ended(w, w.emit(f"and i32 {need}, {w.emit(f'xor i32 {w.mask}, -1')}"))
    alone, wait = w.module.label("alone"), w.module.label("wait")
    nobody = w.emit(f"icmp eq i32 {others}, 0")
    w.line(f"br i1 {nobody}, label %{alone}, label %{wait}")
    w.module.start(alone)
    if w.layout.has_parts:
        w.line(f"store i32 0, ptr {_barrier_place(w, n)}, align 4")
        _pass_turn(w, need)
    w.goto(follow)
    w.module.start(wait)
    w.store_u32(at.WARP_ARGS, str(n))
    w.leave(follow, w.mask, at.EVENT_BSYNC)


def _pass_turn(w: RegionWriter, need: str) -> None:
    """Another lane has the next turn if it was one of those that go on (`part_table.advance`)."""
    w.module.helper("llvm.cttz.i32", "declare i32 @llvm.cttz.i32(i32, i1)")
    w.module.helper("llvm.fshr.i32", "declare i32 @llvm.fshr.i32(i32, i32, i32)")
    lane = w.load_u32(at.PARTS_NEXT)
    gone = w.emit(f"or i32 {w.mask}, {w.load_u32(at.WARP_EXITED)}")
    others = w.emit(f"xor i32 {gone}, -1")
    had = w.emit(f"trunc i32 {w.emit(f'lshr i32 {gone}, {lane}')} to i1")
    some = w.emit(f"icmp ne i32 {others}, 0")
    own = w.emit(f"icmp ne i32 {w.emit(f'and i32 {need}, {w.mask}')}, 0")
    passes = w.emit(f"and i1 {w.emit(f'and i1 {had}, {some}')}, {own}")
    start = w.emit(f"add i32 {lane}, 1")
    turned = w.emit(f"call i32 @llvm.fshr.i32(i32 {others}, i32 {others}, i32 {start})")
    steps = w.emit(f"call i32 @llvm.cttz.i32(i32 {turned}, i1 false)")
    after = w.emit(f"and i32 {w.emit(f'add i32 {start}, {steps}')}, 31")
    w.store_u32(at.PARTS_NEXT, w.emit(f"select i1 {passes}, i32 {after}, i32 {lane}"))


@role("bmov")
def bmov(w: RegionWriter, item: Bound) -> None:
    """BMOV between a convergence barrier and a register or another barrier, lane by lane."""
    destination, source = item.inst.operands[0], item.inst.operands[1]
    lanes = w.executing()
    if isinstance(source, Barrier):
        place = _barrier_place(w, source.index)
        value = Value("u32", w.emit(f"load <32 x i32>, ptr {place}, align 64"))
        if "CLEAR" in item.inst.modifiers:
            w.store_vector("zeroinitializer", place, lanes)
    elif isinstance(destination, Barrier):
        value = w.operands.bits_word(source, 0, False)
    else:
        raise BindingError(f"BMOV source {source!r}")
    if isinstance(destination, Barrier):
        w.store_vector(value.ref, _barrier_place(w, destination.index), lanes)
    elif isinstance(destination, Reg) and destination.index != RZ:
        w.operands.write_word(destination.index, value, w.guard)
    elif isinstance(destination, UReg) and destination.index != RZ:
        scalar = w.x.scalar(w.x.first_active(value))
        w.operands.write_word(KEY_UNIFORM + destination.index, Value("u32", scalar), None)


@role("warpsync")
def warpsync(w: RegionWriter, item: Bound) -> None:
    """WARPSYNC: all lanes of the mask must be in this split, else wait for them."""
    masks = [o for o in item.inst.operands if isinstance(o, Reg | UReg | Imm)]
    if w.layout.has_parts:
        _wait_on(w)
    need = scalar_operand(w, masks[0]) if masks else "-1"
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
    w.line(f"br i1 {missing_lanes(w, need)}, label %{wait}, label %{go}")
    w.module.start(wait)
    count_meeting(w, need)
    w.store_u32(at.WARP_ARGS, need)
    w.leave(follow, w.mask, at.EVENT_WARPSYNC)
    w.module.start(go)
    w.goto(follow)


def _wait_on(w: RegionWriter) -> None:
    """Lanes that execute WARPSYNC again, in vain, only are counted: see execute/parts.py."""
    w.entries.add(w.block.index)
    w.registers.flush()
    vain = w.emit(f"load i32, ptr {w.field(at.PARTS_VAIN)}, align 4")
    again, first = w.module.label("again"), w.module.label("first")
    w.line(f"br i1 {w.emit(f'icmp ne i32 {vain}, 0')}, label %{again}, label %{first}")
    w.module.start(again)
    w.leave(w.next_block(), w.mask, at.EVENT_WARPSYNC)
    w.module.start(first)


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
    only = w.emit(f"zext i1 {w.emit(f'icmp eq i32 {group}, {w.mask}')} to i64")
    w.count(w.counter("branch_uniform", w.index, w.index + 1), only)
    w.line(f"br i1 {w.emit(f'icmp eq i32 {left}, 0')}, label %{last}, label %{more}")
    w.module.start(more)
    count_group(w, group, left)
    others = w.emit(f"xor i32 {w.mask}, -1")
    awaited = not_ended(w, w.emit(f"and i32 {need}, {others}"))
    w.park(follow, group, absent=awaited, need=need)
    w.line(f"br label %{head}")
    w.module.start(last)
    absent = not_ended(w, w.emit(f"and i32 {need}, {w.emit(f'xor i32 {w.mask}, -1')}"))
    go, wait = w.module.label("synced"), w.module.label("unsynced")
    w.line(f"br i1 {w.emit(f'icmp ne i32 {absent}, 0')}, label %{wait}, label %{go}")
    w.module.start(wait)
    w.store_u32(at.WARP_ARGS, need)
    w.leave(follow, group, at.EVENT_WARPSYNC)
    w.module.start(go)
    w.goto(follow, group)


def _tell_sleep(w: RegionWriter, item: Bound) -> None:
    """Shows an observer of accesses for how long lanes wish to sleep; `.SYNCS` does not sleep where
    no mbarrier is waited for (validation/data/sleeps_sm90.npz)."""
    times = [o for o in item.inst.operands if isinstance(o, Reg | UReg | Imm | Const)]
    if not times or "SYNCS" in item.inst.modifiers:
        return
    wanted = w.operands.bits_word(times[-1], 0, False)
    w.tell_values(wanted, at.SPACE_SLEEP, int("WARP" in item.inst.modifiers))


@role("yield", "sleep")
def yield_(w: RegionWriter, item: Bound) -> None:
    """YIELD and NANOSLEEP: other splits of the warp first; spinning warps yield sooner."""
    if item.op.role == "sleep" and w.watch.accesses:
        _tell_sleep(w, item)
    w.registers.flush()
    w.terminated = True
    follow = w.next_block()
    w.spend_fuel(200 if item.op.role == "yield" else 2000)
    counts = w.layout.has_parts and item.op.role == "yield"
    alone = -1 if counts else 0  # a turn of a warp that stands at one place counts
    others = w.emit(f"icmp ne i32 {w.load_u32(at.WARP_SPLITS)}, {alone}")
    rotate, stay = w.module.label("rotate"), w.module.label("stay")
    w.line(f"br i1 {others}, label %{rotate}, label %{stay}")
    w.module.start(rotate)
    event = at.EVENT_REST if item.op.role == "yield" else at.EVENT_SLEEP
    w.leave(follow, w.mask, event)
    w.module.start(stay)
    w.goto(follow)
