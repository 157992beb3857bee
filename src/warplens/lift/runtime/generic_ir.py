"""Helper functions in LLVM IR for generic loads and stores: each lane's address names its space."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting.slots import SLOTS
from warplens.lift.runtime.access_ir import ADDRESSES, prologue, scratch
from warplens.lift.vector_ir import P, V, splat


def generic_move(op: str, size: int, clusters: bool = False) -> str:
    """@wl.generic.load.N / store: by window of the high word."""
    functions = {"shared": "cluster" if clusters else "shared"}
    calls = []
    for i, space in enumerate(("shared", "local", "global")):
        calls.append(f"""  %c{space} = add i32 %counter, {SLOTS * (2 - i)}
  %s{space} = getelementptr i8, ptr %site, i64 {at.SITE_SIZE * (2 - i)}
  %f{space} = call i32 @wl.{functions.get(space, space)}.{op}.{size}(ptr %w, ptr %env, ptr %s{space}, i32 %m{space},
    i32 %imm, i32 %inst, i32 %c{space})
  %b{space} = icmp ne i32 %f{space}, 0
  br i1 %b{space}, label %bad, label %n{space}
n{space}:""")
    return f"""{prologue(f"wl.generic.{op}.{size}")}
{scratch("lop", ADDRESSES)}
  %lo = load {V}, ptr %lop, align 64
{scratch("hip", ADDRESSES + 1)}
  %hi = load {V}, ptr %hip, align 64
{splat("%immv", "%imm")}
  %sv = icmp eq {V} %hi, splat (i32 {at.SHARED_WINDOW_HIGH})
  %sb = bitcast {P} %sv to i32
  %mshared = and i32 %sb, %mask
  %lv = icmp eq {V} %hi, splat (i32 {at.LOCAL_WINDOW_HIGH})
  %lb = bitcast {P} %lv to i32
  %mlocal = and i32 %lb, %mask
  %ms = or i32 %mshared, %mlocal
  %mglobal = xor i32 %ms, %mask
  %moved = add {V} %lo, %immv
  store {V} %moved, ptr %lop, align 64
{calls[0]}
{calls[1]}
  store {V} %lo, ptr %lop, align 64
{calls[2]}
  ret i32 0
bad:
  ret i32 1
}}"""
