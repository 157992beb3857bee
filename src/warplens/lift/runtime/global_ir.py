"""Helper functions in LLVM IR for loads and stores of global memory."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting import runs_ir
from warplens.lift.counting.sectors_ir import count_apart
from warplens.lift.runtime.access_ir import (
    FULL,
    RESULTS,
    VALUES,
    misaligned,
    observe_access,
    prologue,
    request,
    scratch,
    window,
)
from warplens.lift.runtime.move_ir import reverse
from warplens.lift.vector_ir import (
    COUNTERS_POINTER,
    W64,
    P,
    V,
    scaled_lanes,
    splat,
    store_for_lanes,
)


def global_access(name: str, size: int, kind: int, action: str, observe: bool = False) -> str:
    """A walk over the segments that the lanes' 64-bit addresses touch; `action` serves a group.

    In `action`: %host (ptr), %off (<32 x i64>), %off32, %in (i32 lanes), %lane (one of them). Lanes
    that stay in the segment that the site remembers are one group, found without a walk.
    """
    observed, quick = "", "%all"
    if observe:
        observed = observe_access(
            at.SPACE_GLOBAL, kind, size, "%far.in", "%segb", "%far.host"
        )
        quick = "false"
    return f"""{prologue(name)}
{request()}
{window(str(size))}
{scratch("fullp", FULL)}
  br i1 {quick}, label %near, label %far
near:
  %near.p = getelementptr i8, ptr %site, i64 {at.SITE_HOST}
  %near.a = load i64, ptr %near.p, align 8
  %near.host = inttoptr i64 %near.a to ptr
  %near.off = zext {V} %win to {W64}
  %near.lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  br label %group
far:
  %lo64 = zext {V} %lo to {W64}
  %hi64 = zext {V} %hi to {W64}
  %his = shl {W64} %hi64, splat (i64 32)
  %raw = or {W64} %lo64, %his
  %imm64 = sext i32 %imm to i64
{splat("%immv", "%imm64", "i64")}
  %full = add {W64} %raw, %immv
  store {W64} %full, ptr %fullp, align 64
  %low = trunc {W64} %full to {V}
{misaligned(size, "%low", at.FAULT_MISALIGNED)}
aligned:
  br label %loop
loop:
  %rem = phi i32 [ %mask, %aligned ], [ %rem2, %served ]
  %far.lane = call i32 @llvm.cttz.i32(i32 %rem, i1 true)
  %addr = load {W64}, ptr %fullp, align 64
  %ap = getelementptr i64, ptr %fullp, i32 %far.lane
  %a = load i64, ptr %ap, align 8
  %seg = call ptr @wl.find(ptr %env, ptr %site, i64 %a, i32 {kind}, i32 {size}, i32 %inst,
    i32 %far.lane)
  %isbad = icmp eq ptr %seg, null
  br i1 %isbad, label %bad, label %good
bad:
  ret i32 1
good:
  %segb = load i64, ptr %seg, align 8
  %seglp = getelementptr i64, ptr %seg, i64 1
  %segl = load i64, ptr %seglp, align 8
  %seghp = getelementptr i64, ptr %seg, i64 2
  %segh = load i64, ptr %seghp, align 8
  %far.host = inttoptr i64 %segh to ptr
  %limit = sub i64 %segl, {size - 1}
{splat("%sb", "%segb", "i64")}
  %far.off = sub {W64} %addr, %sb
{splat("%sl", "%limit", "i64")}
  %inv = icmp ult {W64} %far.off, %sl
  %inb = bitcast {P} %inv to i32
  %far.in = and i32 %inb, %rem
  %far.off32 = trunc {W64} %far.off to {V}
  %small = icmp ult i64 %segl, 2147483648
  %seglow = and i64 %segb, 4294967295
  %after = icmp ugt i64 %seglow, 16777215
  %segend = add i64 %seglow, %segl
  %before = icmp ult i64 %segend, 4278190080
  %ok1 = and i1 %small, %after
  %ok = and i1 %ok1, %before
  %fastl = select i1 %ok, i64 %limit, i64 0
  %f32l = trunc i64 %fastl to i32
  %f32b = trunc i64 %segb to i32
  store i32 %f32b, ptr %site, align 4
  %sh = lshr i64 %segb, 32
  %sh32 = trunc i64 %sh to i32
  %shp = getelementptr i8, ptr %site, i64 {at.SITE_HIGH}
  store i32 %sh32, ptr %shp, align 4
  %slp = getelementptr i8, ptr %site, i64 {at.SITE_LIMIT}
  store i32 %f32l, ptr %slp, align 4
  %shop = getelementptr i8, ptr %site, i64 {at.SITE_HOST}
  store i64 %segh, ptr %shop, align 8
{observed}
  br label %group
