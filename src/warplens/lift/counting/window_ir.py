"""A helper function in LLVM IR that notes how the lanes of a shared load lie to each other."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.vector_ir import P, V, splat

WINDOW_WORDS = 64
NEAR, WIDE = 3, 4  # SITE_WINDOW: loads within 128 and within 256 bytes


def remember_window() -> str:
    """@wl.window: how far the lanes of a pattern reach from lane 0."""
    return f"""define internal void @wl.window(ptr %site, {V} %off, i32 %mask, i32 %size)
    noinline {{
  %lanes = bitcast i32 %mask to {P}
  %first = extractelement {V} %off, i32 0
{splat("%fv", "%first")}
  %rel = sub {V} %off, %fv
  %on = select {P} %lanes, {V} %rel, {V} zeroinitializer
  %far = call i32 @llvm.vector.reduce.umax.v32i32({V} %on)
  %bits = call i32 @llvm.vector.reduce.or.v32i32({V} %on)
  %grain = sub i32 %size, 1
  %odd = and i32 %bits, %grain
  %straight = icmp eq i32 %odd, 0
  %last = sub i32 {4 * WINDOW_WORDS}, %size
  %close = icmp ule i32 %far, %last
  %fits = and i1 %straight, %close
  %reach = add i32 %far, %size
  %small = icmp ule i32 %reach, {2 * WINDOW_WORDS}
  %kind = select i1 %small, i32 {NEAR}, i32 {WIDE}
  %span = select i1 %fits, i32 %reach, i32 -1
  %kp = getelementptr i8, ptr %site, i64 {at.SITE_WINDOW}
  store i32 %kind, ptr %kp, align 4
  %sp = getelementptr i8, ptr %site, i64 {at.SITE_SPAN}
  store i32 %span, ptr %sp, align 4
  ret void
}}"""
