"""Helper functions in LLVM IR for the pattern of offsets that an access site remembers.

Lanes that access the same offsets relative to lane 0, at the same phase modulo 128, touch the same
number of sectors and lines. Banks only rotate when all shared offsets move by whole words, so there
the phase is taken modulo 4.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting.slots import REQUESTS
from warplens.lift.vector_ir import P, V, splat


def remember() -> dict[str, str]:
    """@wl.known / @wl.remember: the pattern of a site and whether an access repeats it."""
    known = f"""define internal i1 @wl.known(ptr %site, {V} %off, i32 %mask, i32 %wrap) alwaysinline {{
  %first = extractelement {V} %off, i32 0
{splat("%base", "%first")}
  %pattern = sub {V} %off, %base
  %phase = and i32 %first, %wrap
  %mp = getelementptr i8, ptr %site, i64 {at.SITE_MASK}
  %old_mask = load i32, ptr %mp, align 4
  %pp = getelementptr i8, ptr %site, i64 {at.SITE_PHASE}
  %old_phase = load i32, ptr %pp, align 4
  %same_mask = icmp eq i32 %mask, %old_mask
  %same_phase = icmp eq i32 %phase, %old_phase
  %vp = getelementptr i8, ptr %site, i64 {at.SITE_PATTERN}
  %old = load {V}, ptr %vp, align 64
  %eq = icmp eq {V} %pattern, %old
  %bits = bitcast {P} %eq to i32
  %hit = and i32 %bits, %mask
  %all = icmp eq i32 %hit, %mask
  %ok1 = and i1 %same_mask, %same_phase
  %ok = and i1 %ok1, %all
  ret i1 %ok
}}"""
    store = f"""define internal void @wl.remember(ptr %site, {V} %off, i32 %mask, i32 %wrap) {{
  %first = extractelement {V} %off, i32 0
{splat("%base", "%first")}
  %pattern = sub {V} %off, %base
  %phase = and i32 %first, %wrap
  %mp = getelementptr i8, ptr %site, i64 {at.SITE_MASK}
  store i32 %mask, ptr %mp, align 4
  %pp = getelementptr i8, ptr %site, i64 {at.SITE_PHASE}
  store i32 %phase, ptr %pp, align 4
  %vp = getelementptr i8, ptr %site, i64 {at.SITE_PATTERN}
  store {V} %pattern, ptr %vp, align 64
  ret void
}}"""
    return {"wl.known": known, "wl.remember": store}


_ALL = 8  # numbers that a pattern adds, to counters side by side
_A = f"<{_ALL} x i64>"


def known_counts() -> str:
    """Lines that define %known.v: what the site's pattern adds to its counters."""
    return f"""  %known.p = getelementptr i8, ptr %site, i64 {at.SITE_COUNTS}
  %known.v = load {_A}, ptr %known.p, align 64"""


def new_counts(counts: dict[int, str]) -> str:
    """Lines that define %new.v, what a new pattern adds to the counters of these slots (i64s by
    name), and note it in the site."""
    vector, lines = "zeroinitializer", []
    for slot, value in counts.items():
        name = f"%new.{slot}"
        lines.append(f"  {name} = insertelement {_A} {vector}, i64 {value}, i64 {slot - REQUESTS}")
        vector = name
    return "\n".join(lines) + f"""
  %new.v = or {_A} {vector}, zeroinitializer
  %new.p = getelementptr i8, ptr %site, i64 {at.SITE_COUNTS}
  store {_A} %new.v, ptr %new.p, align 64"""


def add_counts(fresh: tuple[str, ...], *parts: tuple[int, int]) -> str:
    """Lines that add %known.v, or %new.v behind labels `fresh`: (first of the eight, how many).

    The vectors are those of every other access with a known pattern: a vector is slow to load from
    where single counters were stored just before.
    """
    ways = "".join(f", [ %new.v, %{label} ]" for label in fresh)
    lines = [f"  %counts = phi {_A} [ %known.v, %repeat ]{ways}"]
    for first, n in parts:
        v, name = f"<{n} x i64>", f"counts{first}"
        order = ", ".join(f"i32 {i}" for i in range(first, first + n))
        lines.append(f"""  %{name}.a = shufflevector {_A} %counts, {_A} poison, <{n} x i32> <{order}>
  %{name}.i = add nsw i32 %counter, {REQUESTS + first}
  %{name}.p = getelementptr i64, ptr %counters, i32 %{name}.i
  %{name}.o = load {v}, ptr %{name}.p, align 8
  %{name}.n = add {v} %{name}.o, %{name}.a
  store {v} %{name}.n, ptr %{name}.p, align 8""")
    return "\n".join(lines)