group:
  %host = phi ptr [ %near.host, %near ], [ %far.host, %good ]
  %off = phi {W64} [ %near.off, %near ], [ %far.off, %good ]
  %off32 = phi {V} [ %win, %near ], [ %far.off32, %good ]
  %in = phi i32 [ %mask, %near ], [ %far.in, %good ]
  %lane = phi i32 [ %near.lane, %near ], [ %far.lane, %good ]
  %left = phi i32 [ %mask, %near ], [ %rem, %good ]
{action}
  br label %served
served:
  %gone = xor i32 %in, -1
  %rem2 = and i32 %left, %gone
  %more = icmp ne i32 %rem2, 0
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}}"""


def _sectors_call(size: int) -> str:
    return (
        f"  call i1 @wl.sectors(ptr %env, ptr %site, {V} %off32, i32 %in, i32 {size}, "
        "i32 %counter)"
    )


def global_move(op: str, size: int, observe: bool = False) -> str:
    """@wl.global.load.N / @wl.global.store.N."""
    io = scratch("io", RESULTS if op == "load" else VALUES)
    kind = at.ACCESS_READ if op == "load" else at.ACCESS_WRITE
    action = f"""{io}
  call void @wl.mv.{op}.{size}(ptr %io, ptr %host, {W64} %off, i32 %in, i32 %lane)
{_sectors_call(size)}"""
    return global_access(f"wl.global.{op}.{size}", size, kind, action, observe)


def _next_lines() -> str:
    """Lanes that walk along rows of their own: whoever enters half a line asks for the next one.

    Processors follow a few such streams by themselves, not one per lane. Lanes that went elsewhere
    the last time walk along nothing. Goes on at label done.
    """
    return f"""  %walks = and i1 %elsewhere, %again
  br i1 %walks, label %walking, label %done
walking:
  %np = and {V} %win, splat (i32 28)
  %ne = icmp eq {V} %np, zeroinitializer
  %nb = bitcast {P} %ne to i32
  %nm = and i32 %nb, %mask
  %nany = icmp ne i32 %nm, 0
{store_for_lanes("walked", "%win", "%lop")}
  br i1 %nany, label %ahead, label %done
ahead:
  %nr = phi i32 [ %nm, %walking ], [ %nr2, %ahead ]
  %nl = call i32 @llvm.cttz.i32(i32 %nr, i1 true)
  %nop = getelementptr i32, ptr %lop, i32 %nl
  %no = load i32, ptr %nop, align 4
  %nz = zext i32 %no to i64
  %nh = getelementptr i8, ptr %host, i64 %nz
  %nn = getelementptr i8, ptr %nh, i64 64
  call void @llvm.prefetch.p0(ptr %nn, i32 0, i32 3, i32 1)
  %nlow = sub i32 %nr, 1
  %nr2 = and i32 %nr, %nlow
  %nmore = icmp ne i32 %nr2, 0
  br i1 %nmore, label %ahead, label %done"""


def gathered_words() -> str:
    """@wl.global.load.4: words of lanes that are in sectors of their own again, inside the segment
    that the site remembers; what else there is goes to @wl.global.load.4.any."""
    return f"""{prologue("wl.global.load.4")}
  %ap.p = getelementptr i8, ptr %site, i64 {at.SITE_APART}
  %ap.n = load i32, ptr %ap.p, align 4
  %ap.is = icmp uge i32 %ap.n, {at.APART}
  br i1 %ap.is, label %ask, label %general
general:
  %r = tail call i32 @wl.global.load.4.any(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm,
    i32 %inst, i32 %counter)
  ret i32 %r
ask:
{window("4")}
  br i1 %all, label %inside, label %general
inside:
  %lines = call i32 @wl.apart({V} %win, i32 %mask)
  %apart = icmp ne i32 %lines, 0
  br i1 %apart, label %gather, label %general
