"""Helper functions in LLVM IR that serve accesses to the shared memory of a cluster's blocks.

An address in the shared window holds the rank of a block in bits 31:24. The lanes of an access are
taken rank by rank; while one block's are served, its shared memory stands in for the running
block's, so the helpers of shared memory do the rest.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting.slots import EXECUTED, SLOTS
from warplens.lift.runtime.access_ir import ADDRESSES, scratch
from warplens.lift.vector_ir import P, V, splat

LOW_BITS = (1 << 24) - 1


def base() -> str:
    """@wl.cluster.base: host address of a block's shared memory, 0 after a fault."""
    return f"""define internal i64 @wl.cluster.base(ptr %env, i32 %rank, i32 %inst, i32 %lane,
    i64 %address, i64 %size) noinline {{
entry:
  %np = getelementptr i64, ptr %env, i64 {at.ENV_CLUSTER_BLOCKS}
  %n = load i64, ptr %np, align 8
  %wide = zext i32 %rank to i64
  %in = icmp ult i64 %wide, %n
  br i1 %in, label %inside, label %outside
outside:
  %f1 = call i32 @wl.fault(ptr %env, i64 {at.FAULT_CLUSTER_RANK}, i32 %inst, i32 %lane,
    i64 %address, i64 %size)
  ret i64 0
inside:
  %tp = getelementptr i64, ptr %env, i64 {at.ENV_CLUSTER_SHARED}
  %ta = load i64, ptr %tp, align 8
  %table = inttoptr i64 %ta to ptr
  %bp = getelementptr i64, ptr %table, i64 %wide
  %base = load i64, ptr %bp, align 8
  %gone = icmp eq i64 %base, 0
  br i1 %gone, label %ended, label %found
ended:
  %f2 = call i32 @wl.fault(ptr %env, i64 {at.FAULT_CLUSTER_ENDED}, i32 %inst, i32 %lane,
    i64 %address, i64 %size)
  ret i64 0
found:
  ret i64 %base
}}"""


def by_rank(name: str, own: str, remote: str, size: int) -> str:
    """@NAME: serves the lanes of each rank through @OWN (the running block) or @REMOTE.

    The offsets stand in scratch. The site and the counters of other blocks' memory follow those of
    the block's own.
    """
    return f"""define internal i32 @{name}(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm,
    i32 %inst, i32 %counter) noinline {{
entry:
{scratch("adp", ADDRESSES)}
  %adr = load {V}, ptr %adp, align 64
  %rks = lshr {V} %adr, splat (i32 24)
  %off = and {V} %adr, splat (i32 {LOW_BITS})
  %all = alloca {V}, align 128
  store {V} %adr, ptr %all, align 128
  %slp = getelementptr i64, ptr %env, i64 {at.ENV_SHARED}
  %mine = load i64, ptr %slp, align 8
  %rkp = getelementptr i64, ptr %env, i64 {at.ENV_CLUSTER_RANK}
  %rk64 = load i64, ptr %rkp, align 8
  %rk32 = trunc i64 %rk64 to i32
  %own = lshr i32 %rk32, 24
{splat("%ownv", "%own")}
  %far.v = icmp ne {V} %rks, %ownv
  %far.b = bitcast {P} %far.v to i32
  %far = and i32 %far.b, %mask
  %is.far = icmp ne i32 %far, 0
  %one = zext i1 %is.far to i64
  %fcount = add i32 %counter, {SLOTS}
  %cbp = getelementptr i64, ptr %env, i64 {at.ENV_COUNTERS}
  %cba = load i64, ptr %cbp, align 8
  %counters = inttoptr i64 %cba to ptr
  %exi = add i32 %fcount, {EXECUTED}
  %exp = getelementptr i64, ptr %counters, i32 %exi
  %exo = load i64, ptr %exp, align 8
  %exn = add i64 %exo, %one
  store i64 %exn, ptr %exp, align 8
  %fsite = getelementptr i8, ptr %site, i64 {at.SITE_SIZE}
  br label %loop
loop:
  %rem = phi i32 [ %mask, %entry ], [ %rem2, %served ]
  %more = icmp ne i32 %rem, 0
  br i1 %more, label %group, label %done
group:
  %lane = call i32 @llvm.cttz.i32(i32 %rem, i1 true)
  %ap = getelementptr i32, ptr %all, i32 %lane
  %a = load i32, ptr %ap, align 4
  %rank = lshr i32 %a, 24
{splat("%rankv", "%rank")}
  %same.v = icmp eq {V} %rks, %rankv
  %same.b = bitcast {P} %same.v to i32
  %same = and i32 %same.b, %rem
  %gone = xor i32 %same, -1
  %rem2 = and i32 %rem, %gone
  %a64 = zext i32 %a to i64
  %host = call i64 @wl.cluster.base(ptr %env, i32 %rank, i32 %inst, i32 %lane, i64 %a64, i64 {size})
  %lost = icmp eq i64 %host, 0
  br i1 %lost, label %bad, label %found
found:
  store {V} %off, ptr %adp, align 64
  store i64 %host, ptr %slp, align 8
  %is.own = icmp eq i32 %rank, %own
  br i1 %is.own, label %near, label %remote
near:
  %r1 = call i32 @{own}(ptr %w, ptr %env, ptr %site, i32 %same, i32 0, i32 %inst, i32 %counter)
  br label %served
remote:
  %r2 = call i32 @{remote}(ptr %w, ptr %env, ptr %fsite, i32 %same, i32 0, i32 %inst, i32 %fcount)
  br label %served
served:
  %failed = phi i32 [ %r1, %near ], [ %r2, %remote ]
  store i64 %mine, ptr %slp, align 8
  %is.bad = icmp ne i32 %failed, 0
  br i1 %is.bad, label %bad, label %loop
bad:
  ret i32 1
done:
  ret i32 0
}}"""
