"""Helper functions in LLVM IR that compare lanes: which values, sectors, lines and banks differ."""

from __future__ import annotations

from warplens.lift.engines.host import HostFeatures
from warplens.lift.vector_ir import P, V, splat


def _distinct_conflict() -> str:
    lines = [
        f"define internal i32 @wl.distinct({V} %v, i32 %mask) noinline {{",
        f"  %lo = shufflevector {V} %v, {V} poison, <16 x i32> <"
        + ", ".join(f"i32 {i}" for i in range(16)) + ">",
        f"  %hi = shufflevector {V} %v, {V} poison, <16 x i32> <"
        + ", ".join(f"i32 {i}" for i in range(16, 32)) + ">",
        "  %mlo = and i32 %mask, 65535",
        "  %mhi = lshr i32 %mask, 16",
    ]  # fmt: skip
    for side in ("lo", "hi"):
        lines += [
            f"  %c{side} = call <16 x i32> @llvm.x86.avx512.conflict.d.512(<16 x i32> %{side})",
            f"  %s{side}.1 = insertelement <16 x i32> poison, i32 %m{side}, i64 0",
            f"  %s{side} = shufflevector <16 x i32> %s{side}.1, <16 x i32> poison, <16 x i32> "
            "zeroinitializer",
            f"  %d{side} = and <16 x i32> %c{side}, %s{side}",
            f"  %z{side} = icmp eq <16 x i32> %d{side}, zeroinitializer",
            f"  %b{side} = bitcast <16 x i1> %z{side} to i16",
            f"  %w{side} = zext i16 %b{side} to i32",
            f"  %u{side} = and i32 %w{side}, %m{side}",
        ]
    lines += [
        "  %tlo = trunc i32 %mlo to i16",
        "  %plo = bitcast i16 %tlo to <16 x i1>",
        "  %real = select <16 x i1> %plo, <16 x i32> %lo, <16 x i32> splat (i32 -1)",
    ]
    seen = "zeroinitializer"
    for r in range(16):
        order = ", ".join(f"i32 {(i + r) % 16}" for i in range(16))
        lines += [
            f"  %r{r} = shufflevector <16 x i32> %real, <16 x i32> poison, <16 x i32> <{order}>",
            f"  %e{r} = icmp eq <16 x i32> %hi, %r{r}",
            f"  %a{r} = or <16 x i1> {seen}, %e{r}",
        ]
        seen = f"%a{r}"
    lines += [
        f"  %cross = bitcast <16 x i1> {seen} to i16",
        "  %cross32 = zext i16 %cross to i32",
        "  %ncross = xor i32 %cross32, 65535",
        "  %uhi2 = and i32 %uhi, %ncross",
        "  %top = shl i32 %uhi2, 16",
        "  %all = or i32 %ulo, %top",
        "  ret i32 %all",
        "}",
    ]
    return "\n".join(lines)


def _distinct_loop() -> str:
    return f"""define internal i32 @wl.distinct({V} %v, i32 %mask) noinline {{
entry:
  %buffer = alloca {V}, align 128
  store {V} %v, ptr %buffer, align 128
  br label %loop
loop:
  %rem = phi i32 [ %mask, %entry ], [ %rem2, %body ]
  %found = phi i32 [ 0, %entry ], [ %found2, %body ]
  %more = icmp ne i32 %rem, 0
  br i1 %more, label %body, label %done
body:
  %lane = call i32 @llvm.cttz.i32(i32 %rem, i1 true)
  %p = getelementptr i32, ptr %buffer, i32 %lane
  %x = load i32, ptr %p, align 4
{splat("%s", "%x")}
  %eq = icmp eq {V} %v, %s
  %bits = bitcast {P} %eq to i32
  %keep = xor i32 %bits, -1
  %rem2 = and i32 %rem, %keep
  %bit = shl i32 1, %lane
  %found2 = or i32 %found, %bit
  br label %loop
done:
  ret i32 %found
}}"""


def _halves(name: str) -> list[str]:
    orders = (", ".join(f"i32 {i}" for i in range(first, first + 16)) for first in (0, 16))
    return [
        f"  %{name}.{side} = shufflevector {V} %{name}, {V} poison, <16 x i32> <{order}>"
        for side, order in zip(("lo", "hi"), orders, strict=True)
    ]


_THREE = "{ i32, i32, i32 }"


