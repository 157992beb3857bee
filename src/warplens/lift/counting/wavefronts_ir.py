"""Helper functions in LLVM IR that count shared accesses: bank passes, wavefronts, distinct bytes.

The rules are those seen on an H200 (validation/README.md). What a pattern of offsets counts is
remembered in the access site, see remember_ir.py.
"""

from __future__ import annotations

from warplens.lift.counting.remember_ir import add_counts, known_counts, new_counts
from warplens.lift.counting.runs_ir import UP
from warplens.lift.counting.slots import (
    ASKED,
    ATOMIC,
    COMPARE,
    CONFLICTS,
    IDEAL,
    LOAD,
    PASSES,
    REPEATED_BYTES,
    REQUESTS,
    WAVEFRONTS,
)
from warplens.lift.vector_ir import COUNTERS_POINTER, P, V, splat


def bank_group() -> str:
    """@wl.group: the largest number of distinct elements of the given lanes in one bank."""
    return f"""define internal i32 @wl.group({V} %v, i32 %lanes, i32 %banks) noinline {{
entry:
  %none = icmp eq i32 %lanes, 0
  br i1 %none, label %no, label %some
no:
  ret i32 0
some:
  %u = call i32 @wl.distinct({V} %v, i32 %lanes)
  %n = call i32 @wl.most({V} %v, i32 %u, i32 %banks)
  ret i32 %n
}}"""


def _partner(step: int) -> str:
    """%bad.STEP: lanes whose neighbour in the pair is active too and wants another address."""
    order = "<" + ", ".join(f"i32 {i ^ step}" for i in range(32)) + ">"
    return f"""  %ps.{step} = shufflevector {V} %off, {V} poison, {V} {order}
  %pm.{step} = shufflevector {P} %lanes.v, {P} poison, {V} {order}
  %pe.{step} = icmp ne {V} %off, %ps.{step}
  %pb.{step} = and {P} %pm.{step}, %pe.{step}
  %pc.{step} = and {P} %pb.{step}, %lanes.v
  %bad.{step} = bitcast {P} %pc.{step} to i32"""


def _group_mask(first: int, n: int) -> int:
    mask = ((1 << n) - 1) << first
    return mask - (1 << 32) if mask >> 31 else mask


def _sum(name: str, parts: list[str]) -> str:
    lines, total = [], parts[0]
    for k, part in enumerate(parts[1:]):
        lines.append(f"  %{name}.{k} = add i32 {total}, {part}")
        total = f"%{name}.{k}"
    lines.append(f"  %{name} = add i32 {total}, 0")
    return "\n".join(lines)


