"""Helper functions in LLVM IR for mbarriers: 64-bit words in shared memory, changed lane by lane.

sm_90 and later: bit 63 phase, bits 62:43 pending arrivals (negated), bits 42:22 pending bytes (signed),
bits 20:1 arrivals of a phase (negated). Code reads the pending count and the phase of a returned
word and writes the word's first value itself, so those places are the compiler's; where the bytes
stand is ours. sm_80 to sm_89: bit 63 phase, bits 62:32 pending (negated), bits 29:0 arrivals of a
phase (negated).
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.runtime.access_ir import ADDRESSES, RESULTS, VALUES, scratch
from warplens.lift.runtime.shared_ir import SHARED_HOST, shared_access

_LOW20 = (1 << 20) - 1


def _step_words(drops: bool) -> str:
    """%new from %old, %count and %bytes in the format of sm_90."""
    expected = "  %exp = add i64 %exp0, %count" if drops else "  %exp = add i64 %exp0, 0"
    return f"""  %exp1 = lshr i64 %old, 1
  %exp0 = and i64 %exp1, {_LOW20}
{expected}
  %expm = and i64 %exp, {_LOW20}
  %pend1 = lshr i64 %old, 43
  %pend0 = and i64 %pend1, {_LOW20}
  %pend2 = add i64 %pend0, %count
  %pend = and i64 %pend2, {_LOW20}
  %tx1 = shl i64 %old, 21
  %tx0 = ashr i64 %tx1, 43
  %tx = add i64 %tx0, %bytes
  %nopend = icmp eq i64 %pend, 0
  %notx = icmp eq i64 %tx, 0
  %done = and i1 %nopend, %notx
  %next = select i1 %done, i64 %expm, i64 %pend
  %flip = select i1 %done, i64 {-(1 << 63)}, i64 0
  %phase0 = and i64 %old, {-(1 << 63)}
  %phase = xor i64 %phase0, %flip
  %n1 = shl i64 %next, 43
  %txm = and i64 %tx, {(1 << 21) - 1}
  %n2 = shl i64 %txm, 22
  %n3 = shl i64 %expm, 1
  %n4 = or i64 %n1, %n2
  %n5 = or i64 %n4, %n3
  %new = or i64 %n5, %phase"""


def _step_counts() -> str:
    """%new from %old and %count in the format of sm_80."""
    return f"""  %hi0 = shl i64 %count, 32
  %sum = add i64 %old, %hi0
  %left = and i64 %sum, {((1 << 31) - 1) << 32}
  %done = icmp eq i64 %left, 0
  %exp0 = and i64 %old, {(1 << 30) - 1}
  %exp1 = or i64 %exp0, {1 << 30}
  %exp = shl i64 %exp1, 32
  %more = select i1 %done, i64 %exp, i64 0
  %new = or i64 %sum, %more"""


def arrive(kind: str, observe: bool) -> tuple[str, str]:
    """Name and text of @wl.mbarrier.KIND: lanes arrive, ascending; old words go to the results.

    Args:
        kind: "words" (sm_90), "words.drop" or "counts" (sm_80). Counts stand in the first value
            slot, bytes (signed) in the second.
    """
    name = f"wl.mbarrier.{kind}"
    step = _step_counts() if kind == "counts" else _step_words(kind.endswith("drop"))
    action = f"""  %offs.p = alloca <32 x i64>, align 64
  store <32 x i64> %off, ptr %offs.p, align 64
{scratch("cnt.p", VALUES)}
{scratch("byt.p", VALUES + 1)}
{scratch("lo.p", RESULTS)}
{scratch("hi.p", RESULTS + 1)}
  br label %at.loop
