"""Helper functions in LLVM IR that load and store lanes' elements: rows at once, others one by one."""

from __future__ import annotations

from warplens.lift.vector_ir import W64, P, V, scaled_lanes, splat, store_for_lanes

GATHER = {
    f"llvm.masked.{op}.v32i{n}.v32p0": text
    for n in (32, 64)
    for op, text in (
        ("gather", f"declare <32 x i{n}> @llvm.masked.gather.v32i{n}.v32p0(<32 x ptr>, i32, "
                   f"<32 x i1>, <32 x i{n}>)"),
        ("scatter", f"declare void @llvm.masked.scatter.v32i{n}.v32p0(<32 x i{n}>, <32 x ptr>, "
                    "i32, <32 x i1>)"),
    )
}  # fmt: skip
MASKED = {
    f"llvm.masked.{op}.v32i{n}.p0": text
    for n in (8, 16, 32, 64)
    for op, text in (
        ("load", f"declare <32 x i{n}> @llvm.masked.load.v32i{n}.p0(ptr, i32, <32 x i1>, "
                 f"<32 x i{n}>)"),
        ("store", f"declare void @llvm.masked.store.v32i{n}.p0(<32 x i{n}>, ptr, i32, "
                  "<32 x i1>)"),
    )
}  # fmt: skip

REVERSED = "<" + ", ".join(f"i32 {i}" for i in range(31, -1, -1)) + ">"


def reverse(value: str, kind: str) -> str:
    """Lines that turn lanes round: a scatter writes its last lane last, hardware keeps the value of
    the lowest lane (recorded on an H200)."""
    return f"""  %{value}.r = shufflevector {kind} %{value}, {kind} poison, {V} {REVERSED}
  %ptrs.r = shufflevector <32 x ptr> %ptrs, <32 x ptr> poison, {V} {REVERSED}
  %lanes.r = shufflevector {P} %lanes, {P} poison, {V} {REVERSED}"""


def _merge(slot_words: int, values: list[str]) -> str:
    lines = []
    for i in range(slot_words):
        lines += [
            f"  %q{i} = getelementptr i8, ptr %io, i64 {128 * i}",
            f"  %old{i} = load {V}, ptr %q{i}, align 64",
            f"  %new{i} = select {P} %lanes, {V} {values[i]}, {V} %old{i}",
            f"  store {V} %new{i}, ptr %q{i}, align 64",
        ]
    return "\n".join(lines)


def _head(name: str, size: int) -> str:
    return f"""define internal void @{name}(ptr %io, ptr %host, {W64} %off, i32 %mask, i32 %lane)
    noinline {{
entry:
  %lanes = bitcast i32 %mask to {P}
  %buffer = alloca {W64}, align 64
{store_for_lanes("off", "%off", "%buffer", "i64")}
  %fp = getelementptr i64, ptr %buffer, i32 %lane
  %first = load i64, ptr %fp, align 8
  %back = mul i32 %lane, {size}
  %back64 = zext i32 %back to i64
  %t0 = sub i64 %first, %back64
  %t = sub {W64} %off, {scaled_lanes(size, "i64")}
{splat("%s", "%t0", "i64")}
  %eq = icmp eq {W64} %t, %s
  %bits = bitcast {P} %eq to i32
  %hit = and i32 %bits, %mask
  %row = icmp eq i32 %hit, %mask
  %base = getelementptr i8, ptr %host, i64 %t0
  %ptrs = getelementptr i8, ptr %host, {W64} %off
  br i1 %row, label %contiguous, label %scattered"""


def _scalar_loop(label: str, load: bool, n: int) -> str:
    """From a label on lane by lane, for elements that have no gather."""
    # Stores go from the highest lane down: the lowest lane's value stays, as on hardware.
    pick = (
        """  %i = call i32 @llvm.cttz.i32(i32 %rem, i1 true)
  %bit = shl i32 1, %i"""
        if load
        else """  %up = call i32 @llvm.ctlz.i32(i32 %rem, i1 true)
  %i = sub i32 31, %up
  %bit = shl i32 1, %i"""
    )
    value = (
        f"""  %e = load i{n}, ptr %p, align 1
  %x = zext i{n} %e to i32
  store i32 %x, ptr %vp, align 4"""
        if load
        else f"""  %x = load i32, ptr %vp, align 4
  %e = trunc i32 %x to i{n}
  store i{n} %e, ptr %p, align 1"""
    )
    return f"""{label}:
  br label %loop
loop:
  %rem = phi i32 [ %mask, %{label} ], [ %rem2, %body ]
  %more = icmp ne i32 %rem, 0
  br i1 %more, label %body, label %done
body:
{pick}
  %op = getelementptr i64, ptr %buffer, i32 %i
  %o = load i64, ptr %op, align 8
  %p = getelementptr i8, ptr %host, i64 %o
  %vp = getelementptr i32, ptr %io, i32 %i
{value}
  %rem2 = xor i32 %rem, %bit
  br label %loop
done:
  ret void
}}"""


