"""Helper functions in LLVM IR for frequent patterns of shared accesses.

They sit before the general paths of shared_ir.py, which do whatever does not fit, and count alike.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting.slots import STORE
from warplens.lift.counting.window_ir import WINDOW_WORDS
from warplens.lift.engines.host import HostFeatures
from warplens.lift.runtime import window_store_ir
from warplens.lift.runtime.access_ir import (
    ADDRESSES,
    FULL,
    RESULTS,
    VALUES,
    by_lanes,
    prologue,
    scratch,
)
from warplens.lift.runtime.shared_ir import SHARED_HOST
from warplens.lift.vector_ir import W64, P, V, scaled_lanes, splat, store_for_lanes

_H = "<16 x i32>"
_FEW_LANES = 6  # fewer stores than these are made one by one
WINDOW_DECLARATIONS = {
    "llvm.x86.avx512.vpermi2var.d.512":
        f"declare {_H} @llvm.x86.avx512.vpermi2var.d.512({_H}, {_H}, {_H})",
}  # fmt: skip


def has_window(features: HostFeatures, size: int) -> bool:
    """Whether shared loads of this size have a window path."""
    return features.has_avx512 and size in (4, 8, 16)


def _order(first: int) -> str:
    return "<16 x i32> <" + ", ".join(f"i32 {i}" for i in range(first, first + 16)) + ">"


_JOIN = "<32 x i32> <" + ", ".join(f"i32 {i}" for i in range(32)) + ">"


def _permutes(size: int, registers: int) -> str:
    """Every word of every lane from `registers` rows of 16 words at %row, by word index %idx."""
    tag = f"w{registers}"
    lines = []
    for r in range(registers):
        lines += [
            f"  %{tag}.p{r} = getelementptr i8, ptr %row, i64 {64 * r}",
            f"  %{tag}.r{r} = load {_H}, ptr %{tag}.p{r}, align 4",
        ]
    for word in range(size // 4):
        halves = []
        for half in (0, 16):
            n = f"%{tag}.{word}.{half}"
            lines += [
                f"  {n}.s = shufflevector {V} %idx, {V} poison, {_order(half)}",
                f"  {n}.i = add {_H} {n}.s, splat (i32 {word})",
            ]
            for pair in range(registers // 2):
                lines.append(
                    f"  {n}.f{pair} = call {_H} @llvm.x86.avx512.vpermi2var.d.512("
                    f"{_H} %{tag}.r{2 * pair}, {_H} {n}.i, {_H} %{tag}.r{2 * pair + 1})"
                )
            if registers == 2:
                halves.append(f"{n}.f0")
                continue
            lines += [
                f"  {n}.b = and {_H} {n}.i, splat (i32 32)",
                f"  {n}.t = icmp ne {_H} {n}.b, zeroinitializer",
                f"  {n}.v = select <16 x i1> {n}.t, {_H} {n}.f1, {_H} {n}.f0",
            ]
            halves.append(f"{n}.v")
        lines += [
            f"  %{tag}.{word}.all = shufflevector {_H} {halves[0]}, {_H} {halves[1]}, {_JOIN}",
            scratch(f"{tag}.{word}.io", RESULTS + word),
            f"  store {V} %{tag}.{word}.all, ptr %{tag}.{word}.io, align 64",
        ]
    return "\n".join(lines)


def _gathered() -> str:
    """Lines that load words of lanes that are all inside shared memory, wherever they are."""
    return f"""scattered:
  %begin = icmp ult {V} %off, %limv
  %ok3 = and {P} %in, %straight
  %ok4 = and {P} %ok3, %begin
  %okb4 = bitcast {P} %ok4 to i32
  %hit4 = and i32 %okb4, %mask
  %all4 = icmp eq i32 %hit4, %mask
  br i1 %all4, label %gather, label %walk