gather:
{COUNTERS_POINTER}
{request()}
{scratch("io", RESULTS)}
  %lanes = bitcast i32 %mask to {P}
  %shop = getelementptr i8, ptr %site, i64 {at.SITE_HOST}
  %sha = load i64, ptr %shop, align 8
  %host = inttoptr i64 %sha to ptr
  %ptrs = getelementptr i8, ptr %host, {V} %win
  %g = call {V} @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %ptrs, i32 4, {P} %lanes,
    {V} zeroinitializer)
  store {V} %g, ptr %io, align 64
{count_apart("4", "%lines")}
  ret i32 0
}}"""


def global_words(op: str) -> str:
    """@wl.global.load.4.any / store.4: words inside the segment that the site remembers, by 32-bit
    offsets; everything else walks over segments. Rows are not looked for where lanes went to lines
    of their own several times."""
    load = op == "load"
    scattered = (
        f"""{splat("%fv", "%first")}
  %same = icmp eq {V} %win, %fv
  %sameb = bitcast {P} %same to i32
  %sameh = and i32 %sameb, %mask
  %is1 = icmp eq i32 %sameh, %mask
  br i1 %is1, label %one, label %several
one:
  %f64 = zext i32 %first to i64
  %onep = getelementptr i8, ptr %host, i64 %f64
  %word = load i32, ptr %onep, align 4
{splat("%words", "%word")}
  store {V} %words, ptr %io, align 64
  br label %fetched
several:
{runs_ir.load_short_rows()}
gather:
  %ptrs = getelementptr i8, ptr %host, {V} %win
  %g = call {V} @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %ptrs, i32 4, {P} %lanes,
    {V} zeroinitializer)
  store {V} %g, ptr %io, align 64
  br label %fetched
fetched:
  br label %count"""
        if load
        else f"""  %ptrs = getelementptr i8, ptr %host, {V} %win
  %v2 = load {V}, ptr %io, align 64
{reverse("v2", V)}
  call void @llvm.masked.scatter.v32i32.v32p0({V} %v2.r, <32 x ptr> %ptrs.r, i32 4, {P} %lanes.r)"""
    )
    contiguous = (
        f"""  %c = call {V} @llvm.masked.load.v32i32.p0(ptr %row, i32 4, {P} %lanes,
    {V} zeroinitializer)
  store {V} %c, ptr %io, align 64"""
        if load
        else f"""  %v1 = load {V}, ptr %io, align 64
  call void @llvm.masked.store.v32i32.p0({V} %v1, ptr %row, i32 4, {P} %lanes)"""
    )
    elsewhere = "\n  %elsewhere = phi i1 [ false, %contiguous ], [ true, %fetched ]" if load else ""
    name = "wl.global.load.4.any" if load else "wl.global.store.4"
    return f"""{prologue(name)}
{window("4")}
  br i1 %all, label %quick, label %walk
walk:
  %r = call i32 @wl.global.{op}.4.walk(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm, i32 %inst,
    i32 %counter)
  ret i32 %r
quick:
{request()}
  %lanes = bitcast i32 %mask to {P}
  %shop = getelementptr i8, ptr %site, i64 {at.SITE_HOST}
  %sha = load i64, ptr %shop, align 8
  %host = inttoptr i64 %sha to ptr
{scratch("io", RESULTS if load else VALUES)}
  %ap.p = getelementptr i8, ptr %site, i64 {at.SITE_APART}
  %ap.n = load i32, ptr %ap.p, align 4
  %ap.is = icmp uge i32 %ap.n, {at.APART}
  br i1 %ap.is, label %{"gather" if load else "scattered"}, label %ask
ask:
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %first = extractelement {V} %win, i32 %lane
  %back = shl i32 %lane, 2
  %t0 = sub i32 %first, %back
{splat("%tv", "%t0")}
  %rowv = add {V} %tv, {scaled_lanes(4)}
  %eq = icmp eq {V} %win, %rowv
  %eqb = bitcast {P} %eq to i32
  %eqh = and i32 %eqb, %mask
  %isrow = icmp eq i32 %eqh, %mask
  %t64 = sext i32 %t0 to i64
  %row = getelementptr i8, ptr %host, i64 %t64
  %isnone = xor i1 %isrow, true
  %flag = zext i1 %isnone to i32
  %flag.p = getelementptr i8, ptr %site, i64 {at.SITE_SCATTERED}
  store i32 %flag, ptr %flag.p, align 4
  br i1 %isrow, label %contiguous, label %scattered
contiguous:
{contiguous}
  br label %count
scattered:
{scattered}
{"" if load else "  br label %count"}
count:{elsewhere}
  %again = call i1 @wl.sectors(ptr %env, ptr %site, {V} %win, i32 %mask, i32 4, i32 %counter)
{_next_lines() if load else "  br label %done"}
done:
  ret i32 0
}}"""
