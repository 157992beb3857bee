"""Code for mbarriers (SYNCS, ATOMS.ARRIVE, ARRIVES)."""

from __future__ import annotations

import re

from warplens.isa.tensor_memory import has_tensor_memory
from warplens.lift import layout as at
from warplens.lift.decode.binding import KEY_PREDICATE, BindingError, Bound
from warplens.lift.decode.waiting import suspends
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory.addresses import (
    address_of,
    get_scratch,
    memory_operand,
    own_shared,
    put_scratch,
    scratch_place,
)
from warplens.lift.memory.checks import check_lanes
from warplens.lift.memory.sites import (
    call_helper,
    call_tensor_memory,
    cluster_helper,
    new_site,
    use_runtime,
)
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import move_ir, shared_ir
from warplens.lift.runtime.access_ir import ADDRESSES, RESULTS, VALUES
from warplens.lift.runtime.mbarrier_ir import arrive, waits
from warplens.lift.vector_ir import V
from warplens.sass.model import PT, RZ, Mem, Pred, Reg, UPred, UReg

_ARRIVALS = re.compile(r"A([01R])T([01RX])")
_COPIES = frozenset({"bulk_copy", "bulk_reduce", "tensor_load"})
_SPINS = 200  # fuel that a look at a barrier costs: the warp may be waiting for another


def _get(w: RegionWriter, slot: int) -> Value:
    return Value("u32", get_scratch(w, slot))


def _shared_place(w: RegionWriter, mem: Mem, anywhere: bool = False) -> None:
    """Puts an address into scratch: the offset, or with `anywhere` the cluster's address."""
    low, _, offset = address_of(w, mem, False)
    place = w.x.add(low, w.x.u32(offset))
    put_scratch(w, ADDRESSES, place if anywhere else own_shared(w, place))


def _placed(w: RegionWriter) -> tuple[Value, None, int]:
    """The address in scratch."""
    return _get(w, ADDRESSES), None, 0


def report(w: RegionWriter, kind: str, mask: str, anywhere: bool = False) -> None:
    """Arrivals and bytes at an mbarrier, with `anywhere` of any block of the cluster.

    Address, counts and bytes stand in scratch.
    """
    if w.watch.accesses:
        w.tell_access(mask, at.SPACE_MBARRIER, at.ACCESS_ATOMIC, 8)
    name, text = arrive(kind, w.observe)
    use_runtime(w, (name, text))
    if anywhere:
        name = cluster_helper(w, name, 8, arrive(kind, False)[1])
    site, slot = new_site(w, "cluster" if anywhere else "shared", 8, "atomic")
    item = w.bound[w.index]
    is_copy = item is not None and item.op.role in _COPIES  # observers are told of it as a whole
    if not is_copy and anywhere and w.watch.checks:
        place = _get(w, ADDRESSES), w.x.u32(at.SHARED_WINDOW_HIGH), 0
        mask = check_lanes(w, "generic", at.ACCESS_ATOMIC, 8, place, site, mask)
    elif not is_copy and not anywhere:
        mask = check_lanes(w, "shared", at.ACCESS_ATOMIC, 8, _placed(w), site, mask)
    call_helper(w, name, site, mask, 0, slot)


def _write_pair(w: RegionWriter, operand: Reg, low: Value, high: Value) -> None:
    if operand.index != RZ:
        w.operands.write_word(operand.index, low, w.guard)
        w.operands.write_word(operand.index + 1, high, w.guard)


