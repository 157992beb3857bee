"""Code for LDGSTS: asynchronous copies from global to shared memory, done at once here."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting import copies_ir
from warplens.lift.decode.binding import BindingError, Bound, access_bytes
from warplens.lift.engines.llvm_lanes import LlvmLanes, Value
from warplens.lift.memory.addresses import address_of, own_shared
from warplens.lift.memory.checks import check_lanes
from warplens.lift.memory.sites import call_helper, new_site, use_runtime
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import global_ir, move_ir, shared_ir
from warplens.lift.runtime.access_ir import ADDRESSES, RESULTS, VALUES
from warplens.lift.vector_ir import V
from warplens.sass.model import Mem, Pred, UPred


def _slot(w: RegionWriter, slot: int) -> str:
    return w.field(at.WARP_SCRATCH + 128 * slot)


def _first_bytes(w: RegionWriter, word: Value, kept: Value, k: int) -> Value:
    """Word `k` of a copy of which only the first `kept` bytes count."""
    x = w.x
    here = x.smin(x.smax(x.sub(kept, x.u32(4 * k)), x.u32(0)), x.u32(4))
    shift = x.and_(x.sub(x.u32(32), x.shl(here, x.u32(3))), x.u32(31))
    mask = x.lshr(x.u32(0xFFFFFFFF), shift)
    return x.select(x.icmp("eq", here, x.u32(0)), x.u32(0), x.and_(word, mask))


def _split_address(x: LlvmLanes, low: Value, high: Value, offset: int,
                   size: int) -> tuple[Value, Value, int, Value]:  # fmt: skip
    """The row that a copy with zeros reads, and how many of its bytes.

    The low bits of the address, its offset included, say how many bytes at the end are zero.
    """
    if offset % size:
        sum_ = x.add(x.pair(low, high), x.u64(offset & 0xFFFFFFFFFFFFFFFF))
        low, high, offset = x.low32(sum_), x.high32(sum_), 0
    kept = x.sub(x.u32(size), x.and_(low, x.u32(size - 1)))
    return x.and_(low, x.u32(-size & 0xFFFFFFFF)), high, offset, kept


@role("copy_async")
def copy_async(w: RegionWriter, item: Bound) -> None:
    """LDGSTS [shared], [global]: 4, 8 or 16 bytes a lane; a false predicate copies zeros."""
    places = [o for o in item.inst.operands if isinstance(o, Mem)]
    if len(places) != 2:
        raise BindingError("LDGSTS without two memory operands")
    size = access_bytes(item.inst)
    words = size // 4
    if words == 0:
        raise BindingError("LDGSTS narrower than a word")
    predicates = [o for o in item.inst.operands if isinstance(o, Pred | UPred)]
    lanes = w.lanes_mask()
    reading = lanes
    if predicates:
        wanted = w.x.ballot_scalar(w.operands.predicate(predicates[0], False))
        reading = w.emit(f"and i32 {lanes}, {wanted}")
    shared_low, _, shared_offset = address_of(w, places[0], False)
    low, high, offset = address_of(w, places[1], True)
    if high is None:
        raise BindingError("an address of 32 bits in global memory")
    kept = None
    if "ZFILL" in item.inst.modifiers:
        low, high, offset, kept = _split_address(w.x, low, high, offset, size)
    use_runtime(
        w,
        (f"wl.mv.load.{size}", move_ir.move_load(size)),
        (f"wl.mv.store.{size}", move_ir.move_store(size)),
        (f"wl.global.copy.{size}", global_ir.global_move("load", size, w.observe).replace(
            f"@wl.global.load.{size}(", f"@wl.global.copy.{size}(")),
        (f"wl.shared.store.{size}", shared_ir.shared_move("store", size, w.observe)),
    )  # fmt: skip
    for k in range(words):
        w.line(f"store {V} zeroinitializer, ptr {_slot(w, RESULTS + k)}, align 64")
    w.line(f"store {V} {low.ref}, ptr {_slot(w, ADDRESSES)}, align 64")
    w.line(f"store {V} {high.ref}, ptr {_slot(w, ADDRESSES + 1)}, align 64")
    op = "around" if "BYPASS" in item.inst.modifiers else ""
    site, from_slot = new_site(w, "global", size, op)
    reading = check_lanes(w, "global", at.ACCESS_READ, size, (low, high, offset), site, reading)
    call_helper(w, f"wl.global.copy.{size}", site, reading, offset, from_slot)
    for k in range(words):
        word = w.emit(f"load {V}, ptr {_slot(w, RESULTS + k)}, align 64")
        if kept is not None:
            word = _first_bytes(w, Value("u32", word), kept, k).ref
        w.line(f"store {V} {word}, ptr {_slot(w, VALUES + k)}, align 64")
    target = w.x.add(own_shared(w, shared_low), w.x.u32(shared_offset))
    w.line(f"store {V} {target.ref}, ptr {_slot(w, ADDRESSES)}, align 64")
    site, slot = new_site(w, "shared", size, op)
    lanes = check_lanes(w, "shared", at.ACCESS_WRITE, size, (target, None, 0), site, lanes)
    call_helper(w, f"wl.shared.store.{size}", site, lanes, 0, slot)
    if op:
        w.module.helper(copies_ir.NAME, copies_ir.count_around())
        source = w.x.add(low, w.x.u32(offset & 0xFFFFFFFF)).ref
        fills = int(kept is not None)
        w.line(
            f"call void @{copies_ir.NAME}(ptr %env, {V} {target.ref}, {V} {source}, "
            f"i32 {lanes}, i32 {reading}, i32 {fills}, i32 {slot}, i32 {from_slot})"
        )
