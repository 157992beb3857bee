"""Helper functions in LLVM IR that compare lanes: which values, sectors, lines and banks differ."""

from __future__ import annotations

from warplens.lift.engines.host import HostFeatures
from warplens.lift.vector_ir import P, V, scaled_lanes, splat

_PAIR = "{ <16 x i1>, <16 x i1> }"
_INTERSECT = "llvm.x86.avx512.vp2intersect.d.512"
_CONFLICT = "llvm.x86.avx512.conflict.d.512"


def _also_low(name: str, low: str, high: str) -> list[str]:
    """Lines that define which elements of `high` are among those of `low`, by one instruction."""
    return [
        f"  %{name}.both = call {_PAIR} @{_INTERSECT}(<16 x i32> {low}, <16 x i32> {high})",
        f"  %{name} = extractvalue {_PAIR} %{name}.both, 1",
    ]


def _distinct_conflict(has_intersect: bool) -> str:
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
            f"  %c{side} = call <16 x i32> @{_CONFLICT}(<16 x i32> %{side})",
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
    if has_intersect:
        lines += _also_low("also", "%real", "%hi")
        seen = "%also"
    for r in range(0 if has_intersect else 16):
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


_ALL_LANES = f"{V} <" + ", ".join(f"i32 {i}" for i in range(32)) + ">"
_THREE = "{ i32, i32, i32 }"


def _earlier(r: int) -> dict[str, str]:
    """Lines that define %lo.R and %hi.R: of the lanes of each half the lane R before; by half.

    Two registers side by side, moved on: lanes with none before get what stands for no lane.
    """
    h = "<16 x i32>"
    order = ", ".join(f"i32 {16 - r % 16 + i}" for i in range(16))
    lo, hi = "%x.lo", "%x.hi"
    lines = {}
    if r < 16:
        lines["lo"] = f"  %lo.{r} = shufflevector {h} %off.none, {h} {lo}, {h} <{order}>"
        lines["hi"] = f"  %hi.{r} = shufflevector {h} {lo}, {h} {hi}, {h} <{order}>"
    elif r == 16:
        lines["hi"] = f"  %hi.16 = or {h} {lo}, zeroinitializer"
    else:
        lines["hi"] = f"  %hi.{r} = shufflevector {h} %off.none, {h} {lo}, {h} <{order}>"
    return lines


def _touched_least() -> str:
    """Addresses, sectors and lines in one pass: the least difference to any lane before tells
    whether a lane's address, sector and line were there already."""
    h = "<16 x i32>"
    lines = [
        f"define internal {_THREE} @wl.touched({V} %off, i32 %mask) noinline {{",
        f"  %lanes.v = bitcast i32 %mask to {P}",
        f"  %off.none = or {h} splat (i32 -1), zeroinitializer",
        f"  %end = icmp ugt {V} %off, splat (i32 -129)",
        "  %end.b = bitcast <32 x i1> %end to i32",
        "  %end.in = and i32 %end.b, %mask",
        "  %is.end = icmp ne i32 %end.in, 0",
        "  br i1 %is.end, label %slow, label %quick",
        "slow: ; as near to what stands for no lane as to each other",
        *_one_after_the_other("%off"),
        "quick:",
        f"  %x = select {P} %lanes.v, {V} %off, {V} splat (i32 -1)",
        *_halves("x"),
    ]
    least = {"lo": "", "hi": ""}
    for r in range(1, 32):
        for side, line in _earlier(r).items():
            name, before = f"{side}.{r}", least[side]
            lines += [line, f"  %d.{name} = xor {h} %x.{side}, %{name}"]
            if before:
                lines.append(
                    f"  %n.{name} = call {h} @llvm.umin.v16i32({h} {before}, {h} %d.{name})"
                )
            least[side] = f"%n.{name}" if before else f"%d.{name}"
    order = ", ".join(f"i32 {i}" for i in range(32))
    lines.append(f"  %l = shufflevector {h} {least['lo']}, {h} {least['hi']}, {V} <{order}>")
    for kind, grain in (("adr", 1), ("sec", 32), ("lin", 128)):
        lines += [
            f"  %{kind}.new = icmp uge {V} %l, splat (i32 {grain})",
            f"  %{kind}.bits = bitcast {P} %{kind}.new to i32",
            f"  %{kind}.in = and i32 %{kind}.bits, %mask",
            f"  %{kind}.n = call i32 @llvm.ctpop.i32(i32 %{kind}.in)",
        ]
    return "\n".join([*lines, *_three("t", "%adr.n", "%sec.n", "%lin.n"), "}"])


