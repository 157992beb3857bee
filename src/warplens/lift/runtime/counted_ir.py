"""LLVM IR for lanes that each add one to a word of shared memory: rows of 32 words at once.

A histogram's lanes go to any of its words. Lanes in one bank and lanes in one row are sets of bits;
what both hold is who counts in that word. So a row's words are added to as a vector, and how many
words of a bank were touched is known with it, without comparing lanes.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting.distinct_ir import sets_of_lanes
from warplens.lift.counting.slots import (
    ASKED,
    CONFLICTS,
    IDEAL,
    PASSES,
    REPEATED_BYTES,
    REQUESTS,
    WAVEFRONTS,
)
from warplens.lift.engines.host import HostFeatures
from warplens.lift.runtime.access_ir import ADDRESSES, prologue, scratch
from warplens.lift.runtime.shared_ir import SHARED_HOST
from warplens.lift.vector_ir import COUNTERS_POINTER, P, V, add_counter, splat

_MOST_ROWS = 16  # more take longer than one lane after the other
_BUFFER = f"  %buffer = alloca <{_MOST_ROWS} x i32>, align 64"

DECLARATIONS = {
    "llvm.fshr.v32i32": f"declare {V} @llvm.fshr.v32i32({V}, {V}, {V})",
    "llvm.umin.v32i32": f"declare {V} @llvm.umin.v32i32({V}, {V})",
    "llvm.vector.reduce.umin.v32i32": f"declare i32 @llvm.vector.reduce.umin.v32i32({V})",
    "llvm.vector.reduce.add.v32i32": f"declare i32 @llvm.vector.reduce.add.v32i32({V})",
}


def is_quick(features: HostFeatures) -> bool:
    """Whether the processor counts bits in vectors; elsewhere that takes too long."""
    return features.has_avx512 and "+avx512vpopcntdq" in features.features


def _check(tag: str, begin: str, words: str) -> str:
    """%TAG.at: which of the `words` words from offset `begin` each lane wants; %TAG.ok: all of them
    want one. Turned by two bits an offset that is no multiple of four is far away."""
    return f"""{splat(f"%{tag}.bv", begin)}
  %{tag}.off = sub {V} %off, %{tag}.bv
  %{tag}.at = call {V} @llvm.fshr.v32i32({V} %{tag}.off, {V} %{tag}.off, {V} splat (i32 2))
{splat(f"%{tag}.nv", words)}
  %{tag}.in = icmp ult {V} %{tag}.at, %{tag}.nv
  %{tag}.bits = bitcast {P} %{tag}.in to i32
  %{tag}.hit = and i32 %{tag}.bits, %mask
  %{tag}.ok = icmp eq i32 %{tag}.hit, %mask"""


def _note() -> str:
    """Lines that note the rows that hold this access and those before, or this one alone where they
    are too many; of the last row what a block's memory has of it."""
    row = 5 + 2
    return f"""  %lanes = bitcast i32 %mask to {P}
  %row = lshr {V} %off, splat (i32 {row})
  %low = select {P} %lanes, {V} %row, {V} splat (i32 -1)
  %high = select {P} %lanes, {V} %row, {V} zeroinitializer
  %min = call i32 @llvm.vector.reduce.umin.v32i32({V} %low)
  %max = call i32 @llvm.vector.reduce.umax.v32i32({V} %high)
  %end = add i32 %max, 1
  %old.first = lshr i32 %old.begin, {row}
  %old.n1 = add i32 %old.words, 31
  %old.n = lshr i32 %old.n1, 5
  %old.end = add i32 %old.first, %old.n
  %from = call i32 @llvm.umin.i32(i32 %old.first, i32 %min)
  %to = call i32 @llvm.umax.i32(i32 %old.end, i32 %end)
  %all = sub i32 %to, %from
  %none = icmp eq i32 %old.words, 0
  %far = icmp ugt i32 %all, {_MOST_ROWS}
  %anew = or i1 %none, %far
  %first = select i1 %anew, i32 %min, i32 %from
  %last = select i1 %anew, i32 %end, i32 %to
  %n = sub i32 %last, %first
  %begin = shl i32 %first, {row}
  %limp = getelementptr i64, ptr %env, i64 {at.ENV_SHARED_LIMIT}
  %lim64 = load i64, ptr %limp, align 8
  %lim = trunc i64 %lim64 to i32
  %few = icmp ule i32 %n, {_MOST_ROWS}
  %inside = icmp ult i32 %begin, %lim
  %fits = and i1 %few, %inside
  br i1 %fits, label %keep, label %walk
keep:
  %room.b = sub i32 %lim, %begin
  %room = lshr i32 %room.b, 2
  %wanted = shl i32 %n, 5
  %words = call i32 @llvm.umin.i32(i32 %wanted, i32 %room)
  store i32 %begin, ptr %begin.p, align 4
  store i32 %words, ptr %words.p, align 4"""


