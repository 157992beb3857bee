"""Code for wgmma: products of a warpgroup, done at once by each warp for its rows."""

from __future__ import annotations

from warplens.isa.accumulate import BF16, F16, F32, TF32, Layout, accumulate, split_a, split_b
from warplens.isa.lanes import Lanes
from warplens.isa.lanes import Value as AnyValue
from warplens.isa.warpgroup import Product, product_of
from warplens.lift.decode.binding import BindingError, Bound
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.memory.addresses import put_scratch
from warplens.lift.memory.sites import leave_if_failed, use_runtime
from warplens.lift.regions.generators import role
from warplens.lift.regions.registers import record_offset
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import wgmma_ir
from warplens.lift.runtime.wgmma_operands_ir import Form
from warplens.lift.vector_ir import V
from warplens.sass.model import RZ, UReg

_LAYOUTS = {"f16": F16, "bf16": BF16, "tf32": TF32, "e4m3": F16, "e5m2": F16}


def _code(x: Lanes, kind: str, word: AnyValue) -> AnyValue:
    """A number given in f32 as the bits of its format; 8-bit floats as halves."""
    if kind in ("bf16", "tf32"):
        return x.lshr(word, x.u32(16 if kind == "bf16" else 13))
    return x.raw_bits(x.float_to_float(x.bits_to_f32(word), "f16"))


def _exact_sum(x: Lanes, form: Form, words: tuple[AnyValue, ...]) -> AnyValue:
    """One register of D as isa/accumulate.py has it, from f32 operands."""
    a, b, c = words[: form.depth], words[form.depth : -1], words[-1]
    layout: Layout = _LAYOUTS[form.a]
    target = F32 if form.sums == "f32" else F16
    if form.sums == "f16":
        c = x.raw_bits(x.float_to_float(x.bits_to_f32(c), "f16"))
    total = accumulate(
        x, layout, [split_a(x, layout, _code(x, form.a, n)) for n in a],
        [split_b(x, layout, _code(x, form.b, n)) for n in b], c, target,
        kept_bits=form.kept_bits,
    )  # fmt: skip
    if form.sums == "f16" or form.kept_bits > 23:
        return total
    # A finite sum ends after as many fraction bits.
    is_special = x.icmp("eq", x.and_(total, x.u32(0x7F800000)), x.u32(0x7F800000))
    cut = x.and_(total, x.u32(-(1 << 23 - form.kept_bits) & 0xFFFFFFFF))
    return x.select(is_special, total, cut)


def _slow_function(w: RegionWriter, form: Form) -> str:
    """Adds the exact function; returns its name."""
    name = f"{form.name}.exact"
    count = 2 * form.depth + 1
    values = [w.x.u32(0)] * count

    def flat(inner: Lanes, *words: AnyValue) -> AnyValue:
        return _exact_sum(inner, form, words)

    return w.x.shared_name(name, flat, *values)


def _form(product: Product, has_avx512: bool) -> Form:
    return Form(
        a=product.a, b=product.b, sums=product.sums,
        from_registers=product.a_register is not None,
        is_a_transposed="tnspA" in product.marks, is_b_transposed="tnspB" in product.marks,
        saturates=product.saturates, kept_bits=product.kept_bits,
        selector=None if product.metadata is None else product.selector, has_avx512=has_avx512,
    )  # fmt: skip


def _place(w: RegionWriter, register: int) -> str:
    return w.field(record_offset(register))


def _descriptor(w: RegionWriter, first: int) -> str:
    """A matrix descriptor in two uniform registers, as i64."""
    low, high = (w.operands.word(UReg(first + k), 0, True).ref for k in (0, 1))
    wide = w.emit(f"shl i64 {w.emit(f'zext i32 {high} to i64')}, 32")
    return w.emit(f"or i64 {wide}, {w.emit(f'zext i32 {low} to i64')}")


def _adds(w: RegionWriter, product: Product) -> str:
    """Whether D's old value counts, as i1."""
    if product.c_register == RZ:
        return "false"
    if product.adds is None:
        return "true"
    value = w.operands.predicate(product.adds, True)
    return "true" if value.const == 1 else "false" if value.const == 0 else value.ref


@role("warpgroup_product")
def warpgroup_product(w: RegionWriter, item: Bound) -> None:
    """HGMMA, QGMMA, IGMMA, BGMMA: D, [A,] descriptors, C, predicate that C counts."""
    product = product_of(item.inst)
    if w.guard is not None:
        raise BindingError(f"{item.inst.opcode} under a guard")
    if product.is_empty or w.index in w.watch.needless:
        return
    form = _form(product, w.x.features.has_avx512)
    if product.c_register != RZ:
        for k in range(product.registers):
            value = w.operands.bits_word(product.register(product.c_register + k), 0, False)
            w.line(f"store {V} {value.ref}, ptr {_place(w, product.d_register + k)}, align 64")
    a_place = "null"
    if product.a_register is not None:
        for k in range(4):
            value = w.operands.bits_word(product.register(product.a_register + k), 0, False)
            w.line(f"store {V} {value.ref}, ptr {_place(w, product.a_register + k)}, align 64")
        a_place = _place(w, product.a_register)
    meta = "null"
    if product.metadata is not None:
        value = w.operands.bits_word(product.register(product.metadata), 0, False)
        meta = _place(w, product.metadata)
        w.line(f"store {V} {value.ref}, ptr {meta}, align 64")
    da = "0" if form.from_registers else _descriptor(w, product.descriptors)
    if w.tells("bulk"):
        for k in range(4 if product.a_register is None else 2):
            slot = k if product.a_register is None else k + 2
            put_scratch(w, slot, w.operands.bits_word(UReg(product.descriptors + slot), 0, False))
        w.tell_sync(w.lanes_mask())
    slow = _slow_function(w, form) if form.is_float else ""
    use_runtime(w, *wgmma_ir.DECLARATIONS.items(), (form.name, wgmma_ir.product(form, slow)))
    sign = str(-(1 << 31))
    part = w.emit(f"icmp ne i32 {w.mask}, -1")
    db = _descriptor(w, product.descriptors + 2)
    failed = w.emit(
        f"call i32 @{form.name}(ptr %w, ptr %env, ptr {_place(w, product.d_register)}, "
        f"ptr {a_place}, i64 {da}, i64 {db}, i32 {product.columns // 8}, "
        f"ptr {meta}, i1 {_adds(w, product)}, i32 {sign if 'negA' in product.marks else '0'}, "
        f"i32 {sign if 'negB' in product.marks else '0'}, i1 {part}, i32 {w.index})"
    )
    leave_if_failed(w, failed)
    for k in range(product.registers):
        word = w.emit(f"load {V}, ptr {_place(w, product.d_register + k)}, align 64")
        w.operands.write_word(product.d_register + k, Value("u32", word), None)