def _compared(name: str) -> list[str]:
    """Lines that define %NAME.lo and %NAME.hi: which elements of %NAME stood in a lane before."""
    h = "<16 x i32>"
    n = name
    return [
        *_halves(n),
        *(f"  %{n}.c.{side} = call {h} @{_CONFLICT}({h} %{n}.{side})" for side in ("lo", "hi")),
        *_also_low(f"{n}.also", f"%{n}.lo", f"%{n}.hi"),
        *(
            f"  %{n}.w.{side} = icmp ne {h} %{n}.c.{side}, zeroinitializer"
            for side in ("lo", "hi")
        ),
        f"  %{n}.o.hi = or <16 x i1> %{n}.w.hi, %{n}.also",
        f"  %{n}.b = shufflevector <16 x i1> %{n}.w.lo, <16 x i1> %{n}.o.hi, {_ALL_LANES}",
        f"  %{n}.bits = bitcast {P} %{n}.b to i32",
    ]


def _kinds(name: str, values: str) -> list[str]:
    """Lines that define how many different values the lanes hold, by comparing all at once."""
    n = name
    return [
        f"  %{n}.v = or {V} {values}, zeroinitializer",
        *_compared(f"{n}.v"),
        f"  %{n}.first = xor i32 %{n}.v.bits, -1",
        f"  %{n} = call i32 @llvm.ctpop.i32(i32 %{n}.first)",
    ]


def _of_active() -> list[str]:
    """Lines that define %x: the offsets of active lanes; in the others that of one of these."""
    return [
        f"  %lanes.v = bitcast i32 %mask to {P}",
        "  %one.lane = call i32 @llvm.cttz.i32(i32 %mask, i1 false)",
        "  %one.in = and i32 %one.lane, 31",
        f"  %one = extractelement {V} %off, i32 %one.in",
        splat("%one.v", "%one"),
        f"  %x = select {P} %lanes.v, {V} %off, {V} %one.v",
    ]


def _touched_at_once() -> str:
    """Addresses, sectors and lines where all lanes are compared in three instructions."""
    return "\n".join([
        f"define internal {_THREE} @wl.touched({V} %off, i32 %mask) noinline {{",
        *_of_active(),
        f"  %sec = lshr {V} %x, splat (i32 5)",
        f"  %lin = lshr {V} %x, splat (i32 7)",
        *_kinds("adr.n", "%x"),
        *_kinds("sec.n", "%sec"),
        *_kinds("lin.n", "%lin"),
        *_three("t", "%adr.n", "%sec.n", "%lin.n"),
        "}",
    ])  # fmt: skip


def _apart_at_once() -> str:
    """Sectors of their own; lanes that are off have numbers that no sector has.

    Of lanes that go anywhere, two are in one line several times as often as in one sector.
    """
    off = "<" + ", ".join(f"i32 {-1 - i}" for i in range(32)) + ">"
    return "\n".join([
        f"define internal i32 @wl.apart({V} %off, i32 %mask) alwaysinline {{",
        f"  %lanes.v = bitcast i32 %mask to {P}",
        f"  %sec = lshr {V} %off, splat (i32 5)",
        f"  %s = select {P} %lanes.v, {V} %sec, {V} {off}",
        f"  %l = lshr {V} %s, splat (i32 2)",
        *_compared("s"),
        *_compared("l"),
        "  %is = icmp eq i32 %s.bits, 0",
        "  %own = xor i32 %l.bits, -1",
        "  %new = and i32 %own, %mask",
        "  %n = call i32 @llvm.ctpop.i32(i32 %new)",
        "  %lines = select i1 %is, i32 %n, i32 0",
        "  ret i32 %lines",
        "}",
    ])  # fmt: skip


_W = "<32 x i16>"


