"""The helper function in LLVM IR of a warpgroup's matrix product, one warp's 16 rows of it.

Eight columns of the result are made at once; C and D stand in the warp's record.
"""

from __future__ import annotations

import zlib

from warplens.lift import layout as at
from warplens.lift.runtime.text import Text
from warplens.lift.runtime.wgmma_operands_ir import (
    GATHER,
    ROWE,
    ROWF,
    E,
    F,
    Form,
    gather,
    group_place,
    spread_mask,
    store_b,
    take_a,
    unpack_descriptor,
)
from warplens.lift.runtime.wgmma_sums_ir import (
    CONVERT,
    float_sums,
    integer_sums,
    load_c,
    slow_sums,
    store_d,
)
from warplens.lift.vector_ir import V


def product(form: Form, slow: str) -> str:
    """The helper: i32 0, or 1 after recording a fault.

    Arguments: C and D's registers and A's in the warp's record, the descriptors, how many times
    eight columns, whether C counts, sign masks of A and B, the instruction.
    """
    t = Text()
    take_a(t, form)
    place = unpack_descriptor(t, "%db", form.is_b_transposed)
    mask = spread_mask(t, "%negb")
    t.do("store i32 0, ptr %jp, align 4")
    t.do("br label %loop")
    t.label("loop")
    t.do("%j = load i32, ptr %jp, align 4")
    gather(t, place, "%j", "b0")
    if not form.is_sparse:
        _kept_b(t, form, place, mask)
    else:  # twice as many numbers
        store_b(t, form, mask, 0)
        two = t(f"shl i32 {place['far']}, 1")
        further = t(f"add i32 {place['start']}, {two}")
        gather(t, {**place, "start": further}, "%j", "b1")
        store_b(t, form, mask, form.kept)
    registers = 2 if form.sums == "f16" else 4
    t.do(f"%jr = mul i32 %j, {registers}")
    t.do(f"%cj = getelementptr {V}, ptr %c, i32 %jr")
    c = load_c(t, form)
    if form.is_float:
        is_quick, d = float_sums(t, form, c)
        t.do(f"br i1 {is_quick}, label %quick, label %slow")
        t.label("slow")
        slow_sums(t, form, slow)
        t.do("br label %next")
        t.label("quick")
    else:
        d = integer_sums(t, form, c)
    store_d(t, form, d)
    t.do("br label %next")
    t.label("next")
    t.do("%j1 = add i32 %j, 1")
    t.do("store i32 %j1, ptr %jp, align 4")
    t.do(f"br i1 {t('icmp ult i32 %j1, %groups')}, label %loop, label %done")
    body = "\n".join(t.lines)
    own_b = f"""%b = alloca [{form.depth} x {ROWF}], align 128
  %be = alloca [{form.depth} x {ROWE}], align 128""" if form.is_sparse else ""
    return f"""define internal i32 @{form.name}(ptr %w, ptr %env, ptr %c, ptr %areg, i64 %da, i64 %db,
    i32 %groups, ptr %meta, i1 %adds, i32 %nega, i32 %negb, i1 %part, i32 %inst) noinline {{
  %raw = alloca [256 x i8], align 128
  %a = alloca [{2 * form.depth} x {F}], align 128
  %ae = alloca [{2 * form.depth} x {E}], align 128
  {own_b}
  %keep = alloca [{2 * form.depth if form.is_sparse else 1} x {V}], align 128
  %jp = alloca i32, align 4
  %lost = alloca i64, align 8
  %hostp = getelementptr i64, ptr %env, i64 {at.ENV_SHARED}
  %hosta = load i64, ptr %hostp, align 8
  %host = inttoptr i64 %hosta to ptr
  %limitp = getelementptr i64, ptr %env, i64 {at.ENV_SHARED_LIMIT}
  %limit = load i64, ptr %limitp, align 8
  %keptp = getelementptr i64, ptr %env, i64 {at.ENV_WGMMA_WORK}
  %kepta = load i64, ptr %keptp, align 8
  %kept = inttoptr i64 %kepta to ptr
  br i1 %part, label %divided, label %whole
divided:
  %f0 = call i32 @wl.fault(ptr %env, i64 {at.FAULT_PART_OF_WARP}, i32 %inst, i32 0, i64 0, i64 0)
  ret i32 1
whole:
{body}
outside:
  %where = load i64, ptr %lost, align 8
  %f = call i32 @wl.fault(ptr %env, i64 {at.FAULT_SHARED}, i32 %inst, i32 0, i64 %where, i64 16)
  ret i32 1
done:
  ret i32 0
}}"""


def _kept_b(t: Text, form: Form, place: dict[str, str], mask: str) -> None:
    """Eight columns of B: the four warps of a warpgroup, and others with the same B, make them once.

    They are kept by their place in shared memory and valid as long as the same bytes stand there.
    """
    first = group_place(t, place, "%j")
    far, near = t(f"lshr i32 {first}, 8"), t(f"lshr i32 {first}, 5")
    far = t(f"and i32 {far}, {at.KEPT_GROUPS - 4}")
    near = t(f"and i32 {near}, 3")
    offset = t(f"mul i32 {t(f'or i32 {far}, {near}')}, {at.KEPT_BYTES}")
    t.do(f"%slot = getelementptr i8, ptr %kept, i32 {offset}")
    t.do(f"%be = getelementptr i8, ptr %slot, i64 {at.KEPT_EXPONENTS}")
    t.do(f"%b = getelementptr i8, ptr %slot, i64 {at.KEPT_NUMBERS}")
    name = zlib.crc32(form.name.encode()) | 1
    tag = t(f"or i64 {t('zext i32 %negb to i64')}, {name << 32}")
    t.do(f"%tagp = getelementptr i8, ptr %slot, i64 {at.KEPT_TAG}")
    known = t(f"icmp eq i64 {t('load i64, ptr %tagp, align 8')}, {tag}")
    words, differs, pieces = "<16 x i32>", "", list[tuple[str, str]]()
    for n in range(4):
        old = t(f"getelementptr i8, ptr %slot, i64 {64 * n}")
        at_raw = t(f"getelementptr i8, ptr %raw, i64 {64 * n}")
        new = t(f"load {words}, ptr {at_raw}, align 64")
        before = t(f"load {words}, ptr {old}, align 64")
        other = t(f"xor {words} {new}, {before}")
        differs = t(f"or {words} {differs}, {other}") if differs else other
        pieces.append((new, old))
    bits = t(f"bitcast <16 x i1> {t(f'icmp ne {words} {differs}, zeroinitializer')} to i16")
    same = t(f"and i1 {known}, {t(f'icmp eq i16 {bits}, 0')}")
    t.do(f"br i1 {same}, label %made, label %make")
    t.label("make")
    for new, old in pieces:
        t.do(f"store {words} {new}, ptr {old}, align 64")
    t.do(f"store i64 {tag}, ptr %tagp, align 8")
    store_b(t, form, mask, 0)
    t.do("br label %made")
    t.label("made")


DECLARATIONS = {
    "llvm.vector.reduce.umax.v16i32": "declare i32 @llvm.vector.reduce.umax.v16i32(<16 x i32>)",
    "llvm.sadd.sat.v32i32": f"declare {V} @llvm.sadd.sat.v32i32({V}, {V})",
    "llvm.ctpop.v32i32": f"declare {V} @llvm.ctpop.v32i32({V})",
    CONVERT: f"declare <16 x float> @{CONVERT}(<16 x i32>, i32)",
    "wl.wgmma.gather": GATHER,
}
