"""Rows of indices: what warps will access through their own is asked for some warps ahead.

A row of words is loaded, each is multiplied and added to a pointer, and the lanes go where it
leads. The processor cannot know a later warp's places before that warp runs; but its row of
indices is in memory already, some steps behind the present one.
"""

from __future__ import annotations

from collections.abc import Callable

from warplens.lift import layout as at
from warplens.lift.decode.binding import Bound, access_bytes
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.address_patterns import IndexRow
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.vector_ir import V, splat, store_for_lanes
from warplens.sass.model import Imm, Mem, Reg

ROWS_AHEAD = 4  # memory takes longer than one warp; eight of them leave less room in the L1 cache


def _scale(item: Bound, index: int) -> tuple[int, int] | None:
    """Destination and factor of an IMAD.WIDE that multiplies register `index` by a number."""
    operands = item.inst.operands
    if item.inst.opcode != "IMAD" or "WIDE" not in item.inst.modifiers or len(operands) != 4:
        return None
    to, factor, number, _ = operands
    if not (isinstance(to, Reg) and isinstance(factor, Reg) and isinstance(number, Imm)):
        return None
    return (to.index, number.bits) if factor.index == index else None


def _is_word_access(item: Bound) -> bool:
    return (
        item.op.role in ("load", "store")
        and item.op.attributes.get("space") == "global"
        and access_bytes(item.inst) == 4
    )


def _is_plain(mem: Mem | None) -> bool:
    return mem is not None and mem.uniform is None and mem.scale == 1


def find(w: RegionWriter, item: Bound) -> IndexRow | None:
    """The access that goes where the words lead that the present instruction loads."""
    to = next((o for o in item.inst.operands if isinstance(o, Reg)), None)
    if to is None or not _is_word_access(item) or not w.inline_rows or w.watch.checks:
        return None
    index: int | None = to.index
    pointers: dict[int, int] = {}
    for i in range(w.index + 1, w.block.end):
        later = w.bound[i]
        mem = next((o for o in later.inst.operands if isinstance(o, Mem)), None)
        base = None if mem is None or mem.base is None else mem.base.index
        if base in pointers and _is_word_access(later) and _is_plain(mem):
            return IndexRow(i, pointers[base], later.op.role == "store")
        made = None if index is None else _scale(later, index)
        for key in later.writes:
            pointers.pop(key, None)
            pointers.pop(key - 1, None)
            index = None if key == index else index
        if made is not None:
            pointers[made[0]] = made[1]
        if index is None and not pointers:
            return None
    return None


def next_row(w: RegionWriter, site: str, place: str, step: str) -> str:
    """Pointer to the row `step` (i64) bytes behind `place`; null where the array has none there."""
    host = w.emit(f"load i64, ptr {w.emit(f'getelementptr i8, ptr {site}, i64 {at.SITE_HOST}')}")
    limit = w.emit(f"load i32, ptr {w.emit(f'getelementptr i8, ptr {site}, i64 {at.SITE_LIMIT}')}")
    there = w.emit(f"getelementptr i8, ptr {place}, i64 {step}")
    offset = w.emit(f"sub i64 {w.emit(f'ptrtoint ptr {there} to i64')}, {host}")
    last = w.emit(f"add i64 {offset}, 124")
    room = w.emit(f"zext i32 {limit} to i64")
    inside = w.emit(f"icmp ult i64 {last}, {room}")
    begins = w.emit(f"icmp ult i64 {offset}, {room}")
    return w.emit(f"select i1 {w.emit(f'and i1 {inside}, {begins}')}, ptr {there}, ptr null")


def ask_ahead(w: RegionWriter, site: str, address: tuple[Value, Value | None, int], *,
              writes: bool) -> Callable[[], None]:  # fmt: skip
    """What asks, behind the present access, for what a later warp will access, if it goes through a
    row.

    For half of the lanes there, for the others where the next row is loaded (`ask_for_rest`):
    processors keep a few lines under way, and wait where they are asked for more.
    """
    found = w.index_rows.pop(w.index, None)
    if found is None or not found.ahead:
        return lambda: None
    low, _, offset = address

    def ask() -> None:
        name = f"wl.ahead.{_kind(writes)}"
        w.module.helper(name, _first_half(name, writes))
        w.line(
            f"call void @{name}(ptr {site}, ptr {found.site}, ptr {found.ahead}, {V} {found.row}, "
            f"{V} {low.ref}, i32 {offset & 0xFFFFFFFF}, i32 {found.scale})"
        )

    return ask


