"""Code for loads from shared memory whose lanes' addresses lie to each other in a known way.

How the lanes' addresses differ follows from the address register alone, so it is found once for all
accesses through a register's value; of each access only its distance is left to check. Three ways
are served inline: one row, one place for all lanes, and with AVX-512 whatever the site remembers
that lies within 256 bytes (quick_ir.py), by permutes of these bytes.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift import vector_ir
from warplens.lift.counting import slots
from warplens.lift.counting.window_ir import NEAR, WIDE
from warplens.lift.engines.llvm_lanes import Value
from warplens.lift.regions.address_patterns import Pattern
from warplens.lift.regions.writer import RegionWriter
from warplens.lift.runtime import quick_ir

Found = list[tuple[str, str, list[str]]]

_V, _H = "<32 x i32>", "<16 x i32>"
_ROW, _SAME, _NEAR, _WIDE = 1, 2, NEAR, WIDE
_NEVER = 1 << 40  # a span that fits nowhere


def load_same(w: RegionWriter, place: str, size: int, signed: bool) -> list[str]:
    """One place's words, in all lanes."""
    if size <= 2:
        narrow = w.emit(f"load i{8 * size}, ptr {place}, align 1")
        wide = w.emit(f"{'sext' if signed else 'zext'} i{8 * size} {narrow} to i32")
        return [w.x.broadcast("u32", wide).ref]
    words = []
    for k in range(size // 4):
        at_word = w.emit(f"getelementptr i8, ptr {place}, i64 {4 * k}")
        word = w.emit(f"load i32, ptr {at_word}, align 4")
        words.append(w.x.broadcast("u32", word).ref)
    return words


def _strided(start: int, step: int, n: int) -> str:
    return f"<{n} x i32> <" + ", ".join(f"i32 {start + step * i}" for i in range(n)) + ">"


def load_row(w: RegionWriter, place: str, size: int, signed: bool) -> list[str]:
    """The words of lanes that stand side by side in memory."""
    if size <= 2:
        n = 8 * size
        narrow = w.emit(f"load <32 x i{n}>, ptr {place}, align 1")
        return [w.emit(f"{'sext' if signed else 'zext'} <32 x i{n}> {narrow} to <32 x i32>")]
    words = size // 4
    kind = f"<{32 * words} x i32>"
    row = w.emit(f"load {kind}, ptr {place}, align 4")
    if words == 1:
        return [row]
    return [
        w.emit(f"shufflevector {kind} {row}, {kind} poison, {_strided(k, words, 32)}")
        for k in range(words)
    ]


def _load_window(w: RegionWriter, place: str, size: int, apart: str, registers: int) -> list[str]:
    """Every lane's words, by permutes of 64 bytes times `registers` from `place` on."""
    name = "llvm.x86.avx512.vpermi2var.d.512"
    rows = []
    for r in range(registers):
        there = w.emit(f"getelementptr i8, ptr {place}, i64 {64 * r}")
        rows.append(w.emit(f"load {_H}, ptr {there}, align 4"))
    index = w.emit(f"lshr {_V} {apart}, splat (i32 2)")
    halves = [
        w.emit(f"shufflevector {_V} {index}, {_V} poison, {_strided(first, 1, 16)}")
        for first in (0, 16)
    ]
    words = []
    for word in range(size // 4):
        parts = []
        for half in halves:
            i = w.emit(f"add {_H} {half}, splat (i32 {word})") if word else half
            low, *high = [
                w.emit(f"call {_H} @{name}({_H} {a}, {_H} {i}, {_H} {b})")
                for a, b in zip(rows[::2], rows[1::2], strict=True)
            ]
            if high:
                bit = w.emit(f"and {_H} {i}, splat (i32 32)")
                up = w.emit(f"icmp ne {_H} {bit}, zeroinitializer")
                low = w.emit(f"select <16 x i1> {up}, {_H} {high[0]}, {_H} {low}")
            parts.append(low)
        words.append(
            w.emit(f"shufflevector {_H} {parts[0]}, {_H} {parts[1]}, {_strided(0, 1, 32)}")
        )
    return words


def _has_window(w: RegionWriter, size: int) -> bool:
    return quick_ir.has_window(w.features, size)


def _lanes_where(w: RegionWriter, test: str, mask: str) -> str:
    bits = w.emit(f"bitcast <32 x i1> {test} to i32")
    return w.emit(f"and i32 {bits}, {mask}")


def _remembered(w: RegionWriter, site: str, apart: str, mask: str) -> tuple[str, str]:
    """(kind, span) of what the site remembers if the lanes repeat it."""

    def word(offset: int) -> str:
        place = w.emit(f"getelementptr i8, ptr {site}, i64 {offset}")
        return w.emit(f"load i32, ptr {place}, align 4")

    place = w.emit(f"getelementptr i8, ptr {site}, i64 {at.SITE_PATTERN}")
    old = w.emit(f"load {_V}, ptr {place}, align 64")
    hit = _lanes_where(w, w.emit(f"icmp eq {_V} {apart}, {old}"), mask)
    all_hit = w.emit(f"icmp eq i32 {hit}, {mask}")
    same_mask = w.emit(f"icmp eq i32 {mask}, {word(at.SITE_MASK)}")
    known = w.emit(f"and i1 {all_hit}, {same_mask}")
    span = w.emit(f"zext i32 {word(at.SITE_SPAN)} to i64")
    span = w.emit(f"select i1 {known}, i64 {span}, i64 {_NEVER}")
    return word(at.SITE_WINDOW), span


def _one_address(w: RegionWriter, site: str, first: str, size: int, mask: str) -> Pattern:
    """The pattern of an address that is the same in all lanes."""
    some = w.emit(f"icmp ne i32 {mask}, 0")
    full = w.emit(f"icmp eq i32 {mask}, {mask if size <= 4 else -1}")
    good = w.emit(f"and i1 {some}, {full}")
    span = w.emit(f"select i1 {good}, i64 {size}, i64 {_NEVER}")
    return Pattern(first=first, kind="", span=span, wrap=str(size - 1), apart="", site=site)


def _lie_at(w: RegionWriter, apart: str, places: str, mask: str, wanted: str) -> str:
    """i1: the lanes lie at these distances from lane 0, and some lane executes."""
    hit = _lanes_where(w, w.emit(f"icmp eq {_V} {apart}, {places}"), mask)
    same = w.emit(f"icmp eq i32 {hit}, {wanted}")
    return w.emit(f"and i1 {same}, {w.emit(f'icmp ne i32 {mask}, 0')}")


def _words_up_to(w: RegionWriter, mask: str) -> str:
    """Bytes of a row of words up to its highest lane; what lies behind may be read, not used: the
    memory of a block has room behind it."""
    words = w.emit(f"add i32 {w.highest_lane(mask)}, 1")
    return w.emit(f"zext i32 {w.emit(f'shl i32 {words}, 2')} to i64")


def _find_pattern(w: RegionWriter, site: str, low: Value, size: int, mask: str) -> Pattern:
    """Finds how the lanes' addresses lie, at the place of the first access."""
    if low.scalar is not None:
        return _one_address(w, site, low.scalar, size, mask)
    first = w.emit(f"extractelement {_V} {low.ref}, i32 0")
    apart = w.emit(f"sub {_V} {low.ref}, {w.x.broadcast('u32', first).ref}")
    found, is_row, not_row, is_same, other = (
        w.module.label(s) for s in ("pattern", "isrow", "notrow", "issame", "other")
    )
    row = _lie_at(w, apart, vector_ir.scaled_lanes(size), mask, mask if size == 4 else "-1")
    w.line(f"br i1 {row}, label %{is_row}, label %{not_row}")
    w.module.start(is_row)
    row_span = str(32 * size) if size != 4 else _words_up_to(w, mask)
    w.line(f"br label %{found}")
    w.module.start(not_row)
    same = _lie_at(w, apart, "zeroinitializer", mask, mask if size <= 4 else "-1")
    w.line(f"br i1 {same}, label %{is_same}, label %{other}")
    w.module.start(is_same)
    w.line(f"br label %{found}")
    w.module.start(other)
    kind_of_other, span_of_other = (
        _remembered(w, site, apart, mask) if _has_window(w, size) else ("0", str(_NEVER))
    )
    w.line(f"br label %{found}")
    w.module.start(found)

    def either(type: str, at_row: object, at_same: object, at_other: object) -> str:
        return w.emit(f"phi {type} [ {at_row}, %{is_row} ], [ {at_same}, %{is_same} ], "
                      f"[ {at_other}, %{other} ]")  # fmt: skip

    row_wrap = 3 if size == 4 else min(128, 32 * size) - 1
    return Pattern(
        first=first, kind=either("i32", _ROW, _SAME, kind_of_other),
        span=either("i64", row_span, size, span_of_other),
        wrap=either("i32", row_wrap, size - 1, size - 1), apart=apart, site=site,
    )  # fmt: skip


def _count_same(w: RegionWriter, slot: int, size: int, mask: str) -> None:
    """Counts a load of one place: all lanes but one repeat its bytes."""
    w.count(slot + slots.SAME, "1")
    others = w.emit(f"sub i64 {w.popcount(mask)}, 1")
    w.count(slot + slots.REPEATED_BYTES, w.emit(f"mul i64 {others}, {size}"))


def _count_remembered(w: RegionWriter, slot: int, site: str) -> None:
    """Counts what the remembered pattern counts, all counters of the access at once."""
    n = slots.SLOTS - slots.REQUESTS
    place = w.emit(f"getelementptr i64, ptr %counters, i64 {slot + slots.REQUESTS}")
    more_place = w.emit(f"getelementptr i8, ptr {site}, i64 {at.SITE_COUNTS}")
    more = w.emit(f"load <{n} x i64>, ptr {more_place}, align 64")
    old = w.emit(f"load <{n} x i64>, ptr {place}, align 8")
    w.line(f"store <{n} x i64> {w.emit(f'add <{n} x i64> {old}, {more}')}, ptr {place}, align 8")


def inline_shared(w: RegionWriter, site: str, low: Value, offset: int, size: int, mask: str,
                  signed: bool, slot: int) -> Found:  # fmt: skip
    """Loads in the ways above: (label behind the load, last label, words) of each.

    The code goes on where the general path is to be written.
    """
    key = (low.ref, mask, size)
    pattern = w.patterns.get(key)
    if pattern is None:
        pattern = w.patterns[key] = _find_pattern(w, site, low, size, mask)
    start = w.emit(f"add i32 {pattern.first}, {offset}") if offset else pattern.first
    end = w.emit(f"add i64 {w.emit(f'zext i32 {start} to i64')}, {pattern.span}")
    inside = w.emit(f"icmp sle i64 {end}, {w.env(at.ENV_SHARED_LIMIT)}")
    phase = w.emit(f"and i32 {start}, {pattern.wrap}")
    good = w.emit(f"and i1 {inside}, {w.emit(f'icmp eq i32 {phase}, 0')}")
    fast, slow = w.module.label("quick"), w.module.label("walk")
    w.line(f"br i1 {good}, label %{fast}, label %{slow}, !prof !1")
    w.module.start(fast)
    host = w.emit(f"inttoptr i64 {w.env(at.ENV_SHARED)} to ptr")
    place = w.emit(f"getelementptr i8, ptr {host}, i32 {start}")
    found = _load_ways(w, pattern, place, size, mask, signed, slot, fast)
    w.module.start(slow)
    return found


def _load_ways(w: RegionWriter, pattern: Pattern, place: str, size: int, mask: str, signed: bool,
               slot: int, label: str) -> Found:  # fmt: skip
    """Loads from a checked place in the pattern's way; `label` is the present block."""
    ways = [_SAME, _ROW] if pattern.kind else [_SAME]
    if pattern.kind and _has_window(w, size):
        w.module.helper(*next(iter(quick_ir.WINDOW_DECLARATIONS.items())))
        ways = [_SAME, _NEAR, _ROW, _WIDE]
    done = w.module.label("loaded")
    found: Found = []
    for way in ways:
        last, other = label, ""
        if way != ways[-1]:
            last, other = w.module.label("way"), w.module.label("ways")
            test = w.emit(f"icmp eq i32 {pattern.kind}, {way}")
            w.line(f"br i1 {test}, label %{last}, label %{other}")
            w.module.start(last)
        if way == _SAME:
            words = load_same(w, place, size, signed)
            _count_same(w, slot, size, mask)
        elif way == _ROW:
            words = load_row(w, place, size, signed)
            w.count(slot, "1")
        else:
            words = _load_window(w, place, size, pattern.apart, 2 if way == _NEAR else 4)
            _count_remembered(w, slot, pattern.site)
        w.line(f"br label %{done}")
        found.append((done, last, words))
        if other:
            w.module.start(other)
            label = other
    return found
