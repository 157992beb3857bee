"""Helper functions in LLVM IR for faults, and for the allocation that holds an address."""

from __future__ import annotations

from warplens.lift import layout as at


def fault() -> str:
    """@wl.fault: records a fault and returns 1."""
    stores = "\n".join(
        f"  %p{i} = getelementptr i64, ptr %env, i64 {at.ENV_FAULT + i}\n"
        f"  store i64 %{name}, ptr %p{i}, align 8"
        for i, name in enumerate(("kind", "inst64", "lane64", "address", "extra"))
    )
    return f"""define internal i32 @wl.fault(ptr %env, i64 %kind, i32 %inst, i32 %lane, i64 %address,
    i64 %extra) noinline cold {{
  %inst64 = zext i32 %inst to i64
  %lane64 = zext i32 %lane to i64
{stores}
  ret i32 1
}}"""


def find() -> str:
    """@wl.find: the segment that holds an address and allows the access, or null after a fault."""
    size = 8 * at.SEGMENT_SLOTS
    return f"""define internal ptr @wl.find(ptr %env, ptr %site, i64 %a, i32 %kind, i32 %size,
    i32 %inst, i32 %lane) noinline {{
entry:
  %sp = getelementptr i64, ptr %env, i64 {at.ENV_SEGMENTS}
  %sa = load i64, ptr %sp, align 8
  %segments = inttoptr i64 %sa to ptr
  %np = getelementptr i64, ptr %env, i64 {at.ENV_N_SEGMENTS}
  %n = load i64, ptr %np, align 8
  %hp = getelementptr i8, ptr %site, i64 12
  %hint32 = load i32, ptr %hp, align 4
  %hint = zext i32 %hint32 to i64
  %usable = icmp ult i64 %hint, %n
  br i1 %usable, label %try, label %search
try:
  %tp = getelementptr [{at.SEGMENT_SLOTS} x i64], ptr %segments, i64 %hint
  %tb = load i64, ptr %tp, align 8
  %tlp = getelementptr i64, ptr %tp, i64 1
  %tl = load i64, ptr %tlp, align 8
  %to = sub i64 %a, %tb
  %tin = icmp ult i64 %to, %tl
  br i1 %tin, label %found, label %search
search:
  br label %loop
loop:
  %low = phi i64 [ 0, %search ], [ %low2, %step ]
  %high = phi i64 [ %n, %search ], [ %high2, %step ]
  %more = icmp ult i64 %low, %high
  br i1 %more, label %step, label %ended
step:
  %sum = add i64 %low, %high
  %mid = lshr i64 %sum, 1
  %mp = getelementptr [{at.SEGMENT_SLOTS} x i64], ptr %segments, i64 %mid
  %mb = load i64, ptr %mp, align 8
  %above = icmp ule i64 %mb, %a
  %mid1 = add i64 %mid, 1
  %low2 = select i1 %above, i64 %mid1, i64 %low
  %high2 = select i1 %above, i64 %high, i64 %mid
  br label %loop
ended:
  %isnone = icmp eq i64 %low, 0
  br i1 %isnone, label %ask, label %check
check:
  %index = sub i64 %low, 1
  %cp = getelementptr [{at.SEGMENT_SLOTS} x i64], ptr %segments, i64 %index
  %cb = load i64, ptr %cp, align 8
  %clp = getelementptr i64, ptr %cp, i64 1
  %cl = load i64, ptr %clp, align 8
  %co = sub i64 %a, %cb
  %cin = icmp ult i64 %co, %cl
  br i1 %cin, label %found, label %ask
found:
  %fp = phi ptr [ %tp, %try ], [ %cp, %check ], [ %ap, %again ]
  %fi = phi i64 [ %hint, %try ], [ %index, %check ], [ %ai, %again ]
  %asked = phi i1 [ false, %try ], [ false, %check ], [ true, %again ]
  %fb = load i64, ptr %fp, align 8
  %flp = getelementptr i64, ptr %fp, i64 1
  %fl = load i64, ptr %flp, align 8
  %fo = sub i64 %a, %fb
  %size64 = zext i32 %size to i64
  %end = add i64 %fo, %size64
  %whole = icmp ule i64 %end, %fl
  br i1 %whole, label %allowed, label %ask
allowed:
  %kp = getelementptr i64, ptr %fp, i64 {at.SEGMENT_ALLOWED}
  %k = load i64, ptr %kp, align 8
  %kind64 = zext i32 %kind to i64
  %kk = and i64 %k, %kind64
  %may = icmp eq i64 %kk, %kind64
  %use = or i1 %may, %asked
  br i1 %use, label %store, label %ask
store:
  %fi32 = trunc i64 %fi to i32
  store i32 %fi32, ptr %hp, align 4
  ret ptr %fp
ask:
  %cbp = getelementptr i64, ptr %env, i64 {at.ENV_CALLBACK}
  %cba = load i64, ptr %cbp, align 8
  %callback = inttoptr i64 %cba to ptr
  %answer = call i64 %callback(ptr %env, i32 %inst, i32 %lane, i64 %a, i32 %kind, i32 %size)
  %refused = icmp slt i64 %answer, 0
  br i1 %refused, label %no, label %again
again:
  %ai = add i64 %answer, 0
  %ap = getelementptr [{at.SEGMENT_SLOTS} x i64], ptr %segments, i64 %ai
  br label %found
no:
  ret ptr null
}}""".replace(f"[{at.SEGMENT_SLOTS} x i64], ptr", f"[{size // 8} x i64], ptr")
