"""The first tensor cores' product, as sm_75 still has it: mma.m8n8k4, halves in two or four steps.

Each of the warp's four groups of eight lanes, g to g + 3 and g + 16 to g + 19, multiplies 8 x 4
with 4 x 8. Where elements stand is the PTX manual's table of fragments; the upper four lanes have
rows (of A, C and D) or columns (of B) 4 to 7. Step n gives the n-th pair of a lane's registers.
"""

from __future__ import annotations

from typing import Any

from warplens.isa.accumulate import F16, F32, Split, accumulate, split_a, split_b
from warplens.isa.float16 import pack
from warplens.isa.lanes import Lanes, Value
from warplens.isa.matrix import Words, _shared
from warplens.isa.table import Modifiers, op

_STEPS = "STEP0 STEP1 STEP2 STEP3"
_PRODUCT: dict[str, Any] = {
    "mods": f"F16 F32 {_STEPS}", "pipe": "tensor", "category": "fp16",
    "latency": "hmma_1688", "marks": "none", "reads_layouts": True,
}  # fmt: skip


def _element(x: Lanes, words: Words, lane: Value, index: Value) -> Value:
    """One of the four halves that another lane holds in two registers."""
    low, high = (x.gather_lane(word, lane) for word in words)
    is_high = x.icmp("ugt", index, x.u32(1))
    word = x.select(is_high, high, low)
    return x.and_(x.lshr(word, x.shl(x.and_(index, x.u32(1)), x.u32(4))), x.u32(0xFFFF))


def _row_of_a(x: Lanes, m: Modifiers, a: Words, row: Value) -> list[Split]:
    """A row, 0 to 3 of the lane's own half of A."""
    half = x.and_(x.lane_id(), x.u32(28))  # the group, and its upper lanes' bit
    found = []
    for k in range(4):
        lane, index = x.add(half, row), x.u32(k)
        if m.has("A.COL"):
            lane, index = x.add(half, x.u32(k)), row
        found.append(split_a(x, F16, _element(x, a, lane, index)))
    return found


def _column_of_b(x: Lanes, m: Modifiers, b: Words, column: Value, half: int) -> list[Split]:
    """A column, 0 to 3 of the lower or upper half of B."""
    first = x.add(x.and_(x.lane_id(), x.u32(12)), x.u32(16 * half))
    found = []
    for k in range(4):
        lane, index = x.add(first, column), x.u32(k)
        if m.has("B.ROW"):
            lane, index = x.add(first, x.u32(k)), column
        found.append(split_b(x, F16, _element(x, b, lane, index)))
    return found


def _step(m: Modifiers) -> int:
    return int(m.one_of(*_STEPS.split(), default="STEP0")[-1])


def _halves_product(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """Columns 0 to 3 or 4 to 7 of the lane's own row."""
    row = _row_of_a(x, m, a, x.and_(x.lane_id(), x.u32(3)))
    halves = []
    for n in range(4):
        column = _column_of_b(x, m, b, x.u32(n), _step(m))
        start = x.and_(x.lshr(c[n // 2], x.u32(16 * (n % 2))), x.u32(0xFFFF))
        halves.append(accumulate(x, F16, row, column, start, F16))
    return pack(x, halves[0], halves[1]), pack(x, halves[2], halves[3])


def _singles_product(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """Two neighbouring columns of the row that a lane has of D in this step."""
    step, lane = _step(m), x.lane_id()
    row = x.add(x.and_(lane, x.u32(1)), x.u32(2 * (step % 2)))
    left = _row_of_a(x, m, a, row)
    found = []
    for n in range(2):
        place = x.add(x.and_(lane, x.u32(2)), x.u32(n))
        column = _column_of_b(x, m, b, place, step // 2)
        start = c[n]
        if m.has("F16"):
            own = _element(x, c, x.add(x.and_(lane, x.u32(28)), row), place)
            start = x.bits(x.float_to_float(x.bits_to_f16(own), "f32"))
        found.append(accumulate(x, F16, left, column, start, F32))
    return tuple(found)


@op("HMMA", sig="r2 <- r2 r2 r2", requires="884 F16.F16", **_PRODUCT)
def hmma_884_f16(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """One step of D = A * B + C in packed halves, 8 x 8 with 4 steps of k, four times a warp."""
    return _shared(x, m, _halves_product, a, b, c)


@op("HMMA", sig="r2 <- r2 r2 r2", requires="884 F32.F32", **_PRODUCT)
@op("HMMA", sig="r2 <- r2 r2 r2", requires="884 F32.F16", **_PRODUCT)
def hmma_884_f32(x: Lanes, m: Modifiers, a: Words, b: Words, c: Words) -> Words:
    """One step of D = A * B + C in f32; C is f32 or packed halves."""
    return _shared(x, m, _singles_product, a, b, c)