gather:
  %lanes = bitcast i32 %mask to {P}
  %ptrs = getelementptr i8, ptr %host, {V} %off
  %g = call {V} @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %ptrs, i32 4, {P} %lanes,
    {V} zeroinitializer)
{scratch("io", RESULTS)}
  store {V} %g, ptr %io, align 64
  br label %count"""


def shared_window(size: int) -> str:
    """@wl.shared.load.N: offsets within 256 bytes from lane 0's up, by permutes of that window;
    of words, others by a gather.

    A buffer of shared memory has as many bytes to spare behind its end.
    """
    name = f"wl.shared.load.{size}"
    otherwise = "scattered" if size == 4 else "walk"
    return f"""{prologue(name)}
{scratch("offp", ADDRESSES)}
  %off = load {V}, ptr %offp, align 64
  %first = extractelement {V} %off, i32 0
{splat("%fv", "%first")}
  %rel = sub {V} %off, %fv
  %limp = getelementptr i64, ptr %env, i64 {at.ENV_SHARED_LIMIT}
  %lim64 = load i64, ptr %limp, align 8
  %lim = trunc i64 %lim64 to i32
{splat("%limv", "%lim")}
  %whole = add {V} %off, splat (i32 {size - 1})
  %in = icmp ult {V} %whole, %limv
  %near = icmp ult {V} %rel, splat (i32 {4 * WINDOW_WORDS - size + 1})
  %low = and {V} %off, splat (i32 {size - 1})
  %straight = icmp eq {V} %low, zeroinitializer
  %ok1 = and {P} %in, %near
  %ok = and {P} %ok1, %straight
  %okb = bitcast {P} %ok to i32
  %hit = and i32 %okb, %mask
  %all = icmp eq i32 %hit, %mask
  %fin = icmp ult i32 %first, %lim
  %go1 = and i1 %all, %fin
  ; lane 0 need not execute, and its address may then be anything
  %fph = and i32 %first, 3
  %fword = icmp eq i32 %fph, 0
  %go2 = and i1 %go1, %fword
{SHARED_HOST}
  br i1 %go2, label %quick, label %{otherwise}
{_gathered() if size == 4 else ""}
walk:
  %r = call i32 @{name}.walk(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm, i32 %inst,
    i32 %counter)
  ret i32 %r
quick:
  %f64 = zext i32 %first to i64
  %row = getelementptr i8, ptr %host, i64 %f64
  %idx = lshr {V} %rel, splat (i32 2)
  %half = icmp ult {V} %rel, splat (i32 {2 * WINDOW_WORDS - size + 1})
  %hb = bitcast {P} %half to i32
  %hh = and i32 %hb, %mask
  %small = icmp eq i32 %hh, %mask
  br i1 %small, label %two, label %four
two:
{_permutes(size, 2)}
  br label %count
four:
{_permutes(size, 4)}
  br label %count
count:
  call void @wl.wavefronts(ptr %env, ptr %site, {V} %off, i32 %mask, i32 {size}, i32 %counter,
    i32 0)
  ret i32 0
}}"""


def _own_places() -> str:
    """Lines that put each lane's place into scratch: of one that is off, where its value stands."""
    return f"""{scratch("pp", FULL)}
  %lanes = bitcast i32 %mask to {P}
  %wide = zext {V} %off to {W64}
{splat("%hv", "%hosta", "i64")}
  %there = add {W64} %hv, %wide
  %ioa = ptrtoint ptr %io to i64
{splat("%iov", "%ioa", "i64")}
  %here = add {W64} %iov, {scaled_lanes(4, "i64")}
  %places = select {P} %lanes, {W64} %there, {W64} %here
{store_for_lanes("places", "%places", "%pp", "i64")}"""


def _by_pointers() -> str:
    """Lines that store every lane's word to its place, the highest lane first."""
    return "\n".join(
        f"""  %mpp{lane} = getelementptr i64, ptr %pp, i64 {lane}
  %mp{lane} = load ptr, ptr %mpp{lane}, align 8
  %mvp{lane} = getelementptr i32, ptr %io, i64 {lane}
  %mv{lane} = load i32, ptr %mvp{lane}, align 4
  store i32 %mv{lane}, ptr %mp{lane}, align 4"""
        for lane in range(31, -1, -1)
    )


