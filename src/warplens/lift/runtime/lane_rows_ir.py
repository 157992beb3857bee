"""Helper functions in LLVM IR for lanes that each read neighbouring words, far from other lanes.

Unrolled loops over rows of the lanes' own read them word by word: as many gathers as words. Here
each lane's words are read at once and turned into one vector per word. The area that a group of
such loads shares holds, in rows of 128 bytes: offsets of the first word, the words' vectors, and
what counts and prefetches need: whether all lanes are a sector apart, where offsets are, and for
each lane a byte of where the lane before stands in its line and of how far it is behind that.
"""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting.runs_ir import UP
from warplens.lift.counting.slots import IDEAL_SECTORS, LINES, REQUESTS, SECTORS, SHARED_BYTES
from warplens.lift.vector_ir import COUNTERS_POINTER, P, V, add_counter, splat, store_for_lanes

_X, _Z = "<4 x i32>", "<16 x i32>"
AREA = "[18 x <32 x i32>]"
_APART = 17 * 128
_HOST, _BEYOND = _APART + 8, _APART + 16
_PHASES, _GAPS = _APART + 32, _APART + 64
_B = "<32 x i8>"
_SPREAD = 256  # bytes from first to last lane; nearer ones are better gathered


def _order(*lanes: int) -> str:
    return f"<{len(lanes)} x i32> <" + ", ".join(f"i32 {i}" for i in lanes) + ">"


def _unpack(name: str, a: str, b: str, width: int, high: bool) -> str:
    """Interleaves elements of `width` words from the low or high halves of every four words."""
    picked: list[int] = []
    for block in range(0, 16, 4):
        first = block + (2 if high else 0)
        for k in range(0, 2, width):
            for source in (0, 16):
                picked += [source + first + k + i for i in range(width)]
    return f"  {name} = shufflevector {_Z} {a}, {_Z} {b}, {_order(*picked)}"


def _column(c: int, half: int) -> list[str]:
    """Four words of 16 lanes: %w.C.HALF.WORD."""
    n = f"{c}.{half}"
    lines = []
    for i in range(16):
        lane = 16 * half + i
        lines += [
            f"  %p.{n}.{i} = getelementptr i8, ptr %lane{lane}, i64 {16 * c}",
            f"  %x.{n}.{i} = load {_X}, ptr %p.{n}.{i}, align 4",
        ]
    for i in range(4):  # four words each of lanes i, 4 + i, 8 + i, 12 + i
        for k in (0, 1):
            lines.append(
                f"  %y.{n}.{i}.{k} = shufflevector {_X} %x.{n}.{8 * k + i}, "
                f"{_X} %x.{n}.{8 * k + 4 + i}, {_order(*range(8))}"
            )
        lines.append(
            f"  %z.{n}.{i} = shufflevector <8 x i32> %y.{n}.{i}.0, <8 x i32> %y.{n}.{i}.1, "
            f"{_order(*range(16))}"
        )
    for high in (0, 1):
        for k in (0, 2):
            lines.append(
                _unpack(f"%u.{n}.{high}.{k}", f"%z.{n}.{k}", f"%z.{n}.{k + 1}", 1, bool(high))
            )
    for word in range(4):
        a, b = (f"%u.{n}.{word // 2}.{k}" for k in (0, 2))
        lines.append(_unpack(f"%w.{n}.{word}", a, b, 2, bool(word % 2)))
    return lines