def _touched_conflict() -> str:
    """Addresses, sectors and lines in one pass; when all lines differ there is no more to find.

    `conflict` compares within a half; the least difference to any lane of the other half tells
    whether address, sector and line were there before. Lanes that are off take the place of one
    that is on.
    """
    h = "<16 x i32>"
    lines = [
        f"define internal {_THREE} @wl.touched({V} %off, i32 %mask) {{",
        f"  %adr = or {V} %off, zeroinitializer",
        *_halves("adr"),
        "  %m.lo = trunc i32 %mask to i16",
        "  %m.up = lshr i32 %mask, 16",
        "  %m.hi = trunc i32 %m.up to i16",
        "  %p.lo = bitcast i16 %m.lo to <16 x i1>",
        "  %some = call i32 @llvm.cttz.i32(i32 %mask, i1 false)",
        f"  %some.1 = insertelement {h} poison, i32 %some, i64 0",
        f"  %some.v = shufflevector {h} %some.1, {h} poison, {h} zeroinitializer",
        f"  %on = call {h} @llvm.x86.avx512.permvar.si.512({h} %adr.lo, {h} %some.v)",
        f"  %real = select <16 x i1> %p.lo, {h} %adr.lo, {h} %on",
        "  %none.lo = icmp eq i16 %m.lo, 0",
        "  %free = sext i1 %none.lo to i16",
    ]  # fmt: skip
    least = ""
    for r in range(16):
        order = ", ".join(f"i32 {(i + r) % 16}" for i in range(16))
        lines += [
            f"  %r{r} = shufflevector {h} %real, {h} poison, {h} <{order}>",
            f"  %x{r} = xor {h} %adr.hi, %r{r}",
        ]
        if least:
            lines.append(f"  %n{r} = call {h} @llvm.umin.v16i32({h} {least}, {h} %x{r})")
        least = f"%n{r}" if least else f"%x{r}"
    lines += [
        *_grain("lin", 7, least),
        "  %lanes = call i32 @llvm.ctpop.i32(i32 %mask)",
        "  %apart = icmp eq i32 %lin.n, %lanes",
        "  br i1 %apart, label %each, label %near",
        "each:",
        *_three("e", "%lanes", "%lanes", "%lanes"),
        "near:",
        *_grain("sec", 5, least),
        *_grain("adr", 0, least),
        *_three("t", "%adr.n", "%sec.n", "%lin.n"),
        "}",
    ]
    return "\n".join(lines)


def _grain(kind: str, shift: int, least: str) -> list[str]:
    """%KIND.n: how many different offsets there are after a shift."""
    h = "<16 x i32>"
    lines = []
    if shift:
        lines = [f"  %{kind} = lshr {V} %off, splat (i32 {shift})", *_halves(kind)]
    lines += [
        f"  %{kind}.new = icmp uge {h} {least}, splat (i32 {1 << shift})",
        f"  %{kind}.differ = bitcast <16 x i1> %{kind}.new to i16",
        f"  %{kind}.other = or i16 %{kind}.differ, %free",
    ]
    for side in ("lo", "hi"):
        name = f"{kind}.{side}"
        lines += [
            f"  %{name}.c = call {h} @llvm.x86.avx512.conflict.d.512({h} %{name})",
            f"  %{name}.w = zext i16 %m.{side} to i32",
            f"  %{name}.1 = insertelement {h} poison, i32 %{name}.w, i64 0",
            f"  %{name}.s = shufflevector {h} %{name}.1, {h} poison, {h} zeroinitializer",
            f"  %{name}.d = and {h} %{name}.c, %{name}.s",
            f"  %{name}.z = icmp eq {h} %{name}.d, zeroinitializer",
            f"  %{name}.b = bitcast <16 x i1> %{name}.z to i16",
            f"  %{name}.u = and i16 %{name}.b, %m.{side}",
        ]
    return [
        *lines,
        f"  %{kind}.v = and i16 %{kind}.hi.u, %{kind}.other",
        f"  %{kind}.l32 = zext i16 %{kind}.lo.u to i32",
        f"  %{kind}.h32 = zext i16 %{kind}.v to i32",
        f"  %{kind}.h16 = shl i32 %{kind}.h32, 16",
        f"  %{kind}.all = or i32 %{kind}.l32, %{kind}.h16",
        f"  %{kind}.n = call i32 @llvm.ctpop.i32(i32 %{kind}.all)",
    ]


