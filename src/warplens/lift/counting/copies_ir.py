"""A helper function in LLVM IR that counts what asynchronous copies around L1 take.

The rules are those of an H200 (36 patterns of whole warps, `validation/data/around_sm90.json`).
A wavefront moves what comes from one 128-byte line to one 128-byte row of shared memory, all of it
by the same distance. By an odd number of 16-byte pieces the halves of sectors go one after the
other; with ZFILL they always do. A sector is asked for again for each sector of shared memory that
it goes to.
"""

from __future__ import annotations

from warplens.lift.counting.slots import AROUND, SPLIT
from warplens.lift.vector_ir import COUNTERS_POINTER, V, add_counter

NAME = "wl.around"
_DISTANCE_BITS = 19  # distances that differ by 8 MiB are taken for equal


def count_around() -> str:
    """@wl.around: adds a copy of 16 bytes a lane; %near and %far are its addresses' low words,
    %reads those of its lanes that read."""
    return f"""define internal void @{NAME}(ptr %env, {V} %near, {V} %far, i32 %mask, i32 %reads,
    i32 %fills, i32 %counter, i32 %other) noinline {{
entry:
{COUNTERS_POINTER}
  %s = lshr {V} %near, splat (i32 4)
  %g = lshr {V} %far, splat (i32 4)
  %far.by = sub {V} %s, %g
  %fv1 = insertelement {V} poison, i32 %fills, i64 0
  %fv = shufflevector {V} %fv1, {V} poison, {V} zeroinitializer
  %apart0 = or {V} %far.by, %fv
  %apart1 = and {V} %apart0, %g
  %apart = and {V} %apart1, splat (i32 1)
  %line0 = lshr {V} %g, splat (i32 3)
  %line1 = and {V} %line0, splat (i32 1)
  %line = shl {V} %line1, splat (i32 1)
  %row0 = lshr {V} %s, splat (i32 3)
  %row = shl {V} %row0, splat (i32 {_DISTANCE_BITS + 2})
  %by0 = and {V} %far.by, splat (i32 {(1 << _DISTANCE_BITS) - 1})
  %by = shl {V} %by0, splat (i32 2)
  %key0 = or {V} %apart, %line
  %key1 = or {V} %key0, %by
  %key = or {V} %key1, %row
  %waves = call i32 @wl.distinct({V} %key, i32 %mask)
  %waves.n = call i32 @llvm.ctpop.i32(i32 %waves)
  %sector = lshr {V} %g, splat (i32 1)
  %sectors = call i32 @wl.distinct({V} %sector, i32 %reads)
  %sectors.n = call i32 @llvm.ctpop.i32(i32 %sectors)
  %place0 = lshr {V} %s, splat (i32 1)
  %place = shl {V} %place0, splat (i32 {_DISTANCE_BITS})
  %from = and {V} %sector, splat (i32 {(1 << _DISTANCE_BITS) - 1})
  %pair = or {V} %place, %from
  %pairs = call i32 @wl.distinct({V} %pair, i32 %reads)
  %pairs.n = call i32 @llvm.ctpop.i32(i32 %pairs)
  %split = sub i32 %pairs.n, %sectors.n
  %waves.w = zext i32 %waves.n to i64
  %split.w = sext i32 %split to i64
{add_counter("c1", AROUND, "%waves.w")}
{add_counter("c2", SPLIT, "%split.w").replace("%counter,", "%other,")}
  ret void
}}"""
