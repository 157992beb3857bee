"""Helper functions in LLVM IR for loads and stores of local memory."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.runtime.access_ir import (
    ADDRESSES,
    RESULTS,
    VALUES,
    bounds,
    misaligned,
    observe_access,
    prologue,
    request,
    scratch,
)
from warplens.lift.vector_ir import W64, V, scaled_lanes


def local_move(op: str, size: int, observe: bool = False) -> str:
    """@wl.local.load.N / @wl.local.store.N: words of one offset lie side by side over the lanes."""
    kind = at.ACCESS_READ if op == "load" else at.ACCESS_WRITE
    observed = (
        observe_access(at.SPACE_LOCAL, kind, size, "%mask", "0", "%host") if observe else ""
    )
    words = max(1, size // 4)
    narrow = min(size, 4)
    steps = []
    for k in range(words):
        slot = (RESULTS if op == "load" else VALUES) + k
        steps.append(f"""  %wi{k} = add {V} %word, splat (i32 {k})
  %wb{k} = shl {V} %wi{k}, splat (i32 7)
  %wl{k} = add {V} %wb{k}, {scaled_lanes(4)}
  %wa{k} = or {V} %wl{k}, %sub
  %wo{k} = zext {V} %wa{k} to {W64}
{scratch(f"io{k}", slot)}
  call void @wl.mv.{op}.{narrow}(ptr %io{k}, ptr %host, {W64} %wo{k}, i32 %mask, i32 %lane)
  call i1 @wl.sectors(ptr %env, ptr %site, {V} %wa{k}, i32 %mask, i32 {narrow}, i32 %counter)""")
    body = "\n".join(steps)
    return f"""{prologue(f"wl.local.{op}.{size}")}
{scratch("offp", ADDRESSES)}
  %off32 = load {V}, ptr %offp, align 64
{misaligned(size, "%off32", at.FAULT_MISALIGNED_LOCAL)}
aligned:
{bounds(size, at.ENV_LOCAL_LIMIT, at.FAULT_LOCAL)}
{request()}
  %word = lshr {V} %off32, splat (i32 2)
  %sub = and {V} %off32, splat (i32 3)
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %hostp = getelementptr i8, ptr %w, i64 {at.WARP_LOCAL}
  %hosta = load i64, ptr %hostp, align 8
  %host = inttoptr i64 %hosta to ptr
{observed}
  call void @wl.local.bytes(ptr %env, {V} %off32, i32 %mask, i32 %lane, i32 {size}, i32 %counter)
{body}
  ret i32 0
}}"""
