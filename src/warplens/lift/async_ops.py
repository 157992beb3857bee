"""Code for LDGSTS: asynchronous copies from global to shared memory, done at once here."""

from __future__ import annotations

from warplens.execute import layout as at
from warplens.lift import access_ir
from warplens.lift.access_ir import ADDRESSES, RESULTS, VALUES
from warplens.lift.binding import BindingError, Bound, access_bytes
from warplens.lift.lifter import RegionWriter, role
from warplens.lift.memory_ops import address_of, call_helper, new_site, use_runtime
from warplens.lift.runtime_ir import V
from warplens.sass.model import Mem, Pred, UPred


def _slot(w: RegionWriter, slot: int) -> str:
    return w.field(at.WARP_SCRATCH + 128 * slot)


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
    assert high is not None
    use_runtime(
        w,
        (f"wl.mv.load.{size}", access_ir.move_load(size)),
        (f"wl.mv.store.{size}", access_ir.move_store(size)),
        (f"wl.global.copy.{size}", access_ir.global_move("load", size, w.observe).replace(
            f"@wl.global.load.{size}(", f"@wl.global.copy.{size}(")),
        (f"wl.shared.store.{size}", access_ir.shared_move("store", size, w.observe)),
    )  # fmt: skip
    for k in range(words):
        w.line(f"store {V} zeroinitializer, ptr {_slot(w, RESULTS + k)}, align 64")
    w.line(f"store {V} {low.ref}, ptr {_slot(w, ADDRESSES)}, align 64")
    w.line(f"store {V} {high.ref}, ptr {_slot(w, ADDRESSES + 1)}, align 64")
    site, slot = new_site(w, "global", size)
    call_helper(w, f"wl.global.copy.{size}", site, reading, offset, slot)
    for k in range(words):
        word = w.emit(f"load {V}, ptr {_slot(w, RESULTS + k)}, align 64")
        w.line(f"store {V} {word}, ptr {_slot(w, VALUES + k)}, align 64")
    target = w.x.add(shared_low, w.x.u32(shared_offset))
    w.line(f"store {V} {target.ref}, ptr {_slot(w, ADDRESSES)}, align 64")
    site, slot = new_site(w, "shared", size)
    call_helper(w, f"wl.shared.store.{size}", site, lanes, 0, slot)
