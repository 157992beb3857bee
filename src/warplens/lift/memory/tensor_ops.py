"""Code for tensor copies (UTMALDG, UTMASTG, UTMAREDG): done at once, by the lowest lane."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.decode.binding import BindingError, Bound
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory.addresses import get_scratch, own_shared, put_scratch
from warplens.lift.memory.mbarrier_ops import report
from warplens.lift.memory.sites import call_helper, new_site, use_runtime
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import cluster_ir, tensor_ir, tensor_sums_ir
from warplens.lift.runtime.access_ir import ADDRESSES, VALUES
from warplens.sass.model import Mem, UReg

_MOST_BLOCKS = 16  # of a cluster
_FOUR_ROWS = 5  # coordinates: a column and four rows


def _rank(item: Bound) -> int:
    return next(int(m[0]) for m in item.inst.modifiers if m in ("1D", "2D", "3D", "4D", "5D"))


def _registers(item: Bound) -> tuple[int, int]:
    """First uniform registers of the place and of the tensor map's address."""
    places = [o.uniform for o in item.inst.operands if isinstance(o, Mem) and o.base is None]
    first = [place.index for place in places if place is not None]
    if len(first) != 2:
        raise BindingError(f"operands of {item.inst.mnemonic}")
    return first[0], first[1]


def _word(w: RegionWriter, index: int) -> Value:
    return w.operands.bits_word(UReg(index), 0, False)


def _mode(item: Bound) -> int:
    if {"GATHER4", "SCATTER4"} & set(item.inst.modifiers):
        return at.MAP_FOUR_ROWS
    return at.MAP_IM2COL if "IM2COL" in item.inst.modifiers else at.MAP_TILE


def _copy(w: RegionWriter, action: str, item: Bound, coordinates: int, shared: Value,
          lanes: str) -> None:  # fmt: skip
    """One copy of a box by the first of `lanes`."""
    rank, (_, tensor_map) = _rank(item), _registers(item)
    put_scratch(w, ADDRESSES, _word(w, tensor_map))
    put_scratch(w, ADDRESSES + 1, _word(w, tensor_map + 1))
    put_scratch(w, VALUES, shared)
    mode = _mode(item)
    for i in range(_FOUR_ROWS if mode == at.MAP_FOUR_ROWS else rank):
        put_scratch(w, tensor_ir.COORDINATES + i, _word(w, coordinates + i))
    if mode == at.MAP_IM2COL:
        # offsets of loads stand below the mask of a multicast
        given = [o for o in item.inst.operands if isinstance(o, UReg)]
        offsets = w.operands.bits_word(given[0], 0, False) if given else w.x.u32(0)
        put_scratch(w, tensor_ir.OFFSETS, w.x.and_(offsets, w.x.u32(0xFFFF)))
    copies = tensor_ir.tensor_copies(action, rank, w.clusters, mode, w.watch.accesses)
    w.module.helper("wl.cluster.base", cluster_ir.base())
    use_runtime(w, *tensor_ir.DECLARATIONS.items(), *copies)
    site, slot = new_site(w, "global", 16, "load" if action == "load" else "store")
    call_helper(w, copies[0][0], site, lanes, 0, slot)


def _begin(w: RegionWriter, lanes: str, kind: int) -> None:
    """Shows an observer of accesses that a copy begins."""
    if w.watch.accesses:
        w.tell_access(lanes, at.SPACE_COPY, kind, 16)


def _tell(w: RegionWriter, shared: Value, barrier: Value, lanes: str) -> None:
    """Shows an observer a copy that is done: place in shared memory, bytes, mbarrier."""
    if not w.tells("bulk"):
        return
    size = Value("u32", get_scratch(w, tensor_ir.BYTES))
    for slot, value in ((VALUES, shared), (VALUES + 1, size), (VALUES + 2, barrier)):
        put_scratch(w, slot, value)
    w.tell_sync(lanes)


def _lowest(w: RegionWriter) -> str:
    mask = w.lanes_mask()
    return w.emit(f"and i32 {mask}, {w.emit(f'sub i32 0, {mask}')}")


def _load_to(w: RegionWriter, item: Bound, shared: Value, barrier: Value, lanes: str) -> None:
    x, (near, _) = w.x, _registers(item)
    _copy(w, "load", item, near + 2, shared, lanes)
    _tell(w, shared, barrier, lanes)
    size = Value("u32", get_scratch(w, tensor_ir.BYTES))
    put_scratch(w, ADDRESSES, barrier)
    put_scratch(w, VALUES, x.u32(0))
    put_scratch(w, VALUES + 1, x.sub(x.u32(0), size))
    report(w, "words", lanes, w.clusters)


@role("tensor_load")
def tensor_load(w: RegionWriter, item: Bound) -> None:
    """UTMALDG.nD [shared, barrier, coordinates], [map]; MULTICAST under a mask of ranks.

    With 2CTA the mbarrier may be the fellow's of a pair.
    """
    x, (near, _) = w.x, _registers(item)
    shared, barrier, lowest = _word(w, near), _word(w, near + 1), _lowest(w)
    _begin(w, lowest, at.ACCESS_READ)
    if "MULTICAST" not in item.inst.modifiers:
        _load_to(w, item, shared, barrier, lowest)
        return
    masks = [o for o in item.inst.operands if isinstance(o, UReg)]
    if len(masks) != 1:
        raise BindingError(f"operands of {item.inst.mnemonic}")
    # the mask of ranks stands in the upper half
    ranks = x.lshr(w.operands.bits_word(masks[0], 0, False), x.u32(16))
    data, report_to = (x.and_(v, x.u32(cluster_ir.LOW_BITS)) for v in (shared, barrier))
    # of a pair the block tells that has the given mbarrier, even or odd
    is_pair = "2CTA" in item.inst.modifiers and w.clusters
    odd = x.and_(barrier, x.u32(1 << 24))
    for rank in range(_MOST_BLOCKS if w.clusters else 1):
        named = x.icmp("ne", x.and_(ranks, x.u32(1 << rank)), x.u32(0))
        lanes = w.emit(f"and i32 {lowest}, {x.ballot_scalar(named)}")
        top = x.u32(rank << 24)
        told = x.or_(odd, x.u32((rank & ~1) << 24)) if is_pair else top
        _load_to(w, item, x.or_(data, top), x.or_(report_to, told), lanes)


@role("tensor_store", "tensor_reduce")
def tensor_store(w: RegionWriter, item: Bound) -> None:
    """UTMASTG.nD and UTMAREDG.nD.OP [shared, coordinates], [map]."""
    near, _ = _registers(item)
    action = next((m for m in item.inst.modifiers if m in tensor_sums_ir.REDUCTIONS), "store")
    shared = _word(w, near)
    if not w.clusters:
        shared = own_shared(w, shared)
    lanes = _lowest(w)
    _begin(w, lanes, at.ACCESS_WRITE if action == "store" else at.ACCESS_ATOMIC)
    _copy(w, action, item, near + 1, shared, lanes)
    _tell(w, shared, w.x.u32(0), lanes)