at.loop:
  %r = phi i32 [ %mask, %inside ], [ %r2, %at.loop ]
  %l = call i32 @llvm.cttz.i32(i32 %r, i1 true)
  %o.p = getelementptr i64, ptr %offs.p, i32 %l
  %o = load i64, ptr %o.p, align 8
  %m = getelementptr i8, ptr %host, i64 %o
  %old = load i64, ptr %m, align 8
  %cnt.q = getelementptr i32, ptr %cnt.p, i32 %l
  %cnt = load i32, ptr %cnt.q, align 4
  %count = zext i32 %cnt to i64
  %byt.q = getelementptr i32, ptr %byt.p, i32 %l
  %byt = load i32, ptr %byt.q, align 4
  %bytes = sext i32 %byt to i64
{step}
  store i64 %new, ptr %m, align 8
  %old.lo = trunc i64 %old to i32
  %old.sh = lshr i64 %old, 32
  %old.hi = trunc i64 %old.sh to i32
  %lo.q = getelementptr i32, ptr %lo.p, i32 %l
  store i32 %old.lo, ptr %lo.q, align 4
  %hi.q = getelementptr i32, ptr %hi.p, i32 %l
  store i32 %old.hi, ptr %hi.q, align 4
  %r.low = sub i32 %r, 1
  %r2 = and i32 %r, %r.low
  %r.more = icmp ne i32 %r2, 0
  br i1 %r.more, label %at.loop, label %at.end
at.end:"""
    return name, shared_access(name, 8, at.ACCESS_ATOMIC, action, observe)


def waits() -> tuple[str, str]:
    """Name and text of @wl.mbarrier.waits: whether none of some lanes' phases has completed.

    Offsets and parities (bit 31) stand in scratch. A place that cannot be read does not wait: the
    access says what is wrong. Nor does anybody where time is up.
    """
    name = "wl.mbarrier.waits"
    return name, f"""define internal i1 @{name}(ptr %w, ptr %env, i32 %mask) noinline {{
  %late.p = getelementptr i64, ptr %env, i64 {at.ENV_OUT_OF_TIME}
  %late = load i64, ptr %late.p, align 8
  %on = icmp eq i64 %late, 0
  %some = icmp ne i32 %mask, 0
  %start = and i1 %on, %some
  br i1 %start, label %begin, label %no
begin:
{scratch("off.p", ADDRESSES)}
{scratch("par.p", VALUES)}
  %limit.p = getelementptr i64, ptr %env, i64 {at.ENV_SHARED_LIMIT}
  %limit = load i64, ptr %limit.p, align 8
{SHARED_HOST}
  br label %lanes
lanes:
  %r = phi i32 [ %mask, %begin ], [ %r2, %more ]
  %l = call i32 @llvm.cttz.i32(i32 %r, i1 true)
  %o.p = getelementptr i32, ptr %off.p, i32 %l
  %o = load i32, ptr %o.p, align 4
  %q.p = getelementptr i32, ptr %par.p, i32 %l
  %q = load i32, ptr %q.p, align 4
  %o64 = zext i32 %o to i64
  %end = add i64 %o64, 8
  %inside = icmp ule i64 %end, %limit
  %odd = and i64 %o64, 7
  %even = icmp eq i64 %odd, 0
  %good = and i1 %inside, %even
  br i1 %good, label %look, label %no
look:
  %h = getelementptr i8, ptr %host, i64 %o64
  %word = load i64, ptr %h, align 8
  %high = lshr i64 %word, 32
  %hi = trunc i64 %high to i32
  %differ = xor i32 %hi, %q
  %passed = icmp slt i32 %differ, 0
  br i1 %passed, label %pass, label %more
more:
  %r1 = sub i32 %r, 1
  %r2 = and i32 %r, %r1
  %left = icmp ne i32 %r2, 0
  br i1 %left, label %lanes, label %yes
pass:
  %note = getelementptr i8, ptr %w, i64 {at.WARP_PASSED}
  store i32 1, ptr %note, align 4
  br label %no
no:
  ret i1 false
yes:
  ret i1 true
}}"""
