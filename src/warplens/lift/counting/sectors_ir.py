"""Helper functions in LLVM IR that count global and local accesses: sectors, lines, distinct bytes.

The rules are those seen on an H200 (validation/README.md). What a pattern of offsets counts is
remembered in the access site, see remember_ir.py. Lanes behind the last that accesses, as in blocks
that end in a part of a warp, need not rise.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting.remember_ir import add_counts, known_counts, new_counts
from warplens.lift.counting.slots import (
    BYTES,
    IDEAL_SECTORS,
    LINES,
    LOCAL_SHARED_BYTES,
    REPEATED,
    SECTORS,
    SHARED_BYTES,
)
from warplens.lift.vector_ir import COUNTERS_POINTER, P, V, add_counter, splat

_PARTS = ((SECTORS, 4), (SHARED_BYTES, 2))  # of the counters of an access


def _passes_of_atomics() -> str:
    """Lanes with one address take turns; each turn looks its own sectors up."""
    return f"""  %shared = icmp ne i32 %more, 0
  %sec.v = lshr {V} %off, splat (i32 5)
  br i1 %shared, label %turn, label %keep
turn:
  %left = phi i32 [ %mask, %found ], [ %left2, %turn ]
  %sum = phi i32 [ 0, %found ], [ %sum2, %turn ]
  %tu = call i32 @wl.distinct({V} %off, i32 %left)
  %ts = call i32 @wl.distinct({V} %sec.v, i32 %tu)
  %tn = call i32 @llvm.ctpop.i32(i32 %ts)
  %sum2 = add i32 %sum, %tn
  %left2 = xor i32 %left, %tu
  %again = icmp ne i32 %left2, 0
  br i1 %again, label %turn, label %keep