def move_load(size: int) -> str:
    """@wl.mv.load.N: loads N bytes a lane from host + offset into %io (zero-extended)."""
    head = _head(f"wl.mv.load.{size}", size)
    n = 8 * size
    if size <= 2:
        return f"""{head}
contiguous:
  %v = call <32 x i{n}> @llvm.masked.load.v32i{n}.p0(ptr %base, i32 1, {P} %lanes,
    <32 x i{n}> zeroinitializer)
  %rows = zext <32 x i{n}> %v to {V}
  br label %merge
scattered:
{splat("%fv", "%first", "i64")}
  %same = icmp eq {W64} %off, %fv
  %sameb = bitcast {P} %same to i32
  %sameh = and i32 %sameb, %mask
  %is1 = icmp eq i32 %sameh, %mask
  br i1 %is1, label %one, label %several
one:
  %onep = getelementptr i8, ptr %host, i64 %first
  %onee = load i{n}, ptr %onep, align 1
  %onew = zext i{n} %onee to i32
{splat("%onev", "%onew")}
  br label %merge
merge:
  %x0 = phi {V} [ %rows, %contiguous ], [ %onev, %one ]
{_merge(1, ["%x0"])}
  ret void
several:
  %isfull = icmp eq i32 %mask, -1
  br i1 %isfull, label %full, label %partial
full:
{_small_loads(n)}
{_scalar_loop("partial", True, n)}"""
    if size == 4:
        return f"""{head}
contiguous:
  %c = call {V} @llvm.masked.load.v32i32.p0(ptr %base, i32 4, {P} %lanes, {V} zeroinitializer)
  br label %merge
scattered:
  %g = call {V} @llvm.masked.gather.v32i32.v32p0(<32 x ptr> %ptrs, i32 4, {P} %lanes,
    {V} zeroinitializer)
  br label %merge
merge:
  %v = phi {V} [ %c, %contiguous ], [ %g, %scattered ]
{_merge(1, ["%v"])}
  ret void
}}"""
    gather = (
        "call <32 x i64> @llvm.masked.gather.v32i64.v32p0(<32 x ptr> {}, i32 8, <32 x i1> %lanes, "
        "<32 x i64> zeroinitializer)"
    )
    split = f"""  %l{{0}} = trunc {W64} {{1}} to {V}
  %h{{0}}w = lshr {W64} {{1}}, splat (i64 32)
  %h{{0}} = trunc {W64} %h{{0}}w to {V}"""
    if size == 8:
        return f"""{head}
contiguous:
  %c = call {W64} @llvm.masked.load.v32i64.p0(ptr %base, i32 8, {P} %lanes,
    {W64} zeroinitializer)
  br label %merge
scattered:
  %g = {gather.format("%ptrs")}
  br label %merge
merge:
  %v = phi {W64} [ %c, %contiguous ], [ %g, %scattered ]
{split.format(0, "%v")}
{_merge(2, ["%l0", "%h0"])}
  ret void
}}"""
    return f"""{head}
contiguous:
  br label %scattered
scattered:
  %isfull = icmp eq i32 %mask, -1
  br i1 %isfull, label %full, label %partial
full:
{_quad_loads()}
partial:
  %g0 = {gather.format("%ptrs")}
  %ptrs8 = getelementptr i8, <32 x ptr> %ptrs, i64 8
  %g1 = {gather.format("%ptrs8")}
{split.format(0, "%g0")}
{split.format(1, "%g1")}
{_merge(4, ["%l0", "%h0", "%l1", "%h1"])}
  ret void
}}"""


def _lane_load(name: str, lane: int, kind: str, align: int) -> list[str]:
    """%NAMEv<lane>: what lies where a lane's offset in %buffer leads, from %host."""
    return [
        f"  %{name}o{lane}.p = getelementptr i64, ptr %buffer, i32 {lane}",
        f"  %{name}o{lane} = load i64, ptr %{name}o{lane}.p, align 8",
        f"  %{name}p{lane} = getelementptr i8, ptr %host, i64 %{name}o{lane}",
        f"  %{name}v{lane} = load {kind}, ptr %{name}p{lane}, align {align}",
    ]


def _small_loads(n: int) -> str:
    """32 loads of a byte or two into a vector: a third of the time of a loop over the lanes."""
    kind = f"<32 x i{n}>"
    lines: list[str] = []
    found = "poison"
    for lane in range(32):
        lines += [
            *_lane_load("s", lane, f"i{n}", 1),
            f"  %sx{lane} = insertelement {kind} {found}, i{n} %sv{lane}, i32 {lane}",
        ]
        found = f"%sx{lane}"
    lines += [
        f"  %small = zext {kind} {found} to {V}",
        f"  store {V} %small, ptr %io, align 64",
        "  ret void",
    ]
    return "\n".join(lines)