def _add_rows() -> str:
    """Label count: adds, row by row; %found2 are then the words touched in each bank."""
    return f"""count:
  %c.begin = phi i32 [ %old.begin, %go ], [ %begin, %keep ]
  %c.words = phi i32 [ %old.words, %go ], [ %words, %keep ]
  %at = phi {V} [ %was.at, %go ], [ %is.at, %keep ]
{SHARED_HOST}
{sets_of_lanes("bank", "%at", "%mask", 0, 5, 32)}
{sets_of_lanes("rows", "%at", "%mask", 5, _MOST_ROWS.bit_length() - 1, _MOST_ROWS)}
  store <{_MOST_ROWS} x i32> %rows, ptr %buffer, align 64
  %c.64 = zext i32 %c.begin to i64
  %place = getelementptr i8, ptr %host, i64 %c.64
  %c.bytes = shl i32 %c.words, 2
  %c.b64 = zext i32 %c.bytes to i64
  %behind = getelementptr i8, ptr %place, i64 %c.b64
  br label %loop
loop:
  %who.p = phi ptr [ %buffer, %count ], [ %who.p2, %loop ]
  %p = phi ptr [ %place, %count ], [ %p2, %loop ]
  %found = phi {V} [ zeroinitializer, %count ], [ %found2, %loop ]
  %here = load i32, ptr %who.p, align 4
{splat("%here.v", "%here")}
  %who = and {V} %bank, %here.v
  %many = call {V} @llvm.ctpop.v32i32({V} %who)
  %before = load {V}, ptr %p, align 64
  %after = add {V} %before, %many
  store {V} %after, ptr %p, align 64
  %one = call {V} @llvm.umin.v32i32({V} %many, {V} splat (i32 1))
  %found2 = add {V} %found, %one
  %who.p2 = getelementptr i8, ptr %who.p, i64 4
  %p2 = getelementptr i8, ptr %p, i64 128
  %more = icmp ult ptr %p2, %behind
  br i1 %more, label %loop, label %done"""


def add_ones(name: str) -> str:
    """@NAME: lanes whose words lie in a few rows, anything else goes to @NAME.walk.

    Memory behind the last word is added zeroes to, up to the end of its row: a buffer of shared
    memory has that much to spare.
    """
    return f"""{prologue(name).replace("entry:", f"entry:{chr(10)}{_BUFFER}")}
{scratch("offp", ADDRESSES)}
  %off = load {V}, ptr %offp, align 64
  %begin.p = getelementptr i8, ptr %site, i64 {at.SITE_ROW_BEGIN}
  %old.begin = load i32, ptr %begin.p, align 4
  %words.p = getelementptr i8, ptr %site, i64 {at.SITE_ROW_WORDS}
  %old.words = load i32, ptr %words.p, align 4
{_check("was", "%old.begin", "%old.words")}
  br i1 %was.ok, label %count, label %other
walk:
  %r = call i32 @{name}.walk(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm, i32 %inst,
    i32 %counter)
  ret i32 %r
other:
{_note()}
{_check("is", "%begin", "%words")}
  br i1 %is.ok, label %count, label %walk
{_add_rows()}
done:
{COUNTERS_POINTER}
  %passes = call i32 @llvm.vector.reduce.umax.v32i32({V} %found2)
  %apart = call i32 @llvm.vector.reduce.add.v32i32({V} %found2)
  %active = call i32 @llvm.ctpop.i32(i32 %mask)
  %again = sub i32 %active, %apart
  %dup = shl i32 %again, 2
  %bytes = shl i32 %active, 2
  %over = sub i32 %passes, 1
  %passes.w = zext i32 %passes to i64
  %dup.w = zext i32 %dup to i64
  %bytes.w = zext i32 %bytes to i64
  %over.w = zext i32 %over to i64
{add_counter("c1", REQUESTS, "1")}
{add_counter("c2", PASSES, "%passes.w")}
{add_counter("c3", IDEAL, "1")}
{add_counter("c4", ASKED, "%bytes.w")}
{add_counter("c5", REPEATED_BYTES, "%dup.w")}
{add_counter("c6", CONFLICTS, "%over.w")}
{add_counter("c7", WAVEFRONTS, "%passes.w")}
  ret i32 0
}}"""