def wide_passes(size: int) -> str:
    """@wl.wide.SIZE: {passes, conflicts, ideal, wavefronts} of an 8- or 16-byte access.

    Half (quarter) warps take a pass each. Of a load two neighbouring passes become one when the two
    lanes of every pair (i, i ^ 1), or of every pair (i, i ^ 2), agree or are inactive. The hardware
    counter asks that of the whole warp; the count from addresses asks it of the lanes of the two
    passes, and that neither these nor the joint pass have a conflict.
    """
    n, lanes, banks, shift = (2, 16, 16, 3) if size == 8 else (4, 8, 8, 4)
    lines = [f"  %k = lshr {V} %off, splat (i32 {shift})", _partner(1), _partner(2)]
    for g in range(n):
        lines += [
            f"  %gm{g} = and i32 %mask, {_group_mask(g * lanes, lanes)}",
            f"  %g{g} = call i32 @wl.group({V} %k, i32 %gm{g}, i32 {banks})",
            f"  %gb{g} = icmp ne i32 %gm{g}, 0",
            f"  %ga{g} = zext i1 %gb{g} to i32",
        ]
    for j in range(n // 2):
        joint, a, b = _group_mask(2 * j * lanes, 2 * lanes), 2 * j, 2 * j + 1
        lines += [
            f"  %x{j} = and i32 %bad.1, {joint}",
            f"  %y{j} = and i32 %bad.2, {joint}",
            f"  %xz{j} = icmp eq i32 %x{j}, 0",
            f"  %yz{j} = icmp eq i32 %y{j}, 0",
            f"  %xy{j} = or i1 %xz{j}, %yz{j}",
            f"  %agree{j} = and i1 %xy{j}, %load",
            f"  %jmask{j} = and i32 %mask, {joint}",
            f"  %jm{j} = select i1 %agree{j}, i32 %jmask{j}, i32 0",
            f"  %j{j} = call i32 @wl.group({V} %k, i32 %jm{j}, i32 {banks})",
            f"  %ja{j} = or i32 %ga{a}, %ga{b}",
            f"  %na{j} = add i32 %ga{a}, %ga{b}",
            f"  %s{j} = add i32 %g{a}, %g{b}",
            f"  %free{j} = icmp eq i32 %s{j}, %na{j}",
            f"  %jfree{j} = icmp ule i32 %j{j}, 1",
            f"  %m1{j} = and i1 %agree{j}, %free{j}",
            f"  %merge{j} = and i1 %m1{j}, %jfree{j}",
            f"  %w{j} = select i1 %merge{j}, i32 %j{j}, i32 %s{j}",
            f"  %i{j} = select i1 %agree{j}, i32 %ja{j}, i32 %na{j}",
        ]
    pairs = range(n // 2)
    lines += [
        "  %z1 = icmp eq i32 %bad.1, 0",
        "  %z2 = icmp eq i32 %bad.2, 0",
        "  %z = or i1 %z1, %z2",
        "  %all = and i1 %z, %load",
        _sum("apart", [f"%s{j}" for j in pairs] if n > 2 else ["%s0"]),
        _sum("active", [f"%na{j}" for j in pairs]),
        _sum("joined", [f"%j{j}" for j in pairs]),
        _sum("busy", [f"%ja{j}" for j in pairs]),
        _sum("waves", [f"%w{j}" for j in pairs]),
        _sum("ideal", [f"%i{j}" for j in pairs]),
        "  %passes = select i1 %all, i32 %joined, i32 %apart",
        "  %groups = select i1 %all, i32 %busy, i32 %active",
        "  %conflicts = sub i32 %passes, %groups",
    ]
    body = "\n".join(lines)
    results = ("passes", "conflicts", "ideal", "waves")
    returned, last = [], "poison"
    for k, name in enumerate(results):
        returned.append(f"  %ret{k} = insertvalue {_FOUR} {last}, i32 %{name}, {k}")
        last = f"%ret{k}"
    return f"""define internal {_FOUR} @wl.wide.{size}({V} %off, i32 %mask, i1 %load) noinline {{
entry:
  %lanes.v = bitcast i32 %mask to {P}
{body}
{chr(10).join(returned)}
  ret {_FOUR} {last}
}}"""


_FOUR = "{ i32, i32, i32, i32 }"
_PARTS = ((REQUESTS, 8),)  # of the counters of an access


def count_wavefronts() -> str:
    """@wl.wavefronts: adds a shared access: requests, passes, conflicts, bytes.

    Up to 4 bytes a lane take one pass but for conflicts. Every lane of an atomic needs its bank for
    itself, and compare-and-swap needs it twice.
    """
    wide = "\n".join(
        f"""wide{size}:
  %t{size} = call {_FOUR} @wl.wide.{size}({V} %off, i32 %mask, i1 %is.load)
  br label %spread"""
        for size in (8, 16)
    )
    fields = "\n".join(
        f"  %x{k} = extractvalue {_FOUR} %t, {k}" for k in range(4)
    )
    fresh = {"pas": ("n", "x0", "am"), "con": ("n1", "x1", "a1"), "ide": ("one", "x2", "unit"),
             "wav": ("n", "x3", "am")}  # fmt: skip
    phis = "\n".join(
        f"  %{name}.f = phi i32 [ %{a}, %single ], [ %{b}, %spread ], [ %{c}, %atomic ]"
        for name, (a, b, c) in fresh.items()
    )
    widened = "\n".join(f"  %{name}.w = zext i32 %{name}.f to i64" for name in (*fresh, "dup"))
    return f"""define internal void @wl.wavefronts(ptr %env, ptr %site, {V} %off, i32 %mask,
    i32 %size, i32 %counter, i32 %kind) noinline {{
entry:
{COUNTERS_POINTER}
  %lanes = call i32 @llvm.ctpop.i32(i32 %mask)
  %bytes = mul i32 %lanes, %size
  %known = call i1 @wl.known(ptr %site, {V} %off, i32 %mask, i32 3)
  br i1 %known, label %repeat, label %fresh
repeat:
{known_counts(_PARTS)}
  br label %add
fresh:
  %prior = shufflevector {V} %off, {V} poison, {V} {UP}
  %above = icmp ugt {V} %off, %prior
  %aboveb = bitcast {P} %above to i32
  %ups = or i32 %aboveb, 1
  %isup = icmp eq i32 %ups, -1
  br i1 %isup, label %differ, label %compare
compare:
  %equal = call i32 @wl.distinct({V} %off, i32 %mask)
  br label %differ
differ: ; offsets that rise from lane to lane are all different
  %au = phi i32 [ %mask, %fresh ], [ %equal, %compare ]
  %an = call i32 @llvm.ctpop.i32(i32 %au)
  %more = sub i32 %lanes, %an
  %dup.f = mul i32 %more, %size
  %is.load = icmp eq i32 %kind, {LOAD}
  %is.atomic = icmp uge i32 %kind, {ATOMIC}
  br i1 %is.atomic, label %atomic, label %plain
atomic:
  %is.long = icmp eq i32 %size, 8
  %ash = select i1 %is.long, i32 3, i32 2
  %abanks = select i1 %is.long, i32 16, i32 32
{splat("%asv", "%ash")}
  %aw = lshr {V} %off, %asv
  %am1 = call i32 @wl.most({V} %aw, i32 %mask, i32 %abanks)
  %a1 = sub i32 %am1, 1
  %is.cas = icmp eq i32 %kind, {COMPARE}
  %unit = select i1 %is.cas, i32 2, i32 1
  %am = mul i32 %am1, %unit
  br label %computed
plain:
  switch i32 %size, label %narrow [ i32 8, label %wide8
    i32 16, label %wide16 ]
narrow:
  %words = lshr {V} %off, splat (i32 2)
  %is.word = icmp eq i32 %size, 4
  br i1 %is.word, label %word, label %part
word: ; lanes with words of their own are those with addresses of their own
  %n.w = call i32 @wl.most({V} %words, i32 %au, i32 32)
  br label %single
part:
  %n.p = call i32 @wl.group({V} %words, i32 %mask, i32 32)
  br label %single
single:
  %n = phi i32 [ %n.w, %word ], [ %n.p, %part ]
  %n1 = sub i32 %n, 1
  %one = add i32 1, 0
  br label %computed
{wide}
spread:
  %t = phi {_FOUR} [ %t8, %wide8 ], [ %t16, %wide16 ]
{fields}
  br label %computed
computed:
{phis}
  call void @wl.remember(ptr %site, {V} %off, i32 %mask, i32 3)
{widened}
  %bytes.w = zext i32 %bytes to i64
{new_counts({REQUESTS: "1", PASSES: "%pas.w", IDEAL: "%ide.w", ASKED: "%bytes.w",
             REPEATED_BYTES: "%dup.w", CONFLICTS: "%con.w", WAVEFRONTS: "%wav.w"}, _PARTS)}
  br i1 %is.load, label %window, label %add
window:
  call void @wl.window(ptr %site, {V} %off, i32 %mask, i32 %size)
  br label %add
add:
{add_counts(("computed", "window"), _PARTS)}
  ret void
}}"""