keep:
  %all.f = phi i32 [ %sec.f, %found ], [ %sum2, %turn ]
  %rep.f = sub i32 %all.f, %sec.f"""


def count_apart(size: str, lines: str) -> str:
    """Lines that count lanes in sectors of their own, and note at %ap.p that they were."""
    return f"""  %own.n = call i32 @llvm.ctpop.i32(i32 %mask)
  %own = zext i32 %own.n to i64
  %own.l = zext i32 {lines} to i64
  %own.s = zext i32 {size} to i64
  %own.b = mul i64 %own, %own.s
  %own.r = add i64 %own.b, 31
  %own.i = lshr i64 %own.r, 5
  %own.few = icmp ult i64 %own.i, %own
  %own.ideal = select i1 %own.few, i64 %own.i, i64 %own
{add_counter("e1", SECTORS, "%own")}
{add_counter("e2", IDEAL_SECTORS, "%own.ideal")}
{add_counter("e3", LINES, "%own.l")}
{add_counter("e4", BYTES, "%own.b")}
  store i32 {at.SURELY_APART}, ptr %ap.p, align 4"""


def count_sectors(is_atomic: bool = False) -> str:
    """@wl.sectors (.atomic): adds sectors, lines and bytes of one group of lanes.

    `%off` are the lanes' offsets (the segment's base is 128-byte aligned). Returns whether they lie
    to each other as in the site's last access.
    """
    name = "wl.sectors.atomic" if is_atomic else "wl.sectors"
    no_turns = "  %rep.f = add i32 0, 0\n  br label %keep\nkeep:"
    turns = _passes_of_atomics() if is_atomic else no_turns
    return f"""define internal i1 @{name}(ptr %env, ptr %site, {V} %off, i32 %mask, i32 %size,
    i32 %counter) noinline {{
entry:
{COUNTERS_POINTER}
  %lanes = call i32 @llvm.ctpop.i32(i32 %mask)
  %bytes = mul i32 %lanes, %size
  %one = icmp eq i32 %lanes, 1
  br i1 %one, label %single, label %several
single:
  %bytes.1 = zext i32 %bytes to i64
{add_counter("s1", SECTORS, "1")}
{add_counter("s2", IDEAL_SECTORS, "1")}
{add_counter("s3", LINES, "1")}
{add_counter("s4", BYTES, "%bytes.1")}
  ret i1 false
several:
  %ap.p = getelementptr i8, ptr %site, i64 {at.SITE_APART}
  %ap.n = load i32, ptr %ap.p, align 4
  %ap.is = icmp uge i32 %ap.n, {at.APART}
  br i1 %ap.is, label %first, label %ask
first: ; where lanes went to sectors of their own they mostly do again
  %ap.1 = call i32 @wl.apart({V} %off, i32 %mask)
  %ap.own = icmp ne i32 %ap.1, 0
  br i1 %ap.own, label %each, label %ask
each:
{count_apart("%size", "%ap.1")}
  ret i1 false
ask:
  %known = call i1 @wl.known(ptr %site, {V} %off, i32 %mask, i32 127)
  br i1 %known, label %repeat, label %fresh
repeat:
  store i32 0, ptr %ap.p, align 4
{known_counts(_PARTS)}
  br label %add
fresh:
  %up = call i32 @wl.rises({V} %off)
  %over = add i32 %mask, 1
  %gap = and i32 %mask, %over
  %isfront = icmp eq i32 %gap, 0
  %behind = xor i32 %mask, -1
  %free = select i1 %isfront, i32 %behind, i32 0
  %as = or i32 %up, %free
  %rising = icmp eq i32 %as, -1
  br i1 %rising, label %runs, label %mixed
runs:
  store i32 0, ptr %ap.p, align 4
  %an.r = call i32 @wl.runs({V} %off, i32 %mask, i32 1)
  %sec.r2 = call i32 @wl.runs({V} %off, i32 %mask, i32 32)
  %lin.r2 = call i32 @wl.runs({V} %off, i32 %mask, i32 128)
  br label %found
mixed:
  br i1 %ap.is, label %near, label %try
try:
  %ap.2 = call i32 @wl.apart({V} %off, i32 %mask)
  %ap.far = icmp ne i32 %ap.2, 0
  br i1 %ap.far, label %far, label %near
far:
  %ap.up = add i32 %ap.n, 1
  store i32 %ap.up, ptr %ap.p, align 4
  br label %found
near:
  %ap.down = call i32 @llvm.usub.sat.i32(i32 %ap.n, i32 1)
  store i32 %ap.down, ptr %ap.p, align 4
  %three = call {{ i32, i32, i32 }} @wl.touched({V} %off, i32 %mask)
  %an.m = extractvalue {{ i32, i32, i32 }} %three, 0
  %sec.m = extractvalue {{ i32, i32, i32 }} %three, 1
  %lin.m = extractvalue {{ i32, i32, i32 }} %three, 2
  br label %found
found:
  %an = phi i32 [ %an.r, %runs ], [ %lanes, %far ], [ %an.m, %near ]
  %sec.f = phi i32 [ %sec.r2, %runs ], [ %lanes, %far ], [ %sec.m, %near ]
  %lin.f = phi i32 [ %lin.r2, %runs ], [ %ap.2, %far ], [ %lin.m, %near ]
  %more = sub i32 %lanes, %an
  %dup.f = mul i32 %more, %size
{turns}
  call void @wl.remember(ptr %site, {V} %off, i32 %mask, i32 127)
  %round = add i32 %bytes, 31
  %packed = lshr i32 %round, 5
  %ideal = call i32 @llvm.umin.i32(i32 %packed, i32 %sec.f)
  %sec.w = zext i32 %sec.f to i64
  %ideal.w = zext i32 %ideal to i64
  %lin.w = zext i32 %lin.f to i64
  %bytes.w = zext i32 %bytes to i64
  %dup.w = zext i32 %dup.f to i64
  %rep.w = zext i32 %rep.f to i64
{new_counts({SECTORS: "%sec.w", IDEAL_SECTORS: "%ideal.w", LINES: "%lin.w", BYTES: "%bytes.w",
             SHARED_BYTES: "%dup.w", REPEATED: "%rep.w"}, _PARTS)}
  br label %add
add: ; all but requests, which are counted elsewhere
{add_counts(("keep",), _PARTS)}
  ret i1 %known
}}"""


def count_local_bytes() -> str:
    """@wl.local.bytes: adds the bytes that lanes with one offset share."""
    return f"""define internal void @wl.local.bytes(ptr %env, {V} %off, i32 %mask, i32 %lane,
    i32 %size, i32 %counter) noinline {{
entry:
{COUNTERS_POINTER}
  %lanes = call i32 @llvm.ctpop.i32(i32 %mask)
  %first = extractelement {V} %off, i32 %lane
{splat("%fv", "%first")}
  %eq = icmp eq {V} %off, %fv
  %eqb = bitcast {P} %eq to i32
  %hit = and i32 %eqb, %mask
  %all = icmp eq i32 %hit, %mask
  br i1 %all, label %add, label %some
some:
  %u = call i32 @wl.distinct({V} %off, i32 %mask)
  %n = call i32 @llvm.ctpop.i32(i32 %u)
  br label %add
add:
  %own = phi i32 [ 1, %entry ], [ %n, %some ]
  %more = sub i32 %lanes, %own
  %dup = mul i32 %more, %size
  %dup.w = zext i32 %dup to i64
{add_counter("cd", LOCAL_SHARED_BYTES, "%dup.w")}
  ret void
}}"""