@role("mbarrier_init")
def mbarrier_init(w: RegionWriter, item: Bound) -> None:
    """SYNCS.EXCH.64 URZ, [address], UR: the word's first value."""
    operands = item.inst.operands
    first, source = operands[0], operands[-1]
    if isinstance(first, Reg | UReg) and first.index != RZ:
        raise BindingError("SYNCS.EXCH with a result")
    for k in range(2):
        put_scratch(w, VALUES + k, w.operands.bits_word(source, k, False))
    _shared_place(w, memory_operand(item))
    use_runtime(
        w, ("wl.mv.store.8", move_ir.move_store(8)),
        ("wl.shared.store.8", shared_ir.shared_move("store", 8, w.observe)),
    )  # fmt: skip
    site, slot = new_site(w, "shared", 8, "store")
    mask = w.lanes_mask()
    lowest = w.emit(f"and i32 {mask}, {w.emit(f'sub i32 0, {mask}')}")
    lowest = check_lanes(w, "shared", at.ACCESS_WRITE, 8, _placed(w), site, lowest)
    if w.watch.accesses:
        w.tell_access(lowest, at.SPACE_MBARRIER, at.ACCESS_WRITE, 8)
    call_helper(w, "wl.shared.store.8", site, lowest, 0, slot)


@role("mbarrier_check")
def mbarrier_check(w: RegionWriter, item: Bound) -> None:
    """SYNCS.PHASECHK P, [address], R: whether the phase of parity R[31] has completed."""
    parity = item.inst.operands[-1]
    _shared_place(w, memory_operand(item))
    use_runtime(
        w, ("wl.mv.load.8", move_ir.move_load(8)),
        ("wl.shared.load.8", shared_ir.shared_move("load", 8, w.observe)),
    )  # fmt: skip
    site, slot = new_site(w, "shared", 8, "load")
    mask = check_lanes(w, "shared", at.ACCESS_READ, 8, _placed(w), site, w.lanes_mask())
    if w.watch.accesses:
        w.tell_access(mask, at.SPACE_MBARRIER, at.ACCESS_READ, 8)
    call_helper(w, "wl.shared.load.8", site, mask, 0, slot)
    if not suspends(item):
        w.spend_fuel(_SPINS)
    x = w.x
    differ = x.xor(_get(w, RESULTS + 1), w.operands.bits_word(parity, 0, False))
    passed = x.icmp("slt", differ, x.u32(0))
    if has_tensor_memory(w.kernel):
        lanes = w.emit(f"and i32 {mask}, {x.ballot_scalar(passed)}")
        call_tensor_memory(w, at.TM_LOOK, lanes)
    for operand in item.inst.operands:
        if isinstance(operand, Pred) and operand.index != PT:
            w.operands.write_word(KEY_PREDICATE + operand.index, passed, w.guard)


@role("mbarrier_wait")
def mbarrier_wait(w: RegionWriter, item: Bound) -> None:
    """Before SYNCS.PHASECHK.TRYWAIT: the split is put aside while no lane's phase has completed.

    So does the hardware, for a limited time. The instruction executes once, when the wait is over.
    """
    uniform = isinstance(item.inst.guard, UPred)
    lanes = w.mask
    if item.inst.guard is not None and not item.inst.is_unguarded:
        guard = w.operands.predicate(item.inst.guard, uniform)
        if uniform:
            lanes = w.emit(f"select i1 {guard.ref}, i32 {w.mask}, i32 0")
        else:
            lanes = w.emit(f"and i32 {w.x.ballot_scalar(guard)}, {w.mask}")
    put_scratch(w, VALUES, w.operands.bits_word(item.inst.operands[-1], 0, False))
    _shared_place(w, memory_operand(item))
    use_runtime(w, waits())
    aside = w.emit(f"call i1 @wl.mbarrier.waits(ptr %w, ptr %env, i32 {lanes})")
    wait, go = w.module.label("suspended"), w.module.label("passed")
    w.line(f"br i1 {aside}, label %{wait}, label %{go}, !prof !2")
    w.module.start(wait)
    w.leave(w.block.index, w.mask, at.EVENT_WAIT, w.block.dirty_in)
    w.module.start(go)


