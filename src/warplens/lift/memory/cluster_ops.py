"""Code for clusters: stores and reductions that report to an mbarrier of any block."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.decode.binding import BindingError, Bound, access_bytes
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory.addresses import memory_operand, put_scratch
from warplens.lift.memory.atomic_ops import atomic_operation
from warplens.lift.memory.checks import check_lanes
from warplens.lift.memory.mbarrier_ops import report
from warplens.lift.memory.sites import call_helper, cluster_helper, new_site, use_runtime
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import atomic_ir, move_ir, shared_ir
from warplens.lift.runtime.access_ir import ADDRESSES, VALUES
from warplens.sass.model import Mem, Reg

_MOST_BLOCKS = 16  # of a cluster


def _ends(w: RegionWriter, item: Bound) -> tuple[Value, Value, Reg]:
    """Data address, mbarrier's address and first source register of [R.64], R."""
    mem = memory_operand(item)
    sources = [o for o in item.inst.operands if isinstance(o, Reg)]
    if mem.base is None or mem.uniform is not None or not sources:
        raise BindingError(f"operands of {item.inst.mnemonic}")
    data, barrier = (w.operands.bits_word(mem.base, k, False) for k in range(2))
    return w.x.add(data, w.x.u32(mem.offset)), barrier, sources[0]


def _report_bytes(w: RegionWriter, barrier: Value, size: int) -> None:
    put_scratch(w, ADDRESSES, barrier)
    put_scratch(w, VALUES, w.x.u32(0))
    put_scratch(w, VALUES + 1, w.x.u32(-size & 0xFFFFFFFF))
    report(w, "words", w.lanes_mask(), True)


def _checked(w: RegionWriter, data: Value, kind: int, size: int, site: int, mask: str) -> str:
    """The lanes that may access the data, as an observer says."""
    if not w.watch.checks:
        return mask
    return check_lanes(
        w, "generic", kind, size, (data, w.x.u32(at.SHARED_WINDOW_HIGH), 0), site, mask
    )


@role("store_async")
def store_async(w: RegionWriter, item: Bound) -> None:
    """STAS [data, barrier], R: a store to any block's shared memory, then its bytes arrive."""
    size = access_bytes(item.inst)
    data, barrier, source = _ends(w, item)
    put_scratch(w, ADDRESSES, data)
    for k in range(size // 4):
        put_scratch(w, VALUES + k, w.operands.bits_word(source, k, False))
    own = f"wl.shared.store.{size}"
    use_runtime(
        w, (f"wl.mv.store.{size}", move_ir.move_store(size)),
        (own, shared_ir.shared_move("store", size, w.observe)),
    )  # fmt: skip
    name = cluster_helper(w, own, size, shared_ir.shared_move("store", size))
    site, slot = new_site(w, "cluster", size, "store")
    mask = _checked(w, data, at.ACCESS_WRITE, size, site, w.lanes_mask())
    call_helper(w, name, site, mask, 0, slot)
    _report_bytes(w, barrier, size)


@role("reduce_async")
def reduce_async(w: RegionWriter, item: Bound) -> None:
    """REDAS.OP [data, barrier], R: a reduction in any block's shared memory, likewise."""
    operation, kind, bits = atomic_operation(item)
    data, barrier, source = _ends(w, item)
    put_scratch(w, ADDRESSES, data)
    for k in range(bits // 32):
        put_scratch(w, VALUES + k, w.operands.bits_word(source, k, False))
    own = f"wl.shared.{atomic_ir.atomic_stem(operation, kind, bits, False)}"
    text = atomic_ir.atomic("shared", operation, kind, bits, w.observe, False)
    use_runtime(w, (own, text))
    quiet = atomic_ir.atomic("shared", operation, kind, bits, result=False)
    name = cluster_helper(w, own, bits // 8, quiet)
    site, slot = new_site(w, "cluster", bits // 8, "atomic")
    mask = _checked(w, data, at.ACCESS_ATOMIC, bits // 8, site, w.lanes_mask())
    call_helper(w, name, site, mask, 0, slot)
    _report_bytes(w, barrier, bits // 8)


@role("work_request")
def work_request(w: RegionWriter, item: Bound) -> None:
    """UGETNEXTWORKID [answer], [barrier]: 16 bytes that say no, and their arrival.

    The answer of a request that comes too late; BROADCAST gives it to all blocks of the cluster.
    """
    x = w.x
    places = [o.uniform for o in item.inst.operands if isinstance(o, Mem) and o.base is None]
    if len(places) != 2 or any(place is None for place in places):
        raise BindingError(f"operands of {item.inst.mnemonic}")
    answer, barrier = (w.operands.bits_word(place, 0, False) for place in places if place)
    own = "wl.shared.store.16"
    use_runtime(
        w, ("wl.mv.store.16", move_ir.move_store(16)),
        (own, shared_ir.shared_move("store", 16, w.observe)),
    )  # fmt: skip
    name = cluster_helper(w, own, 16, shared_ir.shared_move("store", 16)) if w.clusters else own
    mask = w.lanes_mask()
    lowest = w.emit(f"and i32 {mask}, {w.emit(f'sub i32 0, {mask}')}")

    def answered(data: Value, told: Value, lanes: str) -> None:
        for k in range(4):
            put_scratch(w, VALUES + k, x.u32(0))
        put_scratch(w, ADDRESSES, data)
        site, slot = new_site(w, "cluster" if w.clusters else "shared", 16, "store")
        lanes = _checked(w, data, at.ACCESS_WRITE, 16, site, lanes)
        call_helper(w, name, site, lanes, 0, slot)
        put_scratch(w, ADDRESSES, told)
        put_scratch(w, VALUES, x.u32(0))
        put_scratch(w, VALUES + 1, x.u32(-16 & 0xFFFFFFFF))
        report(w, "words", lanes, w.clusters)

    if "BROADCAST" not in item.inst.modifiers or not w.clusters:
        answered(answer, barrier, lowest)
        return
    blocks = w.emit(f"trunc i64 {w.env(at.ENV_CLUSTER_BLOCKS)} to i32")
    low = x.u32((1 << 24) - 1)
    for rank in range(_MOST_BLOCKS):
        is_there = w.emit(f"icmp ugt i32 {blocks}, {rank}")
        lanes = w.emit(f"select i1 {is_there}, i32 {lowest}, i32 0")
        top = x.u32(rank << 24)
        answered(x.or_(x.and_(answer, low), top), x.or_(x.and_(barrier, low), top), lanes)
