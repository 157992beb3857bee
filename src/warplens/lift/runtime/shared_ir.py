"""Helper functions in LLVM IR for loads and stores of shared memory."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting.slots import LOAD, STORE
from warplens.lift.runtime.access_ir import (
    ADDRESSES,
    RESULTS,
    VALUES,
    bounds,
    misaligned,
    observe_access,
    prologue,
    scratch,
)
from warplens.lift.vector_ir import W64, V

# %host: where the running block's shared memory stands
SHARED_HOST = f"""  %hostp = getelementptr i64, ptr %env, i64 {at.ENV_SHARED}
  %hosta = load i64, ptr %hostp, align 8
  %host = inttoptr i64 %hosta to ptr"""


def shared_access(
    name: str, size: int, kind: int, action: str, observe: bool = False, counted: int | None = None
) -> str:
    """A shared access: offsets in scratch 0 are final. In `action`: %host, %off, %mask, %lane.

    `counted` is the kind that counting asks for, if it does not follow from `kind`.
    """
    if counted is None:
        counted = LOAD if kind == at.ACCESS_READ else STORE
    observed = (
        observe_access(at.SPACE_SHARED, kind, size, "%mask", "0", "%host") if observe else ""
    )
    return f"""{prologue(name)}
{scratch("offp", ADDRESSES)}
  %off32 = load {V}, ptr %offp, align 64
{misaligned(size, "%off32", at.FAULT_MISALIGNED_SHARED)}
aligned:
{bounds(size, at.ENV_SHARED_LIMIT, at.FAULT_SHARED)}
  %off = zext {V} %off32 to {W64}
  %lane = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
{SHARED_HOST}
{observed}
{action}
  call void @wl.wavefronts(ptr %env, ptr %site, {V} %off32, i32 %mask, i32 {size}, i32 %counter,
    i32 {counted})
  ret i32 0
}}"""


def shared_move(op: str, size: int, observe: bool = False) -> str:
    """@wl.shared.load.N / @wl.shared.store.N."""
    io = scratch("io", RESULTS if op == "load" else VALUES)
    action = f"""{io}
  call void @wl.mv.{op}.{size}(ptr %io, ptr %host, {W64} %off, i32 %mask, i32 %lane)"""
    kind = at.ACCESS_READ if op == "load" else at.ACCESS_WRITE
    return shared_access(f"wl.shared.{op}.{size}", size, kind, action, observe)