def _quad_loads() -> str:
    """32 loads of 16 bytes, joined and turned into four vectors of words: far cheaper than gathers."""
    lines: list[str] = []
    pieces: list[str] = []
    for lane in range(32):
        lines += _lane_load("f", lane, "<4 x i32>", 4)
        pieces.append(f"%fv{lane}")
    lanes, step = 4, 0
    while len(pieces) > 4:
        kind, order = f"<{lanes} x i32>", ", ".join(f"i32 {i}" for i in range(2 * lanes))
        joined = []
        for k in range(0, len(pieces), 2):
            name = f"%fj{step}.{k}"
            lines.append(
                f"  {name} = shufflevector {kind} {pieces[k]}, {kind} {pieces[k + 1]}, "
                f"<{2 * lanes} x i32> <{order}>"
            )
            joined.append(name)
        pieces, lanes, step = joined, 2 * lanes, step + 1
    # four pieces of 8 lanes (32 words each)
    for word in range(4):
        parts = []
        every = ", ".join(f"i32 {4 * i + word}" for i in range(8))
        for k, piece in enumerate(pieces):
            name = f"%fw{word}.{k}"
            lines.append(
                f"  {name} = shufflevector <32 x i32> {piece}, <32 x i32> poison, "
                f"<8 x i32> <{every}>"
            )
            parts.append(name)
        for a, b, out in ((0, 1, "lo"), (2, 3, "hi")):
            order = ", ".join(f"i32 {i}" for i in range(16))
            lines.append(
                f"  %fx{word}.{out} = shufflevector <8 x i32> {parts[a]}, <8 x i32> {parts[b]}, "
                f"<16 x i32> <{order}>"
            )
        order = ", ".join(f"i32 {i}" for i in range(32))
        lines += [
            f"  %fr{word} = shufflevector <16 x i32> %fx{word}.lo, <16 x i32> %fx{word}.hi, "
            f"<32 x i32> <{order}>",
            f"  %fq{word} = getelementptr i8, ptr %io, i64 {128 * word}",
            f"  store {V} %fr{word}, ptr %fq{word}, align 64",
        ]
    lines.append("  ret void")
    return "\n".join(lines)


def move_store(size: int) -> str:
    """@wl.mv.store.N: stores N bytes a lane from %io to host + offset, ascending lanes."""
    head = _head(f"wl.mv.store.{size}", size)
    n = 8 * size
    if size <= 2:
        return f"""{head}
contiguous:
  %v = load {V}, ptr %io, align 64
  %e0 = trunc {V} %v to <32 x i{n}>
  call void @llvm.masked.store.v32i{n}.p0(<32 x i{n}> %e0, ptr %base, i32 1, {P} %lanes)
  ret void
{_scalar_loop("scattered", False, n)}"""
    if size == 4:
        return f"""{head}
contiguous:
  %v = load {V}, ptr %io, align 64
  call void @llvm.masked.store.v32i32.p0({V} %v, ptr %base, i32 4, {P} %lanes)
  ret void
scattered:
  %v2 = load {V}, ptr %io, align 64
{reverse("v2", V)}
  call void @llvm.masked.scatter.v32i32.v32p0({V} %v2.r, <32 x ptr> %ptrs.r, i32 4, {P} %lanes.r)
  ret void
}}"""

    def joined(stem: str, slot: int) -> str:
        return f"""  %{stem}lp = getelementptr i8, ptr %io, i64 {128 * slot}
  %{stem}l = load {V}, ptr %{stem}lp, align 64
  %{stem}hp = getelementptr i8, ptr %io, i64 {128 * slot + 128}
  %{stem}h = load {V}, ptr %{stem}hp, align 64
  %{stem}l64 = zext {V} %{stem}l to {W64}
  %{stem}h64 = zext {V} %{stem}h to {W64}
  %{stem}hs = shl {W64} %{stem}h64, splat (i64 32)
  %{stem} = or {W64} %{stem}l64, %{stem}hs"""

    if size == 8:
        return f"""{head}
contiguous:
{joined("a", 0)}
  call void @llvm.masked.store.v32i64.p0({W64} %a, ptr %base, i32 8, {P} %lanes)
  ret void
scattered:
{joined("b", 0)}
{reverse("b", W64)}
  call void @llvm.masked.scatter.v32i64.v32p0({W64} %b.r, <32 x ptr> %ptrs.r, i32 8,
    {P} %lanes.r)
  ret void
}}"""
    return f"""{head}
contiguous:
  br label %scattered
scattered:
{joined("a", 0)}
{joined("b", 2)}
{reverse("a", W64)}
  %b.r = shufflevector {W64} %b, {W64} poison, {V} {REVERSED}
  %ptrs8 = getelementptr i8, <32 x ptr> %ptrs.r, i64 8
  call void @llvm.masked.scatter.v32i64.v32p0({W64} %a.r, <32 x ptr> %ptrs.r, i32 8,
    {P} %lanes.r)
  call void @llvm.masked.scatter.v32i64.v32p0({W64} %b.r, <32 x ptr> %ptrs8, i32 8,
    {P} %lanes.r)
  ret void
}}"""
