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


def remembered(*names: tuple[str, int]) -> str:
    """Lines that load what the site remembers of a pattern: %NAME.r from each place."""
    return "\n".join(
        f"""  %{name}.rp = getelementptr i8, ptr %site, i64 {place}
  %{name}.r = load i32, ptr %{name}.rp, align 4"""
        for name, place in names
    )


def kept(*names: tuple[str, int]) -> str:
    """Lines that store what was counted of a new pattern, %NAME.f, in the site."""
    return "\n".join(
        f"""  %{name}.kp = getelementptr i8, ptr %site, i64 {place}
  store i32 %{name}.f, ptr %{name}.kp, align 4"""
        for name, place in names
    )


def either(names: tuple[str, ...], *fresh: str) -> str:
    """Lines that take %NAME from memory or from one of the blocks `fresh`; %NAME.w is an i64."""
    phis = [
        f"  %{n} = phi i32 [ %{n}.r, %repeat ]" + "".join(f", [ %{n}.f, %{f} ]" for f in fresh)
        for n in names
    ]
    return "\n".join([*phis, *(f"  %{n}.w = zext i32 %{n} to i64" for n in names)])