@role("mbarrier_arrive")
def mbarrier_arrive(w: RegionWriter, item: Bound) -> None:
    """SYNCS.ARRIVE.TRANS64: arrivals and bytes as the modifier says, R being the operand.

    A none, one or R arrivals; T expects no, one or R bytes, or (X) has received R. Without a
    modifier: one arrival that expects R bytes. OPTOUT takes the lane out of later phases. TMASK
    gives the mask of lanes at the same word and the word before all of them.
    """
    x, modifiers = w.x, item.inst.modifiers
    match = next((m for name in modifiers if (m := _ARRIVALS.fullmatch(name))), None)
    arrivals, expects = (match[1], match[2]) if match else ("1", "R")
    word = w.operands.bits_word(item.inst.operands[-1], 0, False)
    amounts = {"0": x.u32(0), "1": x.u32(1), "R": word, "X": x.sub(x.u32(0), word)}
    put_scratch(w, VALUES, amounts[arrivals])
    put_scratch(w, VALUES + 1, amounts[expects])
    _shared_place(w, memory_operand(item), w.clusters)
    places = _get(w, ADDRESSES)
    kind = "words.drop" if "OPTOUT" in modifiers else "words"
    report(w, kind, w.lanes_mask(), w.clusters)
    low, high = _get(w, RESULTS), _get(w, RESULTS + 1)
    if "TMASK" in modifiers:
        low, first = _same_place(w, places)
        high = x.gather_lane(high, first)
    destination = item.inst.operands[0]
    if isinstance(destination, Reg):
        _write_pair(w, destination, low, high)


def _same_place(w: RegionWriter, places: Value) -> tuple[Value, Value]:
    """Per lane: the executing lanes with the same address, and the lowest of them."""
    x = w.x
    mask = x.u32(0)
    executing = x.active()
    for lane in range(32):
        other = x.gather_lane(places, x.u32(lane))
        present = x.gather_lane(x.select(executing, x.u32(1), x.u32(0)), x.u32(lane))
        same = x.pand(x.icmp("eq", places, other), x.icmp("ne", present, x.u32(0)))
        mask = x.or_(mask, x.select(same, x.u32(1 << lane), x.u32(0)))
    lowest = x.and_(mask, x.sub(x.u32(0), mask))
    return mask, x.sub(x.u32(31), x.count_leading_zeros(lowest))


@role("mbarrier_count")
def mbarrier_count(w: RegionWriter, item: Bound) -> None:
    """ATOMS.ARRIVE.64: one arrival at a barrier of sm_80's format; returns the old word."""
    put_scratch(w, VALUES, w.x.u32(1))
    put_scratch(w, VALUES + 1, w.x.u32(0))
    _shared_place(w, memory_operand(item))
    report(w, "counts", w.lanes_mask())
    destination = item.inst.operands[0]
    if isinstance(destination, Reg):
        _write_pair(w, destination, _get(w, RESULTS), _get(w, RESULTS + 1))


@role("mbarrier_copied")
def mbarrier_copied(w: RegionWriter, item: Bound) -> None:
    """ARRIVES.LDGSTSBAR: arrives when the lane's asynchronous copies are done: they are."""
    x, modifiers = w.x, item.inst.modifiers
    is_bytes = "TRANSCNT" in modifiers
    put_scratch(w, VALUES, x.u32(0 if is_bytes else 1))
    put_scratch(w, VALUES + 1, x.u32(0xFFFFFFFF if is_bytes else 0))
    _shared_place(w, memory_operand(item))
    report(w, "words" if w.kernel.sm >= 90 else "counts", w.lanes_mask())


@role("rpcmov")
def rpcmov(w: RegionWriter, item: Bound) -> None:
    """RPCMOV between a register and the half of the return-address register, lane by lane."""
    destination, source = item.inst.operands
    names = [getattr(o, "name", "") for o in (destination, source)]
    half = next((n for n in names if n.startswith("Rpc.")), "")
    place = scratch_place(w, 23 if half == "Rpc.HI" else 22)
    if names[0]:
        value = w.operands.bits_word(source, 0, False)
        w.store_vector(value.ref, place, w.executing())
    elif isinstance(destination, Reg):
        value = w.x.emit("u32", f"load {V}, ptr {place}, align 64")
        if destination.index != RZ:
            w.operands.write_word(destination.index, value, w.guard)
