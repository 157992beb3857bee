"""Helper functions in LLVM IR that generated code calls: the general paths of memory accesses.

Each helper gets the warp record, the environment, an access site and a lane mask; vectors travel
through the warp's scratch area. All return 0, or 1 after recording a fault in the environment.
Counting goes through the site's remembered pattern: lanes that access the same offsets relative to
lane 0, at the same phase modulo 128, touch the same number of sectors and lines. Banks only rotate
when all shared offsets move by whole words, so there the phase is taken modulo 4.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.engines.host import HostFeatures

V = "<32 x i32>"
W64 = "<32 x i64>"
P = "<32 x i1>"

DECLARATIONS = {
    "llvm.cttz.i32": "declare i32 @llvm.cttz.i32(i32, i1)",
    "llvm.ctlz.i32": "declare i32 @llvm.ctlz.i32(i32, i1)",
    "llvm.ctpop.i32": "declare i32 @llvm.ctpop.i32(i32)",
    "llvm.vector.reduce.or.v32i32": "declare i32 @llvm.vector.reduce.or.v32i32(<32 x i32>)",
    "llvm.umin.v16i32": "declare <16 x i32> @llvm.umin.v16i32(<16 x i32>, <16 x i32>)",
    "llvm.prefetch.p0": "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
    "llvm.ctpop.v32i32": "declare <32 x i32> @llvm.ctpop.v32i32(<32 x i32>)",
    "llvm.vector.reduce.umax.v32i32": "declare i32 @llvm.vector.reduce.umax.v32i32(<32 x i32>)",
}

LANES = "<" + ", ".join(f"i32 {i}" for i in range(32)) + ">"


def scaled_lanes(size: int, element: str = "i32") -> str:
    """The constant vector lane * size."""
    return "<" + ", ".join(f"{element} {i * size}" for i in range(32)) + ">"


def splat(name: str, scalar: str, kind: str = "i32", indent: str = "  ") -> str:
    """Lines that define `name` as `scalar` in all lanes."""
    v = f"<32 x {kind}>"
    return (
        f"{indent}{name}.1 = insertelement {v} poison, {kind} {scalar}, i64 0\n"
        f"{indent}{name} = shufflevector {v} {name}.1, {v} poison, {V} zeroinitializer"
    )


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


def most_per_bank() -> str:
    """@wl.most: the largest number of the given lanes whose values agree modulo `banks` (<= 32).

    One lane per bank: bits of the lanes in that bank, from the five bits of the bank numbers.
    """
    lines = []
    group = "%all"
    for k in range(5):
        unlike = ", ".join(f"i32 {0 if bank >> k & 1 else -1}" for bank in range(32))
        lines.append(f"""  %a{k} = and {V} %bank, splat (i32 {1 << k})
  %n{k} = icmp ne {V} %a{k}, zeroinitializer
  %b{k} = bitcast {P} %n{k} to i32
{splat(f"%s{k}", f"%b{k}")}
  %x{k} = xor {V} %s{k}, <{unlike}>
  %g{k} = and {V} {group}, %x{k}""")
        group = f"%g{k}"
    return f"""define internal i32 @wl.most({V} %v, i32 %lanes, i32 %banks) {{
  %wrap = sub i32 %banks, 1
{splat("%wv", "%wrap")}
  %bank = and {V} %v, %wv
{splat("%all", "%lanes")}
{chr(10).join(lines)}
  %many = call {V} @llvm.ctpop.v32i32({V} {group})
  %most = call i32 @llvm.vector.reduce.umax.v32i32({V} %many)
  ret i32 %most
}}"""


def remember() -> dict[str, str]:
    """@wl.known / @wl.remember: the pattern of a site and whether an access repeats it."""
    known = f"""define internal i1 @wl.known(ptr %site, {V} %off, i32 %mask, i32 %wrap) alwaysinline {{
  %first = extractelement {V} %off, i32 0
{splat("%base", "%first")}
  %pattern = sub {V} %off, %base
  %phase = and i32 %first, %wrap
  %mp = getelementptr i8, ptr %site, i64 {at.SITE_MASK}
  %old_mask = load i32, ptr %mp, align 4
  %pp = getelementptr i8, ptr %site, i64 {at.SITE_PHASE}
  %old_phase = load i32, ptr %pp, align 4
  %same_mask = icmp eq i32 %mask, %old_mask
  %same_phase = icmp eq i32 %phase, %old_phase
  %vp = getelementptr i8, ptr %site, i64 {at.SITE_PATTERN}
  %old = load {V}, ptr %vp, align 64
  %eq = icmp eq {V} %pattern, %old
  %bits = bitcast {P} %eq to i32
  %hit = and i32 %bits, %mask
  %all = icmp eq i32 %hit, %mask
  %ok1 = and i1 %same_mask, %same_phase
  %ok = and i1 %ok1, %all
  ret i1 %ok
}}"""
    store = f"""define internal void @wl.remember(ptr %site, {V} %off, i32 %mask, i32 %wrap) {{
  %first = extractelement {V} %off, i32 0
{splat("%base", "%first")}
  %pattern = sub {V} %off, %base
  %phase = and i32 %first, %wrap
  %mp = getelementptr i8, ptr %site, i64 {at.SITE_MASK}
  store i32 %mask, ptr %mp, align 4
  %pp = getelementptr i8, ptr %site, i64 {at.SITE_PHASE}
  store i32 %phase, ptr %pp, align 4
  %vp = getelementptr i8, ptr %site, i64 {at.SITE_PATTERN}
  store {V} %pattern, ptr %vp, align 64
  ret void
}}"""
    return {"wl.known": known, "wl.remember": store}


def add_counter(stem: str, slot: int, amount: str) -> str:
    return f"""  %{stem}.i = add i32 %counter, {slot}
  %{stem}.p = getelementptr i64, ptr %counters, i32 %{stem}.i
  %{stem}.o = load i64, ptr %{stem}.p, align 8
  %{stem}.n = add i64 %{stem}.o, {amount}
  store i64 %{stem}.n, ptr %{stem}.p, align 8"""


COUNTERS_POINTER = f"""  %cp = getelementptr i64, ptr %env, i64 {at.ENV_COUNTERS}
  %ca = load i64, ptr %cp, align 8
  %counters = inttoptr i64 %ca to ptr"""
