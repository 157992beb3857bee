"""An access's operands: its space, the lanes' addresses, words handed to helpers and back."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.decode.binding import BindingError, Bound, is_wide_address
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime.access_ir import ADDRESSES
from warplens.sass.model import RZ, Mem, Operand, Reg


def own_shared(w: RegionWriter, low: Value) -> Value:
    """Addresses in the running block's shared memory as offsets: without the block's rank."""
    if not w.clusters:
        return low
    rank = w.emit(f"trunc i64 {w.env(at.ENV_CLUSTER_RANK)} to i32")
    return w.x.sub(low, w.x.broadcast("u32", rank))


def address_of(w: RegionWriter, mem: Mem, wide: bool) -> tuple[Value, Value | None, int]:
    """Low and high words of an address and its immediate offset."""
    x, o = w.x, w.operands
    base = mem.base if mem.base is not None and mem.base.index != RZ else None
    if not wide:
        low = x.u32(0) if base is None else o.bits_word(base, 0, False)
        if mem.scale != 1:
            low = x.mul(low, x.u32(mem.scale))
        if mem.uniform is not None:
            low = x.add(low, o.word(mem.uniform, 0, False))
        return low, None, mem.offset
    if mem.scale != 1:
        raise BindingError("scaled 64-bit address")
    if base is None:
        pair = x.u64(0)
    elif mem.base_u32:
        pair = x.zext64(o.bits_word(base, 0, False))
    elif mem.uniform is None:
        return o.bits_word(base, 0, False), o.bits_word(base, 1, False), mem.offset
    else:
        pair = o.wide(base, False, False)
        pair = x.bits(pair) if pair.type == "f64" else pair
    if mem.uniform is not None:
        if mem.base_u32 or base is None or mem.uniform_wide:
            pair = x.add(pair, o.wide(mem.uniform, False, False))
        else:
            pair = x.add(pair, x.zext64(o.word(mem.uniform, 0, False)))
    return x.low32(pair), x.high32(pair), mem.offset


def placed(
    w: RegionWriter, space: str, address: tuple[Value, Value | None, int]
) -> tuple[Value, Value | None, int]:
    """An access's address; in shared memory the offset."""
    low, high, offset = address
    return (own_shared(w, low), high, offset) if space == "shared" else address


def scratch_place(w: RegionWriter, slot: int) -> str:
    """Pointer to a scratch slot of the warp record."""
    return w.field(at.WARP_SCRATCH + 128 * slot)


def put_scratch(w: RegionWriter, slot: int, value: Value) -> None:
    """Hands a vector to a helper."""
    w.line(f"store <32 x i32> {value.ref}, ptr {scratch_place(w, slot)}, align 64")


def get_scratch(w: RegionWriter, slot: int) -> str:
    """A vector that a helper handed back."""
    return w.emit(f"load <32 x i32>, ptr {scratch_place(w, slot)}, align 64")


def put_address(w: RegionWriter, space: str, address: tuple[Value, Value | None, int]) -> int:
    """Hands the address to a helper through scratch; returns the immediate to pass."""
    low, high, offset = address
    if space in ("shared", "local"):
        put_scratch(w, ADDRESSES, low if not offset else w.x.add(low, w.x.u32(offset)))
        return 0
    if high is None:
        raise BindingError(f"an address of 32 bits in {space} memory")
    put_scratch(w, ADDRESSES, low)
    put_scratch(w, ADDRESSES + 1, high)
    return offset


def memory_operand(item: Bound) -> Mem:
    """The instruction's memory operand."""
    for operand in item.inst.operands:
        if isinstance(operand, Mem):
            return operand
    raise BindingError("no memory operand")


def space_of(item: Bound) -> str:
    """The instruction's memory space."""
    return str(item.op.attributes["space"])


def is_wide(item: Bound, mem: Mem, space: str) -> bool:
    """Whether the address has 64 bits."""
    return space in ("global", "generic") and is_wide_address(item.inst, mem)


def write_words(w: RegionWriter, destination: Operand, values: list[str]) -> None:
    """Writes words to consecutive registers."""
    if not isinstance(destination, Reg) or destination.index == RZ:
        return
    for k, ref in enumerate(values):
        w.operands.write_word(destination.index + k, Value("u32", ref), w.guard)