def shared_words(features: HostFeatures) -> str:
    """@wl.shared.store.4: words inside shared memory, one store a lane; scatters cost more.

    The highest lane stores first: the lowest lane's value stays, as on hardware. Where most of the
    lanes are on, the others store their value where it stands: that takes no loop and no guess.
    Patterns within a window that come again are stored by permutes (window_store_ir.py).
    """
    easy, window = "  br label %check", ""
    if features.has_avx512:
        easy, window = window_store_ir.easy_window(), window_store_ir.window_store()
    name = "wl.shared.store.4"
    stores = "\n".join(
        f"""  %op{lane} = getelementptr i32, ptr %offp, i64 {lane}
  %o{lane} = load i32, ptr %op{lane}, align 4
  %z{lane} = zext i32 %o{lane} to i64
  %vp{lane} = getelementptr i32, ptr %io, i64 {lane}
  %v{lane} = load i32, ptr %vp{lane}, align 4
  %p{lane} = getelementptr i8, ptr %host, i64 %z{lane}
  store i32 %v{lane}, ptr %p{lane}, align 4"""
        for lane in range(31, -1, -1)
    )
    return f"""{prologue(name)}
{scratch("offp", ADDRESSES)}
  %off = load {V}, ptr %offp, align 64
  %limp = getelementptr i64, ptr %env, i64 {at.ENV_SHARED_LIMIT}
  %lim64 = load i64, ptr %limp, align 8
  %lim = trunc i64 %lim64 to i32
{SHARED_HOST}
{scratch("io", VALUES)}
{easy}
check:
{splat("%limv", "%lim")}
  %whole = add {V} %off, splat (i32 3)
  %in = icmp ult {V} %whole, %limv
  %begin = icmp ult {V} %off, %limv
  %low = and {V} %off, splat (i32 3)
  %straight = icmp eq {V} %low, zeroinitializer
  %ok1 = and {P} %in, %begin
  %ok = and {P} %ok1, %straight
  %okb = bitcast {P} %ok to i32
  %hit = and i32 %okb, %mask
  %all = icmp eq i32 %hit, %mask
  br i1 %all, label %quick, label %walk
walk:
  %r = call i32 @{name}.walk(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm, i32 %inst,
    i32 %counter)
  ret i32 %r
quick:
{window}
  %full = icmp eq i32 %mask, -1
  br i1 %full, label %every, label %some
every:
{by_lanes("offs", ADDRESSES)}
{by_lanes("vals", VALUES)}
{stores}
  br label %count
some:
  %n = call i32 @llvm.ctpop.i32(i32 %mask)
  %few = icmp ult i32 %n, {_FEW_LANES}
  br i1 %few, label %one, label %most
most:
{by_lanes("some", VALUES)}
{_own_places()}
{_by_pointers()}
  br label %count
one:
  %rem = phi i32 [ %mask, %some ], [ %rem2, %one ]
  %up = call i32 @llvm.ctlz.i32(i32 %rem, i1 true)
  %lane = sub i32 31, %up
  %op = getelementptr i32, ptr %offp, i32 %lane
  %o = load i32, ptr %op, align 4
  %z = zext i32 %o to i64
  %vp = getelementptr i32, ptr %io, i32 %lane
  %v = load i32, ptr %vp, align 4
  %p = getelementptr i8, ptr %host, i64 %z
  store i32 %v, ptr %p, align 4
  %bit = shl i32 1, %lane
  %rem2 = xor i32 %rem, %bit
  %more = icmp ne i32 %rem2, 0
  br i1 %more, label %one, label %count
count:
  call void @wl.wavefronts(ptr %env, ptr %site, {V} %off, i32 %mask, i32 4, i32 %counter,
    i32 {STORE})
  ret i32 0
}}"""