def ask_for_rest(w: RegionWriter, site: str, indices: IndexRow) -> None:
    """Asks for what was left when the access behind the last row asked; `site` is the row's."""
    name = f"wl.ahead.{_kind(indices.writes)}.rest"
    w.module.helper(name, _second_half(name, indices.writes))
    w.line(f"call void @{name}(ptr {site})")


def _kind(writes: bool) -> str:
    return "store" if writes else "load"


def _half(writes: bool) -> str:
    """Lines that ask for 16 places: their offsets from %host are at %offsets."""
    return "\n".join(
        f"""  %p{i} = getelementptr i32, ptr %offsets, i64 {i}
  %o{i} = load i32, ptr %p{i}, align 4
  %w{i} = zext i32 %o{i} to i64
  %h{i} = getelementptr i8, ptr %host, i64 %w{i}
  call void @llvm.prefetch.p0(ptr %h{i}, i32 {int(writes)}, i32 3, i32 1)"""
        for i in range(16)
    )


def _second_half(name: str, writes: bool) -> str:
    """@wl.ahead.*.rest: asks for the 16 places that the row's site has noted, if any."""
    return f"""define internal void @{name}(ptr %rows) noinline {{
entry:
  %hp = getelementptr i8, ptr %rows, i64 {at.SITE_COMING_HOST}
  %host = load ptr, ptr %hp, align 8
  %is = icmp ne ptr %host, null
  br i1 %is, label %ask, label %done
ask:
  %offsets = getelementptr i8, ptr %rows, i64 {at.SITE_COMING}
{_half(writes)}
  br label %done
done:
  ret void
}}"""


def _first_half(name: str, writes: bool) -> str:
    """@wl.ahead.*: asks for 16 places in the allocation that the site remembers, if lanes went to
    places of their own there the last time, and notes 16 others in the row's site."""
    order = ", ".join(f"i32 {i}" for i in range(16, 32))
    return f"""define internal void @{name}(ptr %site, ptr %rows, ptr %next, {V} %row, {V} %low,
    i32 %imm, i32 %scale) noinline {{
entry:
  %offsets = alloca {V}, align 128
  %kept.p = getelementptr i8, ptr %rows, i64 {at.SITE_COMING_HOST}
  %sp = getelementptr i8, ptr %site, i64 {at.SITE_SCATTERED}
  %scattered = load i32, ptr %sp, align 4
  %was = icmp ne i32 %scattered, 0
  %is = icmp ne ptr %next, null
  %go = and i1 %was, %is
  br i1 %go, label %ask, label %no
no:
  store ptr null, ptr %kept.p, align 8
  ret void
ask:
  %new = load {V}, ptr %next, align 4
  %apart = sub {V} %new, %row
{splat("%factor", "%scale")}
  %away = mul {V} %apart, %factor
  %bp = getelementptr i8, ptr %site, i64 {at.SITE_LOW}
  %base = load i32, ptr %bp, align 4
  %delta = sub i32 %imm, %base
{splat("%dv", "%delta")}
  %here = add {V} %low, %dv
  %off = add {V} %here, %away
{store_for_lanes("off", "%off", "%offsets")}
  %others = shufflevector {V} %off, {V} poison, <16 x i32> <{order}>
  %others.p = getelementptr i8, ptr %rows, i64 {at.SITE_COMING}
  store <16 x i32> %others, ptr %others.p, align 64
  %hp = getelementptr i8, ptr %site, i64 {at.SITE_HOST}
  %host = load ptr, ptr %hp, align 8
  store ptr %host, ptr %kept.p, align 8
{_half(writes)}
  ret void
}}"""
