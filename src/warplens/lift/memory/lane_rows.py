"""Groups of loads in which every lane reads neighbouring words: found here, served together.

The first load of a group reads what all of them need (lane_rows_ir.py); where that is not possible
each goes the general way. Nothing between the loads may write memory or change the address.
"""

from __future__ import annotations

from warplens.lift.decode.binding import Bound, access_bytes
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.address_patterns import LaneRows
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import lane_rows_ir
from warplens.sass.model import RZ, Mem

_SPAN = 64  # bytes that a group reads per lane, at most
_LEAST = 3  # loads that make a group worth it
_HARMLESS = frozenset({"value", "load", "load_constant", "load_constant_uniform", "s2r"})


def _offset(item: Bound, base: int) -> int | None:
    """The immediate offset of a plain load of a word from the address in registers `base`."""
    mem = next((o for o in item.inst.operands if isinstance(o, Mem)), None)
    if (
        mem is None
        or item.op.role != "load"
        or item.op.attributes.get("space") != "global"
        or access_bytes(item.inst) != 4
        or "STRONG" in item.inst.modifiers
        or not item.inst.is_unguarded
        or mem.base is None
        or mem.base.index != base
        or mem.base_u32
        or mem.scale != 1
        or mem.uniform is not None
    ):
        return None
    return mem.offset


def _last_of_run(w: RegionWriter) -> int:
    """Where the straight code that the present instruction stands in ends."""
    blocks, i = w.layout.blocks, w.block.index + 1
    while i < w.region.last and blocks[i].is_rest:
        i += 1
    return blocks[i - 1].end


def _group(w: RegionWriter, base: int) -> dict[int, int]:
    """Index -> offset of the loads from `base` that can be served with the present one."""
    found: dict[int, int] = {}
    for i in range(w.index, _last_of_run(w)):
        item = w.bound[i]
        if item.op.role not in _HARMLESS:
            break
        offset = _offset(item, base)
        if offset is not None:
            every = (*found.values(), offset)
            if max(every) - min(every) <= _SPAN - 4 and (offset - every[0]) % 4 == 0:
                found[i] = offset
        if item.writes & {base, base + 1}:
            break
    return found


def _free_area(w: RegionWriter) -> int:
    """The number of an area that no group still needs."""
    taken = {g.area for g, _ in w.lane_rows.values() if g.last >= w.index}
    area = next(i for i in range(len(taken) + 1) if i not in taken)
    w.areas[w.region.index] = max(area + 1, w.areas.get(w.region.index, 0))
    return area


def _begin(w: RegionWriter, base: int, site: str, address: tuple[Value, Value | None, int]) -> None:
    """Starts a group at the present load, if others follow."""
    found = _group(w, base)
    if len(found) < _LEAST:
        return
    first, last = min(found.values()), max(found.values())
    words = next(n for n in (4, 8, 16) if last - first < 4 * n)
    if 4 * len(found) < words:
        return
    group = LaneRows(first, words, max(found), w.mask, _free_area(w))
    for i, offset in found.items():
        w.lane_rows[i] = (group, offset - first)
    for name, text in lane_rows_ir.functions(words):
        w.module.helper(name, text)
    low, high, _ = address
    assert high is not None
    group.is_there = w.emit(
        f"call i1 @wl.rows.{words}(ptr {site}, i32 {w.mask}, i32 {first}, <32 x i32> {low.ref}, "
        f"<32 x i32> {high.ref}, ptr %area{group.area})"
    )


def serve(w: RegionWriter, item: Bound, site: str, address: tuple[Value, Value | None, int],
          slot: int) -> list[tuple[str, str, list[str]]]:  # fmt: skip
    """Serves the present load from its group: (label behind it, last label, words), or nothing.

    The code goes on where the general path is to be written.
    """
    mem = next((o for o in item.inst.operands if isinstance(o, Mem)), None)
    if mem is None or mem.base is None or mem.base.index == RZ or w.watch.checks:
        return []
    base = mem.base.index
    if _offset(item, base) is None or not w.inline_rows:
        return []
    if w.index not in w.lane_rows:
        _begin(w, base, site, address)
    group, shift = w.lane_rows.get(w.index, (None, 0))
    if group is None or group.mask != w.mask:
        return []
    done, taken, slow = w.module.label("loaded"), w.module.label("taken"), w.module.label("walk")
    w.line(f"br i1 {group.is_there}, label %{taken}, label %{slow}")
    w.module.start(taken)
    area = f"%area{group.area}"
    w.line(
        f"call void @wl.rows.count.{group.words}(ptr %env, ptr {area}, i32 {w.mask}, i32 {shift}, "
        f"i32 {slot})"
    )
    place = w.emit(f"getelementptr i8, ptr {area}, i64 {128 + 32 * shift}")
    word = w.emit(f"load <32 x i32>, ptr {place}, align 64")
    w.line(f"br label %{done}")
    w.module.start(slow)
    return [(done, taken, [word])]
