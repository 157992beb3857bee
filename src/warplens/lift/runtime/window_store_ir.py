"""LLVM IR for shared stores whose pattern comes again: the words of a window, by permutes.

Exchanges store words of their own within 256 bytes, by lanes that data chooses. Which lane's word
stands where follows from the offsets alone. It is noted in the site when a pattern comes for the
second time; from then on four stores under masks take the place of one a lane.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.runtime.text import int_list
from warplens.lift.vector_ir import P, V

H = "<16 x i32>"
B = "<32 x i8>"
_PERMUTE = "llvm.x86.avx512.vpermi2var.d.512"
_SHIFT = "llvm.x86.avx512.psrlv.d.512"
DECLARATIONS = {
    _PERMUTE: f"declare {H} @{_PERMUTE}({H}, {H}, {H})",
    _SHIFT: f"declare {H} @{_SHIFT}({H}, {H})",
    "llvm.ctpop.i64": "declare i64 @llvm.ctpop.i64(i64)",
    "llvm.masked.store.v16i32.p0":
        f"declare void @llvm.masked.store.v16i32.p0({H}, ptr, i32, <16 x i1>)",
}  # fmt: skip
SEEN, KNOWN, UNFIT = 1, 2, 3


def _halves(name: str) -> str:
    return "\n".join(
        f"  %{name}.{side} = shufflevector {V} %{name}, {V} poison, "
        f"{int_list(range(first, first + 16))}"
        for side, first in (("lo", 0), ("hi", 16))
    )


def _stores() -> str:
    """Four times 16 words, each from the lane that the site names, if that lane takes part: its bit
    of the mask is the lowest one after a shift, which leaves 0 for a word that no lane stores."""
    return "\n".join(
        f"""  %ip{q} = getelementptr i8, ptr %site, i64 {at.SITE_WORDS + 16 * q}
  %ib{q} = load <16 x i8>, ptr %ip{q}, align 16
  %id{q} = zext <16 x i8> %ib{q} to {H}
  %wv{q} = call {H} @{_PERMUTE}({H} %value.lo, {H} %id{q}, {H} %value.hi)
  %wa{q} = call {H} @{_SHIFT}({H} %takes, {H} %id{q})
  %wb{q} = and {H} %wa{q}, splat (i32 1)
  %wm{q} = icmp ne {H} %wb{q}, zeroinitializer
  %wp{q} = getelementptr i8, ptr %row, i64 {64 * q}
  call void @llvm.masked.store.v16i32.p0({H} %wv{q}, ptr %wp{q}, i32 4, <16 x i1> %wm{q})"""
        for q in range(4)
    )


def _notes() -> str:
    """Which lane stores which word; a pattern in which lanes share a word does not fit."""
    lanes = "\n".join(
        f"""  %nb{i} = extractelement {B} %place, i32 {i}
  %nz{i} = zext i8 %nb{i} to i64
  %np{i} = getelementptr i8, ptr %ids, i64 %nz{i}
  store i8 {i}, ptr %np{i}, align 1"""
        for i in range(32)
    )
    return f"""  store <64 x i8> splat (i8 -1), ptr %ids, align 64
{lanes}
  %noted = load <64 x i8>, ptr %ids, align 64
  %free = icmp eq <64 x i8> %noted, splat (i8 -1)
  %free.b = bitcast <64 x i1> %free to i64
  %free.n = call i64 @llvm.ctpop.i64(i64 %free.b)
  %own = icmp eq i64 %free.n, 32
  %now = select i1 %own, i32 {KNOWN}, i32 {UNFIT}
  store i32 %now, ptr %statep, align 4
  br i1 %own, label %known, label %lanewise"""


def easy_window() -> str:
    """Lines that go to label window where all lanes surely lie in a window inside shared memory,
    which one comparison for all of them tells, and else to label check."""
    return f"""  %first = extractelement {V} %off, i32 0
  %first.1 = insertelement {V} poison, i32 %first, i64 0
  %first.v = shufflevector {V} %first.1, {V} poison, {V} zeroinitializer
  %rel = sub {V} %off, %first.v
  %beyond = and {V} %rel, splat (i32 -253)
  %fits.v = icmp eq {V} %beyond, zeroinitializer
  %fits.b = bitcast {P} %fits.v to i32
  %fits = icmp eq i32 %fits.b, -1
  %begins = icmp ult i32 %first, %lim
  %near = and i1 %fits, %begins
  %last = add i32 %first, 255
  %ends = icmp ult i32 %last, %lim
  %odd = and i32 %first, 3
  %even = icmp eq i32 %odd, 0
  %whole.w = and i1 %ends, %even
  %easy = and i1 %near, %whole.w
  br i1 %easy, label %window, label %check"""


def window_store() -> str:
    """Lines that store %io's words at offsets %off under %mask and go to label count, or go on.

    All lanes, those that are off too, lie within 256 bytes from lane 0's offset up; those that are
    on are known to lie inside shared memory.
    """
    return f"""  br i1 %near, label %window, label %lanewise
window:
  %word = lshr {V} %rel, splat (i32 2)
  %place = trunc {V} %word to {B}
  %lanep = getelementptr i8, ptr %site, i64 {at.SITE_LANES}
  %before = load {B}, ptr %lanep, align 32
  %same.v = icmp eq {B} %place, %before
  %same.b = bitcast {P} %same.v to i32
  %same = icmp eq i32 %same.b, -1
  %statep = getelementptr i8, ptr %site, i64 {at.SITE_STATE}
  %state = load i32, ptr %statep, align 4
  %ids = getelementptr i8, ptr %site, i64 {at.SITE_WORDS}
  br i1 %same, label %again, label %new
new:
  store {B} %place, ptr %lanep, align 32
  store i32 {SEEN}, ptr %statep, align 4
  br label %lanewise
again:
  switch i32 %state, label %new [ i32 {SEEN}, label %note
    i32 {KNOWN}, label %known
    i32 {UNFIT}, label %lanewise ]
note:
{_notes()}
known:
  %row64 = zext i32 %first to i64
  %row = getelementptr i8, ptr %host, i64 %row64
  %value = load {V}, ptr %io, align 64
  %takes.1 = insertelement {H} poison, i32 %mask, i64 0
  %takes = shufflevector {H} %takes.1, {H} poison, {H} zeroinitializer
{_halves("value")}
{_stores()}
  br label %count
lanewise:"""
