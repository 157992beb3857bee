"""Code for tensor memory (tcgen05): operands go to the scratch area, a unit does the rest."""

from __future__ import annotations

from warplens.isa import tensor_memory
from warplens.isa.tensor_memory import PRODUCTS, SHAPES
from warplens.lift import layout as at
from warplens.lift.decode.binding import (
    KEY_UNIFORM,
    KEY_UNIFORM_PREDICATE,
    BindingError,
    Bound,
)
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory.addresses import get_scratch, put_scratch
from warplens.lift.memory.mbarrier_ops import report
from warplens.lift.memory.sites import call_tensor_memory
from warplens.lift.regions.generators import role
from warplens.lift.regions.registers import record_offset
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import cluster_ir
from warplens.lift.runtime.access_ir import ADDRESSES, VALUES
from warplens.lift.vector_ir import V
from warplens.sass.model import RZ, Mem, Reg, UPred, UReg

_MOST_BLOCKS = 16  # of a cluster


def _put(w: RegionWriter, slot: int, register: int, words: int = 1) -> None:
    """Uniform registers, the first one in `slot`."""
    for k in range(words):
        operand = UReg(register + k if register != RZ else RZ)
        put_scratch(w, slot + k, w.operands.bits_word(operand, 0, False))


@role("tensor_memory_load", "tensor_memory_store")
def tensor_memory_move(w: RegionWriter, item: Bound) -> None:
    """LDTM R, tmem[UR + offset] and STTM tmem[UR + offset], R."""
    move = tensor_memory.move_of(item.inst)
    is_load = item.op.role == "tensor_memory_load"
    address = w.operands.bits_word(UReg(move.address), 0, False)
    put_scratch(w, at.TM_A, w.x.add(address, w.x.u32(move.offset & 0xFFFFFFFF)))
    keeps = move.is_half or w.guard is not None
    count = 0 if move.register == RZ else move.registers
    if not is_load or keeps:
        for k in range(count):
            value = w.operands.bits_word(Reg(move.register + k), 0, False)
            place = w.field(record_offset(move.register + k))
            w.line(f"store {V} {value.ref}, ptr {place}, align 64")
    form = (at.TM_LOAD if is_load else at.TM_STORE) | move.is_packed << at.TM_PACKED
    form |= list(SHAPES).index(move.shape) << at.TM_SHAPE
    form |= move.repeats << at.TM_WORDS | (move.register == RZ) << at.TM_ZEROS
    form |= (move.register if count else 0) << at.TM_REGISTER
    call_tensor_memory(w, form, w.lanes_mask())
    if is_load:
        for k in range(count):
            place = w.field(record_offset(move.register + k))
            word = w.emit(f"load {V}, ptr {place}, align 64")
            w.operands.write_word(move.register + k, Value("u32", word), None)


def _adds(w: RegionWriter, product: tensor_memory.Product) -> Value:
    """Whether D's old value counts, as a word."""
    if product.adds is None:
        return w.x.u32(1)
    return w.x.select(w.operands.predicate(product.adds, False), w.x.u32(1), w.x.u32(0))


@role("tensor_memory_product")
def tensor_memory_product(w: RegionWriter, item: Bound) -> None:
    """UTC.MMA A, B, tmem[D], tmem[metadata], idesc[...], [tmem[scales]], [masks], adds, [shift]."""
    product = tensor_memory.product_of(item.inst)
    _put(w, at.TM_A, product.a, 1 if product.is_a_in_tensor_memory else 2)
    _put(w, at.TM_B, product.b, 2)
    _put(w, at.TM_D, product.d)
    _put(w, at.TM_METADATA, product.metadata)
    _put(w, at.TM_DESCRIPTOR, product.descriptor)
    put_scratch(w, at.TM_ADDS, _adds(w, product))
    form = at.TM_PRODUCT | PRODUCTS.index(item.inst.opcode) << at.TM_SHAPE
    form |= product.is_pair << at.TM_PAIR | product.is_stationary << at.TM_STATIONARY
    form |= product.is_a_in_tensor_memory << at.TM_FROM_MEMORY
    form |= ("4X" in item.inst.modifiers) << at.TM_FOUR
    if product.scales is not None:
        _put(w, at.TM_SCALES, product.scales, 2)
        form |= 1 << at.TM_SCALED
    if product.columns is not None:
        raise BindingError(f"a mask of columns of zeros in {item.inst.mnemonic}")
    if product.lanes is not None:
        _put(w, at.TM_MASKS, product.lanes, 8 if product.is_pair else 4)
        form |= 1 << at.TM_LANES
    if product.shift is not None:
        form |= 1 << at.TM_SHIFTS | (product.shift & 15) << at.TM_SHIFT
    call_tensor_memory(w, form, w.lanes_mask())