def read_rows(words: int) -> str:
    """@wl.rows.N: reads N words of every lane into %area; 0 if the general path has to.

    All must lie in the allocation that the site remembers; offsets must rise with the lane, so that
    counting is simple. Lanes that are off read the allocation's first words.
    """
    lines = []
    for lane in range(32):
        lines += [
            f"  %op{lane} = getelementptr i32, ptr %safe.p, i64 {lane}",
            f"  %o{lane} = load i32, ptr %op{lane}, align 4",
            f"  %oz{lane} = zext i32 %o{lane} to i64",
            f"  %lane{lane} = getelementptr i8, ptr %host, i64 %oz{lane}",
        ]
    for c in range(words // 4):
        for half in (0, 1):
            lines += _column(c, half)
            for word in range(4):
                place = 128 * (1 + 4 * c + word) + 64 * half
                lines += [
                    f"  %s.{c}.{half}.{word} = getelementptr i8, ptr %area, i64 {place}",
                    f"  store {_Z} %w.{c}.{half}.{word}, ptr %s.{c}.{half}.{word}, align 64",
                ]
    body = "\n".join(lines)
    return f"""define internal i1 @wl.rows.{words}(ptr %site, i32 %mask, i32 %imm, {V} %lo, {V} %hi,
    ptr %area) noinline {{
  %low = load i32, ptr %site, align 4
  %high.p = getelementptr i8, ptr %site, i64 {at.SITE_HIGH}
  %high = load i32, ptr %high.p, align 4
  %limit.p = getelementptr i8, ptr %site, i64 {at.SITE_LIMIT}
  %limit.1 = load i32, ptr %limit.p, align 4
  %limit = call i32 @llvm.usub.sat.i32(i32 %limit.1, i32 {4 * words - 4})
  %delta = sub i32 %imm, %low
{splat("%dv", "%delta")}
{splat("%hv", "%high")}
{splat("%nv", "%limit")}
  %off = add {V} %lo, %dv
  %same = icmp eq {V} %hi, %hv
  %inside = icmp ult {V} %off, %nv
  %rest = and {V} %off, splat (i32 3)
  %straight = icmp eq {V} %rest, zeroinitializer
  %ok1 = and {P} %same, %inside
  %ok2 = and {P} %ok1, %straight
  %bits = bitcast {P} %ok2 to i32
  %hit = and i32 %bits, %mask
  %all = icmp eq i32 %hit, %mask
  %up = call i32 @wl.rises({V} %off)
  %rising = icmp eq i32 %up, -1
  %first = extractelement {V} %off, i32 0
  %last = extractelement {V} %off, i32 31
  %spread = sub i32 %last, %first
  %apart = icmp uge i32 %spread, {_SPREAD}
  %some = icmp ne i32 %mask, 0
  %fit1 = and i1 %all, %rising
  %fit2 = and i1 %fit1, %apart
  %fit = and i1 %fit2, %some
  br i1 %fit, label %read, label %no
no:
  ret i1 false
read:
  store {V} %off, ptr %area, align 64
  %before = shufflevector {V} %off, {V} poison, {V} {UP}
  %gap = sub {V} %off, %before
  %wide = icmp uge {V} %gap, splat (i32 32)
  %wides = bitcast {P} %wide to i32
  %widest = icmp uge i32 %wides, -2
  %flag = zext i1 %widest to i32
  %flag.p = getelementptr i8, ptr %area, i64 {_APART}
  store i32 %flag, ptr %flag.p, align 64
  %phase = and {V} %before, splat (i32 127)
  %phases = trunc {V} %phase to {_B}
  %phases.p = getelementptr i8, ptr %area, i64 {_PHASES}
  store {_B} %phases, ptr %phases.p, align 32
  %far = icmp ugt {V} %gap, splat (i32 128)
  %line = select {P} %far, {V} splat (i32 128), {V} %gap
  %gaps = trunc {V} %line to {_B}
  %gaps.p = getelementptr i8, ptr %area, i64 {_GAPS}
  store {_B} %gaps, ptr %gaps.p, align 32
  %lanes = bitcast i32 %mask to {P}
  %safe = select {P} %lanes, {V} %off, {V} zeroinitializer
  %safe.p = getelementptr i8, ptr %area, i64 128
{store_for_lanes("safe.s", "%safe", "%safe.p")}
  %host.p = getelementptr i8, ptr %site, i64 {at.SITE_HOST}
  %host.a = load i64, ptr %host.p, align 8
  %host = inttoptr i64 %host.a to ptr
  %kept.p = getelementptr i8, ptr %area, i64 {_HOST}
  store i64 %host.a, ptr %kept.p, align 8
{_find_beyond(words)}
{body}
  ret i1 true
}}"""


def _find_beyond(words: int) -> str:
    """Lines that keep how far on the next warp walks, if the last one that came walked right
    behind the one before; else how far on the lane itself will go."""
    return f"""  %walk.p = getelementptr i8, ptr %site, i64 {at.SITE_WALK}
  %span.p = getelementptr i8, ptr %site, i64 {at.SITE_WALK_SPAN}
  %next.p = getelementptr i8, ptr %site, i64 {at.SITE_BEYOND}
  %walk = load i32, ptr %walk.p, align 4
  %span = load i32, ptr %span.p, align 4
  %since = sub i32 %first, %walk
  %goes.on = icmp ult i32 %since, %span
  br i1 %goes.on, label %go.on, label %anew
anew:
  %part = lshr i32 %span, 2
  %early = sub i32 %span, %part
  %late = sub i32 %since, %early
  %twice = lshr i32 %span, 1
  %is.next = icmp ult i32 %late, %twice
  %spread.w = zext i32 %spread to i64
  %spread.32 = shl i64 %spread.w, 5
  %whole = udiv i64 %spread.32, 31
  %span.n = trunc i64 %whole to i32
  %beyond.n = select i1 %is.next, i32 %span.n, i32 {4 * words + 60}
  store i32 %first, ptr %walk.p, align 4
  store i32 %span.n, ptr %span.p, align 4
  store i32 %beyond.n, ptr %next.p, align 4
  br label %go.on
go.on:
  %beyond = load i32, ptr %next.p, align 4
  %beyond.w = zext i32 %beyond to i64
  %beyond.h = add i64 %host.a, %beyond.w
  %beyond.p = getelementptr i8, ptr %area, i64 {_BEYOND}
  store i64 %beyond.h, ptr %beyond.p, align 8"""


def _fetch_ahead(words: int) -> str:
    """Asks for what comes next, of some lanes at every load: all at once would have to wait."""
    n = 32 // words
    lines = [
        f"  %h.p = getelementptr i8, ptr %area, i64 {_HOST}",
        "  %h.a = load i64, ptr %h.p, align 8",
        f"  %h.n = add i64 %h.a, {4 * words + 60}",
        "  %h = inttoptr i64 %h.n to ptr",
        f"  %b.p = getelementptr i8, ptr %area, i64 {_BEYOND}",
        "  %b = load ptr, ptr %b.p, align 8",
        f"  %h.b = mul i32 %shift, {n}",
        "  %h.l = getelementptr i8, ptr %area, i32 %h.b",
    ]
    for j in range(n):
        lines += [
            f"  %h{j}.p = getelementptr i32, ptr %h.l, i64 {j}",
            f"  %h{j}.o = load i32, ptr %h{j}.p, align 4",
            f"  %h{j}.z = zext i32 %h{j}.o to i64",
            f"  %h{j} = getelementptr i8, ptr %h, i64 %h{j}.z",
            f"  call void @llvm.prefetch.p0(ptr %h{j}, i32 0, i32 3, i32 1)",
            f"  %b{j} = getelementptr i8, ptr %b, i64 %h{j}.z",
            f"  call void @llvm.prefetch.p0(ptr %b{j}, i32 0, i32 2, i32 1)",
        ]
    return "\n".join(lines)


def count_word(words: int) -> str:
    """@wl.rows.count.N: counts the load of the words at %shift; bytes count with the lanes.

    A lane is in another line than the one before if its distance leads beyond that one's end.
    """
    return f"""define internal void @wl.rows.count.{words}(ptr %env, ptr %area, i32 %mask, i32 %shift,
    i32 %counter) noinline {{
entry:
{COUNTERS_POINTER}
  %lanes = call i32 @llvm.ctpop.i32(i32 %mask)
  %lanes.w = zext i32 %lanes to i64
  %round = add i64 %lanes.w, 7
  %packed = lshr i64 %round, 3
  %phases.p = getelementptr i8, ptr %area, i64 {_PHASES}
  %phases = load {_B}, ptr %phases.p, align 32
  %gaps.p = getelementptr i8, ptr %area, i64 {_GAPS}
  %gaps = load {_B}, ptr %gaps.p, align 32
  %by = trunc i32 %shift to i8
  %by.1 = insertelement {_B} poison, i8 %by, i64 0
  %by.v = shufflevector {_B} %by.1, {_B} poison, {V} zeroinitializer
  %moved = add {_B} %phases, %by.v
  %within = and {_B} %moved, splat (i8 127)
  %to = add {_B} %within, %gaps
  %starts = icmp slt {_B} %to, zeroinitializer
  %starts.b = bitcast {P} %starts to i32
  %lin = call i32 @wl.runs.from(i32 %starts.b, i32 %mask)
  %lin.w = zext i32 %lin to i64
{_fetch_ahead(words)}
{add_counter("c1", REQUESTS, "1")}
{add_counter("c4", LINES, "%lin.w")}
  %flag.p = getelementptr i8, ptr %area, i64 {_APART}
  %flag = load i32, ptr %flag.p, align 64
  %apart = icmp ne i32 %flag, 0
  br i1 %apart, label %far, label %near
far:
{add_counter("c2", SECTORS, "%lanes.w")}
{add_counter("c3", IDEAL_SECTORS, "%packed")}
  ret void
near:
  %base = load {V}, ptr %area, align 64
{splat("%sv", "%shift")}
  %off = add {V} %base, %sv
  %own = call i32 @wl.runs({V} %off, i32 %mask, i32 1)
  %sec = call i32 @wl.runs({V} %off, i32 %mask, i32 32)
  %more = sub i32 %lanes, %own
  %dup = shl i32 %more, 2
  %packed.n = trunc i64 %packed to i32
  %ideal = call i32 @llvm.umin.i32(i32 %packed.n, i32 %sec)
  %sec.w = zext i32 %sec to i64
  %ideal.w = zext i32 %ideal to i64
  %dup.w = zext i32 %dup to i64
{add_counter("n2", SECTORS, "%sec.w")}
{add_counter("n3", IDEAL_SECTORS, "%ideal.w")}
{add_counter("n5", SHARED_BYTES, "%dup.w")}
  ret void
}}"""


def functions(words: int) -> tuple[tuple[str, str], ...]:
    """What a group of loads of N words calls."""
    return (
        ("llvm.usub.sat.i32", "declare i32 @llvm.usub.sat.i32(i32, i32)"),
        (f"wl.rows.count.{words}", count_word(words)),
        (f"wl.rows.{words}", read_rows(words)),
    )