def _three(stem: str, *values: str) -> list[str]:
    """Lines that return three numbers."""
    lines, whole = [], "poison"
    for k, value in enumerate(values):
        lines.append(f"  %{stem}{k} = insertvalue {_THREE} {whole}, i32 {value}, {k}")
        whole = f"%{stem}{k}"
    return [*lines, f"  ret {_THREE} {whole}"]


_TOUCHED_LOOP = "\n".join([
    f"define internal {_THREE} @wl.touched({V} %off, i32 %mask) {{",
    f"""  %au = call i32 @wl.distinct({V} %off, i32 %mask)
  %an = call i32 @llvm.ctpop.i32(i32 %au)
  %sec = lshr {V} %off, splat (i32 5)
  %su = call i32 @wl.distinct({V} %sec, i32 %au)
  %sn = call i32 @llvm.ctpop.i32(i32 %su)
  %lin = lshr {V} %off, splat (i32 7)
  %lu = call i32 @wl.distinct({V} %lin, i32 %su)
  %ln = call i32 @llvm.ctpop.i32(i32 %lu)""",
    *_three("t", "%an", "%sn", "%ln"),
    "}",
])  # fmt: skip


def distinct(features: HostFeatures) -> dict[str, str]:
    """@wl.distinct: mask of the lanes that are the first with their value.

    @wl.touched: numbers of different addresses, sectors and lines of byte offsets.
    """
    if features.has_avx512 and "+avx512cd" in features.features:
        name = "llvm.x86.avx512.conflict.d.512"
        return {
            name: f"declare <16 x i32> @{name}(<16 x i32>)",
            "llvm.x86.avx512.permvar.si.512": "declare <16 x i32> "
            "@llvm.x86.avx512.permvar.si.512(<16 x i32>, <16 x i32>)",
            "wl.distinct": _distinct_conflict(),
            "wl.touched": _touched_conflict(),
        }
    return {"wl.distinct": _distinct_loop(), "wl.touched": _TOUCHED_LOOP}


def sets_of_lanes(name: str, values: str, lanes: str, first: int, n_bits: int, n: int) -> str:
    """Lines that define `name`, n elements: bits of the lanes (of i32 `lanes`) whose `n_bits` bits
    of `values` from bit `first` on are that element's number."""
    kind = f"<{n} x i32>"
    lines = [
        f"  %{name}.all.1 = insertelement {kind} poison, i32 {lanes}, i64 0",
        f"  %{name}.all = shufflevector {kind} %{name}.all.1, {kind} poison, <{n} x i32> "
        "zeroinitializer",
    ]
    group = f"%{name}.all"
    for k in range(n_bits):
        unlike = ", ".join(f"i32 {0 if number >> k & 1 else -1}" for number in range(n))
        after = f"%{name}" if k == n_bits - 1 else f"%{name}.g{k}"
        lines.append(f"""  %{name}.a{k} = and {V} {values}, splat (i32 {1 << first + k})
  %{name}.n{k} = icmp ne {V} %{name}.a{k}, zeroinitializer
  %{name}.b{k} = bitcast {P} %{name}.n{k} to i32
  %{name}.o{k} = and i32 %{name}.b{k}, {lanes}
  %{name}.s{k}.1 = insertelement {kind} poison, i32 %{name}.o{k}, i64 0
  %{name}.s{k} = shufflevector {kind} %{name}.s{k}.1, {kind} poison, <{n} x i32> zeroinitializer
  %{name}.x{k} = xor {kind} %{name}.s{k}, <{unlike}>
  {after} = and {kind} {group}, %{name}.x{k}""")
        group = after
    return "\n".join(lines)


def most_per_bank() -> str:
    """@wl.most: the largest number of the given lanes whose values agree modulo `banks` (<= 32)."""
    return f"""define internal i32 @wl.most({V} %v, i32 %lanes, i32 %banks) {{
  %wrap = sub i32 %banks, 1
{splat("%wv", "%wrap")}
  %bank = and {V} %v, %wv
{sets_of_lanes("group", "%bank", "%lanes", 0, 5, 32)}
  %many = call {V} @llvm.ctpop.v32i32({V} %group)
  %most = call i32 @llvm.vector.reduce.umax.v32i32({V} %many)
  ret i32 %most
}}"""
