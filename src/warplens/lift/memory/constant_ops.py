"""Code for loads of constants into uniform registers and, with an index, into others."""

from __future__ import annotations

from dataclasses import replace

from warplens.lift import layout as at
from warplens.lift.decode.binding import KEY_UNIFORM, BindingError, Bound, access_bytes
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory.addresses import put_scratch
from warplens.lift.memory.sites import use_runtime
from warplens.lift.regions.generators import role
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime.access_ir import ADDRESSES
from warplens.sass.model import RZ, Const, Reg, UReg


@role("load_constant_uniform")
def load_constant_uniform(w: RegionWriter, item: Bound) -> None:
    """ULDC, LDCU: constant words into uniform registers."""
    destination = item.inst.operands[0]
    source = next(o for o in item.inst.operands if isinstance(o, Const))
    size = access_bytes(item.inst)
    if not isinstance(destination, UReg):
        raise BindingError("ULDC destination")
    _tell(w, source, size)
    guard = None if w.guard is None else w.operands._any(w.guard)
    for k in range(max(1, size // 4)):
        value = w.constant_word(source, k)
        if size < 4:
            value = _narrow(w, value, source.offset & 3, size, item.inst.modifiers)
        if destination.index != RZ:
            w.operands.write_word(KEY_UNIFORM + destination.index + k, value, guard)


def _tell(w: RegionWriter, source: Const, size: int) -> None:
    """Tells an observer which word a uniform register leads to."""
    if not w.observe or not isinstance(source.base, UReg) or source.base.index == RZ:
        return
    use_runtime(w)
    base = w.operands.word(source.base, 0, True)
    where = w.emit(f"add i32 {base.ref}, {source.offset}")
    where = w.emit(f"and i32 {where}, 65535")
    put_scratch(w, ADDRESSES, w.x.broadcast("u32", where))
    _observe(w, source, size)


def _observe(w: RegionWriter, source: Const, size: int) -> None:
    """The offsets are in scratch."""
    w.call_observer(
        at.ENV_OBSERVE_ACCESS, str(w.index), w.lanes_mask(), f"i32 {at.SPACE_CONSTANT}",
        f"i32 {at.ACCESS_READ}", f"i32 {size}", f"i64 {source.bank}", f"ptr {w.bank(source.bank)}",
    )  # fmt: skip


def _narrow(w: RegionWriter, value: Value, byte: int, size: int,
            modifiers: tuple[str, ...]) -> Value:  # fmt: skip
    """A sub-word constant: constant_word loads unaligned, so only the width matters."""
    up = w.u.shl(value, w.u.u32(32 - 8 * size))
    if "S8" in modifiers or "S16" in modifiers:
        return w.u.ashr(up, w.u.u32(32 - 8 * size))
    return w.u.lshr(up, w.u.u32(32 - 8 * size))


@role("load_constant")
def load_constant(w: RegionWriter, item: Bound) -> None:
    """LDC: constant words, the index may differ between lanes (out of the bank reads zero)."""
    destination = item.inst.operands[0]
    source = next(o for o in item.inst.operands if isinstance(o, Const))
    size = access_bytes(item.inst)
    words = max(1, size // 4)
    if isinstance(source.base, Reg) and source.base.index == RZ and not _is_indexed(item):
        source = replace(source, base=None)  # one word for all lanes
    if source.base is None or isinstance(source.base, UReg):
        _tell(w, source, size)
        values = [w.constant_word(source, k) for k in range(words)]
        if size < 4:
            values = [_narrow(w, values[0], 0, size, item.inst.modifiers)]
        spread = [w.x.broadcast("u32", v.ref) for v in values]
    else:
        if _is_indexed(item):
            raise BindingError("indexed constant bank")
        spread = _gather_constant(w, source, size, words, item.inst.modifiers)
    if isinstance(destination, UReg):
        raise BindingError("LDC into a uniform register")
    if isinstance(destination, Reg) and destination.index != RZ:
        for k, value in enumerate(spread):
            w.operands.write_word(destination.index + k, value, w.guard)


def _is_indexed(item: Bound) -> bool:
    """Whether a register names the bank, too."""
    return bool({"IL", "IS", "ISL"} & set(item.inst.modifiers))


def _gather_constant(w: RegionWriter, source: Const, size: int, words: int,
                     modifiers: tuple[str, ...]) -> list[Value]:  # fmt: skip
    use_runtime(w)
    x = w.x
    assert source.base is not None
    index = x.add(w.operands.bits_word(source.base, 0, False), x.u32(source.offset))
    lanes = w.executing()
    bank = w.bank(source.bank)
    if w.observe and source.base.index != RZ:
        put_scratch(w, ADDRESSES, x.and_(index, x.u32(0xFFFF)))
        _observe(w, source, size)
    values = []
    for k in range(words):
        where = x.and_(x.add(index, x.u32(4 * k)), x.u32(0xFFFF))
        wide = x.zext64(where)
        ptrs = w.emit(f"getelementptr i8, ptr {bank}, <32 x i64> {wide.ref}")
        word = w.emit(
            f"call <32 x i32> @llvm.masked.gather.v32i32.v32p0(<32 x ptr> {ptrs}, i32 1, "
            f"<32 x i1> {lanes}, <32 x i32> zeroinitializer)"
        )
        value = Value("u32", word)
        if size < 4:
            shift = x.u32(32 - 8 * size)
            value = x.shl(value, shift)
            signed = "S8" in modifiers or "S16" in modifiers
            value = x.ashr(value, shift) if signed else x.lshr(value, shift)
        values.append(value)
    return values