@role("tensor_memory_copy")
def tensor_memory_copy(w: RegionWriter, item: Bound) -> None:
    """UTCCP tmem[UR + offset], gdesc[UR]."""
    shape, place, group, offset = tensor_memory.copy_of(item.inst)
    address = w.operands.bits_word(UReg(place), 0, False)
    _put(w, at.TM_A, group, 2)
    put_scratch(w, at.TM_D, w.x.add(address, w.x.u32(offset & 0xFFFFFFFF)))
    is_pair = "2CTA" in item.inst.modifiers
    call_tensor_memory(w, at.TM_COPY | shape << at.TM_SHAPE | is_pair << at.TM_PAIR, w.lanes_mask())


@role("tensor_memory_shift")
def tensor_memory_shift(w: RegionWriter, item: Bound) -> None:
    """UTCSHIFT.DOWN tmem[UR + offset]."""
    place, offset = tensor_memory.shift_of(item.inst)
    address = w.operands.bits_word(UReg(place), 0, False)
    put_scratch(w, at.TM_D, w.x.add(address, w.x.u32(offset & 0xFFFFFFFF)))
    is_pair = "2CTA" in item.inst.modifiers
    call_tensor_memory(w, at.TM_MOVE | is_pair << at.TM_PAIR, w.lanes_mask())


@role("tensor_memory_state")
def tensor_memory_state(w: RegionWriter, item: Bound) -> None:
    """UTCATOMSWS.FIND_AND_SET UP, UR, UR and UTCATOMSWS.AND UR, UR."""
    finds = "FIND_AND_SET" in item.inst.modifiers
    if finds == ("AND" in item.inst.modifiers):
        raise BindingError(f"operation of {item.inst.mnemonic}")
    results = [o for o in item.inst.operands[:-1] if isinstance(o, UReg | UPred)]
    put_scratch(w, at.TM_A, w.operands.bits_word(item.inst.operands[-1], 0, False))
    is_pair = "2CTA" in item.inst.modifiers
    form = (at.TM_FIND if finds else at.TM_GIVE) | is_pair << at.TM_PAIR
    call_tensor_memory(w, form, w.lanes_mask())
    for operand in results:
        if operand.index == (7 if isinstance(operand, UPred) else RZ):
            continue
        slot = at.TM_RESULTS + isinstance(operand, UPred)
        value = w.operands._as_uniform(Value("u32", get_scratch(w, slot)))
        guard = None if w.guard is None else w.operands._any(w.guard)
        if isinstance(operand, UPred):
            is_found = w.u.icmp("ne", value, w.u.u32(0))
            w.operands.write_word(KEY_UNIFORM_PREDICATE + operand.index, is_found, guard)
        else:
            w.operands.write_word(KEY_UNIFORM + operand.index, value, guard)


@role("tensor_memory_commit")
def tensor_memory_commit(w: RegionWriter, item: Bound) -> None:
    """UTCBAR [mbarrier], URZ; MULTICAST under a mask of the cluster's blocks."""
    x = w.x
    places = [o.uniform for o in item.inst.operands if isinstance(o, Mem) and o.base is None]
    plain = [o for o in item.inst.operands if isinstance(o, UReg)]
    if len(places) != 1 or places[0] is None or not plain or plain[0].index != RZ:
        raise BindingError(f"operands of {item.inst.mnemonic}")
    is_pair = "2CTA" in item.inst.modifiers
    call_tensor_memory(w, at.TM_COMMIT | is_pair << at.TM_PAIR, w.lanes_mask())
    mask = w.lanes_mask()
    lowest = w.emit(f"and i32 {mask}, {w.emit(f'sub i32 0, {mask}')}")
    barrier = w.operands.bits_word(places[0], 0, False)

    def arrive(place: Value, lanes: str) -> None:
        put_scratch(w, ADDRESSES, place)
        put_scratch(w, VALUES, x.u32(1))
        put_scratch(w, VALUES + 1, x.u32(0))
        report(w, "words", lanes, w.clusters)

    if "MULTICAST" not in item.inst.modifiers:
        arrive(barrier, lowest)
        return
    ranks = w.operands.bits_word(plain[-1], 0, False)
    low = x.and_(barrier, x.u32(cluster_ir.LOW_BITS))
    for rank in range(_MOST_BLOCKS if w.clusters else 1):
        named = x.icmp("ne", x.and_(ranks, x.u32(1 << rank)), x.u32(0))
        lanes = w.emit(f"and i32 {lowest}, {x.ballot_scalar(named)}")
        arrive(x.or_(low, x.u32(rank << 24)), lanes)
