"""Helper functions in LLVM IR for the pattern of offsets that an access site remembers.

Lanes that access the same offsets relative to lane 0, at the same phase modulo 128, touch the same
number of sectors and lines. Banks only rotate when all shared offsets move by whole words, so there
the phase is taken modulo 4.
"""

from __future__ import annotations

from warplens.lift import layout as at
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


Parts = tuple[tuple[int, int], ...]  # of counters side by side: (the first one's slot, how many)


def _place(name: str, first: int, parts: Parts) -> str:
    begin = at.SITE_COUNTS if len(parts) == 1 else at.SITE_ADDED
    return f"  %{name} = getelementptr i8, ptr %site, i64 {begin + 8 * (first - parts[0][0])}"


def known_counts(parts: Parts) -> str:
    """Lines that define %known.FIRST: what the site's pattern adds to counters."""
    return "\n".join(
        f"""{_place(f"known.p{first}", first, parts)}
  %known.{first} = load <{n} x i64>, ptr %known.p{first}, align 16"""
        for first, n in parts
    )


def new_counts(counts: dict[int, str], parts: Parts) -> str:
    """Lines that define %new.FIRST, what a new pattern adds to the counters of these slots (i64s by
    name), and note it in the site."""
    lines = []
    for first, n in parts:
        v, vector = f"<{n} x i64>", "zeroinitializer"
        for slot in range(first, first + n):
            if slot in counts:
                name = f"%new.{first}.{slot}"
                lines.append(
                    f"  {name} = insertelement {v} {vector}, i64 {counts[slot]}, i64 {slot - first}"
                )
                vector = name
        lines.append(f"""  %new.{first} = or {v} {vector}, zeroinitializer
{_place(f"new.p{first}", first, parts)}
  store {v} %new.{first}, ptr %new.p{first}, align 16""")
    return "\n".join(lines)


def add_counts(fresh: tuple[str, ...], parts: Parts) -> str:
    """Lines that add what the pattern counts: known at label repeat, new at labels `fresh`.

    The vectors are those of every other access with a known pattern: a vector is slow to load from
    where single counters were stored just before.
    """
    ways = {
        first: "".join(f", [ %new.{first}, %{label} ]" for label in fresh) for first, _ in parts
    }
    lines = [
        f"  %counts.{first} = phi <{n} x i64> [ %known.{first}, %repeat ]{ways[first]}"
        for first, n in parts
    ]
    for first, n in parts:
        v, name = f"<{n} x i64>", f"counts{first}"
        lines.append(f"""  %{name}.i = add nsw i32 %counter, {first}
  %{name}.p = getelementptr i64, ptr %counters, i32 %{name}.i
  %{name}.o = load {v}, ptr %{name}.p, align 8
  %{name}.n = add {v} %{name}.o, %counts.{first}
  store {v} %{name}.n, ptr %{name}.p, align 8""")
    return "\n".join(lines)