def _apart() -> str:
    """Half a register holds 16 bits of each line's number: lanes that differ there lie in different
    lines. Turned by 1 to 16 lanes it meets every other lane. Lanes that are off have numbers of
    their own. What is the same by chance only takes longer.
    """
    lines = [
        f"define internal i32 @wl.apart({V} %off, i32 %mask) noinline {{",
        f"  %lanes.v = bitcast i32 %mask to {P}",
        f"  %line = lshr {V} %off, splat (i32 7)",
        f"  %top = lshr {V} %off, splat (i32 23)",
        f"  %mixed = xor {V} %line, %top",
        f"  %part = and {V} %mixed, splat (i32 65535)",
        f"  %all = select {P} %lanes.v, {V} %part, {V} {scaled_lanes(2039)}",
        *_halves("all"),
        f"  %x = call {_W} @llvm.x86.avx512.packusdw.512(<16 x i32> %all.lo, <16 x i32> %all.hi)",
    ]
    least = ""
    for r in range(1, 17):
        order = ", ".join(f"i32 {(i + r) % 32}" for i in range(32))
        lines += [
            f"  %r{r} = shufflevector {_W} %x, {_W} poison, {V} <{order}>",
            f"  %x{r} = xor {_W} %x, %r{r}",
        ]
        if least:
            lines.append(f"  %n{r} = call {_W} @llvm.umin.v32i16({_W} {least}, {_W} %x{r})")
        least = f"%n{r}" if least else f"%x{r}"
    lines += [
        f"  %same = icmp eq {_W} {least}, zeroinitializer",
        f"  %any = bitcast {P} %same to i32",
        "  %apart = icmp eq i32 %any, 0",
        "  %n = call i32 @llvm.ctpop.i32(i32 %mask)",
        "  %lines = select i1 %apart, i32 %n, i32 0",
        "  ret i32 %lines",
        "}",
    ]
    return "\n".join(lines)


_NEVER_APART = f"""define internal i32 @wl.apart({V} %off, i32 %mask) {{
  ret i32 0
}}"""


def _three(stem: str, *values: str) -> list[str]:
    """Lines that return three numbers."""
    lines, whole = [], "poison"
    for k, value in enumerate(values):
        lines.append(f"  %{stem}{k} = insertvalue {_THREE} {whole}, i32 {value}, {k}")
        whole = f"%{stem}{k}"
    return [*lines, f"  ret {_THREE} {whole}"]


def _one_after_the_other(offsets: str) -> list[str]:
    """Lines that find and return all three numbers by what differs, sector, line and address."""
    return [
        f"""  %au = call i32 @wl.distinct({V} {offsets}, i32 %mask)
  %an = call i32 @llvm.ctpop.i32(i32 %au)
  %sec = lshr {V} {offsets}, splat (i32 5)
  %su = call i32 @wl.distinct({V} %sec, i32 %au)
  %sn = call i32 @llvm.ctpop.i32(i32 %su)
  %lin = lshr {V} {offsets}, splat (i32 7)
  %lu = call i32 @wl.distinct({V} %lin, i32 %su)
  %ln = call i32 @llvm.ctpop.i32(i32 %lu)""",
        *_three("o", "%an", "%sn", "%ln"),
    ]


_TOUCHED_LOOP = "\n".join([
    f"define internal {_THREE} @wl.touched({V} %off, i32 %mask) {{",
    *_one_after_the_other("%off"),
    "}",
])  # fmt: skip


def compares_at_once(features: HostFeatures) -> bool:
    """Whether all lanes are compared by single instructions of two cycles, as AMD's do since Zen 5;
    on Intel's the same ones take ten times as long."""
    return "+avx512vp2intersect" in features.features and features.cpu.startswith("znver")


def distinct(features: HostFeatures) -> dict[str, str]:
    """@wl.distinct: mask of the lanes that are the first with their value.

    @wl.touched: numbers of different addresses, sectors and lines of byte offsets.
    @wl.apart: how many lines there are if all lanes are known to lie in sectors of their own, as
    most do that go anywhere, else 0. Conflict detection takes Intel's processors several times as
    long; there lanes are known to only if their lines differ, too.
    """
    if features.has_avx512 and "+avx512cd" in features.features:
        declared = {_CONFLICT: f"declare <16 x i32> @{_CONFLICT}(<16 x i32>)"}
        if compares_at_once(features):
            return declared | {
                _INTERSECT: f"declare {_PAIR} @{_INTERSECT}(<16 x i32>, <16 x i32>)",
                "wl.distinct": _distinct_conflict(True),
                "wl.touched": _touched_at_once(),
                "wl.apart": _apart_at_once(),
            }
        return declared | {
            "wl.distinct": _distinct_conflict(False),
            "llvm.x86.avx512.packusdw.512": f"declare {_W} "
            "@llvm.x86.avx512.packusdw.512(<16 x i32>, <16 x i32>)",
            "llvm.umin.v32i16": f"declare {_W} @llvm.umin.v32i16({_W}, {_W})",
            "wl.touched": _touched_least(),
            "wl.apart": _apart(),
        }
    return {"wl.distinct": _distinct_loop(), "wl.touched": _TOUCHED_LOOP,
            "wl.apart": _NEVER_APART}  # fmt: skip


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
