"""Helper functions in LLVM IR for atomics: lane by lane, ascending, plain or by compare-exchange."""

from __future__ import annotations

import re

from warplens.lift import layout as at
from warplens.lift.counting.count_ir import ATOMIC, COMPARE, SLOTS
from warplens.lift.runtime.access_ir import (
    OFFSETS,
    RESULTS,
    SWAP,
    VALUES,
    global_access,
    scratch,
    shared_access,
)
from warplens.lift.runtime.runtime_ir import V

_INTEGER = {"ADD": "add", "AND": "and", "OR": "or", "XOR": "xor"}
_EXTREME = {
    ("MIN", False): "ult", ("MAX", False): "ugt", ("MIN", True): "slt", ("MAX", True): "sgt",
}  # fmt: skip


# A branch on what memory holds would be mispredicted, and each waits for a cache miss.
_EVEN = ", !unpredictable !0"

_VECTOR = re.compile(r"^(F32|F16|BF16)x(\d)$")


def vector_of(kind: str) -> tuple[str, int]:
    """The kind of a word and how many words a lane changes, each for itself.

    >>> vector_of("F32x4"), vector_of("BF16x8"), vector_of("F16x2")
    (('F32', 4), ('BF16x2', 4), ('F16x2', 1))
    """
    match = _VECTOR.match(kind)
    if match is None:
        return kind, 1
    if match[1] == "F32":
        return "F32", int(match[2])
    return f"{match[1]}x2", int(match[2]) // 2


def _flush(stem: str, source: str) -> str:
    return f"""  %{stem}.e = and i32 {source}, 2139095040
  %{stem}.z = icmp eq i32 %{stem}.e, 0
  %{stem}.s = and i32 {source}, -2147483648
  %{stem} = select i1 %{stem}.z, i32 %{stem}.s, i32 {source}"""


def _float_add(kind: str) -> str:
    if kind == "F64":
        return """  %fa = bitcast i64 %old to double
  %fb = bitcast i64 %b to double
  %fs = fadd double %fa, %fb
  %nan = fcmp uno double %fs, 0.0
  %bits = bitcast double %fs to i64
  %new = select i1 %nan, i64 9223372036854775807, i64 %bits"""
    return f"""{_flush("oa", "%old")}
{_flush("ob", "%b")}
  %fa = bitcast i32 %oa to float
  %fb = bitcast i32 %ob to float
  %fs = fadd float %fa, %fb
  %nan = fcmp uno float %fs, 0.0
  %bits = bitcast float %fs to i32
{_flush("fz", "%bits")}
  %new = select i1 %nan, i32 2147483647, i32 %fz"""


def _packed_add(kind: str) -> str:
    lines = []
    for i, shift in enumerate((0, 16)):
        for stem, source in (("x", "%old"), ("y", "%b")):
            lines += [
                f"  %{stem}{i}.s = lshr i32 {source}, {shift}",
                f"  %{stem}{i}.t = trunc i32 %{stem}{i}.s to i16",
            ]
            if kind == "F16":
                lines += [
                    f"  %{stem}{i}.h = bitcast i16 %{stem}{i}.t to half",
                    f"  %{stem}{i} = fpext half %{stem}{i}.h to double",
                ]
            else:
                lines += [
                    f"  %{stem}{i}.z = zext i16 %{stem}{i}.t to i32",
                    f"  %{stem}{i}.u = shl i32 %{stem}{i}.z, 16",
                    f"  %{stem}{i}.f = bitcast i32 %{stem}{i}.u to float",
                    f"  %{stem}{i} = fpext float %{stem}{i}.f to double",
                ]
        lines.append(f"  %sum{i} = fadd double %x{i}, %y{i}")
        if kind == "F16":
            lines += [
                f"  %r{i} = fptrunc double %sum{i} to half",
                f"  %n{i} = fcmp uno double %sum{i}, 0.0",
                f"  %b{i}.r = bitcast half %r{i} to i16",
            ]
        else:
            lines += _round_bf16(i)
        lines += [
            f"  %c{i} = select i1 %n{i}, i16 32767, i16 %b{i}.r",
            f"  %w{i}.z = zext i16 %c{i} to i32",
            f"  %w{i} = shl i32 %w{i}.z, {shift}",
        ]
    lines.append("  %new = or i32 %w0, %w1")
    return "\n".join(lines)


def _round_bf16(i: int) -> list[str]:
    """Double to bfloat16, round to nearest even: the exact sum of two bf16 may need more than 24
    bits, so it is first rounded to odd in single precision."""
    return [
        f"  %n{i} = fcmp uno double %sum{i}, 0.0",
        f"  %f{i} = fptrunc double %sum{i} to float",
        f"  %g{i} = fpext float %f{i} to double",
        f"  %exact{i} = fcmp oeq double %g{i}, %sum{i}",
        f"  %ga{i} = call double @llvm.fabs.f64(double %g{i})",
        f"  %sa{i} = call double @llvm.fabs.f64(double %sum{i})",
        f"  %over{i} = fcmp ogt double %ga{i}, %sa{i}",
        f"  %i{i} = bitcast float %f{i} to i32",
        f"  %dec{i} = sext i1 %over{i} to i32",
        f"  %t{i} = add i32 %i{i}, %dec{i}",
        f"  %inex{i} = xor i1 %exact{i}, true",
        f"  %one{i} = zext i1 %inex{i} to i32",
        f"  %odd{i} = or i32 %t{i}, %one{i}",
        f"  %l{i}.s = lshr i32 %odd{i}, 16",
        f"  %l{i} = and i32 %l{i}.s, 1",
        f"  %h{i} = add i32 %l{i}, 32767",
        f"  %q{i} = add i32 %odd{i}, %h{i}",
        f"  %u{i} = lshr i32 %q{i}, 16",
        f"  %b{i}.r = trunc i32 %u{i} to i16",
    ]


def combine(operation: str, kind: str, bits: int) -> str:
    """Lines that define %new from %old, %b and (CAS) %c, all i`bits`."""
    t = f"i{bits}"
    if operation in _INTEGER and kind in ("U32", "S32", "U64", "S64"):
        return f"  %new = {_INTEGER[operation]} {t} %old, %b"
    if operation in ("MIN", "MAX"):
        compare = _EXTREME[operation, kind.startswith("S")]
        return f"  %cmp = icmp {compare} {t} %b, %old\n  %new = select i1 %cmp, {t} %b, {t} %old{_EVEN}"
    if operation == "INC":
        return f"""  %ge = icmp uge {t} %old, %b
  %inc = add {t} %old, 1
  %new = select i1 %ge, {t} 0, {t} %inc"""
    if operation == "DEC":
        return f"""  %zero = icmp eq {t} %old, 0
  %gt = icmp ugt {t} %old, %b
  %wrap = or i1 %zero, %gt
  %dec = sub {t} %old, 1
  %new = select i1 %wrap, {t} %b, {t} %dec"""
    if operation == "EXCH":
        return f"  %new = add {t} %b, 0"
    if operation in ("CAS", "CAST"):
        return f"  %same = icmp eq {t} %old, %b\n  %new = select i1 %same, {t} %c, {t} %old{_EVEN}"
    if operation == "POPC":
        return f"  %new = add {t} %old, 1"
    return _packed_add(kind[:-2]) if kind.endswith("x2") else _float_add(kind)


def _element(stem: str, slot: int, lane: str, n_words: int) -> str:
    """Lines that load one lane's operand of 32, 64 or 128 bits from scratch."""
    t = f"i{32 * n_words}"
    lines = []
    for k in range(n_words):
        word = f"%{stem}" if n_words == 1 else f"%{stem}.{k}"
        lines += [
            scratch(f"{stem}.p{k}", slot + k),
            f"  %{stem}.q{k} = getelementptr i32, ptr %{stem}.p{k}, i32 {lane}",
            f"  {word} = load i32, ptr %{stem}.q{k}, align 4",
        ]
    for k in range(n_words if n_words > 1 else 0):
        last = k == n_words - 1
        before = f"%{stem}.a{k - 1}"
        lines += [f"  %{stem}.w{k} = zext i32 %{stem}.{k} to {t}"]
        if k == 0:
            lines += [f"  %{stem}.a0 = add {t} %{stem}.w0, 0"]
        else:
            lines += [
                f"  %{stem}.s{k} = shl {t} %{stem}.w{k}, {32 * k}",
                f"  %{stem}{'' if last else f'.a{k}'} = or {t} {before}, %{stem}.s{k}",
            ]
    return "\n".join(lines)


def _keep_result(operation: str, t: str, tag: str, slot: int = RESULTS) -> str:
    """Lines that store what a lane gets back, from %old."""
    result, lines = f"%old_{tag}", []
    if operation == "CAST":
        result = f"%{tag}.won"
        lines += [
            f"  %{tag}.same = icmp eq {t} %old_{tag}, %{tag}.b",
            f"  %{tag}.won = zext i1 %{tag}.same to {t}",
        ]
    for k in range(int(t[1:]) // 32):
        word = result
        if t != "i32":
            word = f"%{tag}.res.w{k}"
            lines += [
                f"  %{tag}.res.s{k} = lshr {t} {result}, {32 * k}",
                f"  {word} = trunc {t} %{tag}.res.s{k} to i32",
            ]
        lines += [
            scratch(f"{tag}.res.p{k}", slot + k),
            f"  %{tag}.res.q{k} = getelementptr i32, ptr %{tag}.res.p{k}, i32 %{tag[0]}.l",
            f"  store i32 {word}, ptr %{tag}.res.q{k}, align 4",
        ]
    return "\n".join(lines)


def _renamed(operation: str, kind: str, bits: int, tag: str) -> str:
    """What combines old value and operands, under names of its own."""
    body = _rename(combine(operation, kind, bits), tag)
    for name in "bc":
        for end in (" ", ",", "\n"):
            body = (body + "\n").replace(f"%{name}{end}", f"%{tag}.{name}{end}").rstrip("\n")
    return body


def _elements(operation: str, kind: str, count: int, tag: str, result: bool) -> tuple[str, str]:
    """Lines that change the words of one lane one after the other, and the label they end in."""
    lines, last = [], f"{tag}.loop"
    for k in range(count):
        own = f"{tag}{k}"
        lines += [
            _element(f"{own}.b", VALUES + k, f"%{tag}.l", 1),
            f"  %{own}.m = getelementptr i8, ptr %{tag}.m, i64 {4 * k}",
            _change(_renamed(operation, kind, 32, own), "i32", own, last, tag == "p"),
        ]
        last = last if tag == "p" else f"{own}.have"
        if result:
            lines.append(_keep_result(operation, "i32", own, RESULTS + k))
    return "\n".join(lines), last


def _change(body: str, t: str, tag: str, before: str, plain: bool) -> str:
    """Lines that change %TAG.m from %old_TAG to %new_TAG; %old_TAG is then the value found."""
    align = min(int(t[1:]) // 8, 8)
    if plain:
        return f"""  %old_{tag} = load {t}, ptr %{tag}.m, align {align}
{body}
  store {t} %new_{tag}, ptr %{tag}.m, align {align}"""
    return f"""  %{tag}.guess = load atomic {t}, ptr %{tag}.m monotonic, align {align}
  br label %{tag}.spin
{tag}.spin:
  %old_{tag} = phi {t} [ %{tag}.guess, %{before} ], [ %{tag}.got, %{tag}.spin ]
{body}
  %{tag}.xchg = cmpxchg ptr %{tag}.m, {t} %old_{tag}, {t} %new_{tag} seq_cst seq_cst, align {align}
  %{tag}.got = extractvalue {{ {t}, i1 }} %{tag}.xchg, 0
  %{tag}.done = extractvalue {{ {t}, i1 }} %{tag}.xchg, 1
  br i1 %{tag}.done, label %{tag}.have, label %{tag}.spin
{tag}.have:"""


def _lanes(operation: str, kind: str, bits: int, mask: str, tag: str, result: bool) -> str:
    """One loop over lanes: label TAG.loop, entered from TAG.enter; tag "p" is plain, "s" atomic."""
    t, last = f"i{bits}", "p.loop" if tag == "p" else "s.have"
    element, count = vector_of(kind)
    if count > 1:
        work, last = _elements(operation, element, count, tag, result)
    else:
        operands = _element(f"{tag}.b", VALUES, f"%{tag}.l", bits // 32)
        if operation in ("CAS", "CAST"):
            operands += "\n" + _element(f"{tag}.c", SWAP, f"%{tag}.l", bits // 32)
        body = _renamed(operation, kind, bits, tag)
        work = f"""{operands}
{_change(body, t, tag, f"{tag}.loop", tag == "p")}
{_keep_result(operation, t, tag) if result else ""}"""
    return f"""{tag}.enter:
  br label %{tag}.loop
{tag}.loop:
  %{tag}.r = phi i32 [ {mask}, %{tag}.enter ], [ %{tag}.r2, %{last} ]
  %{tag}.l = call i32 @llvm.cttz.i32(i32 %{tag}.r, i1 true)
  %{tag}.o.p = getelementptr i64, ptr %offs.p, i32 %{tag}.l
  %{tag}.o = load i64, ptr %{tag}.o.p, align 8
  %{tag}.m = getelementptr i8, ptr %host, i64 %{tag}.o
{work}
  %{tag}.low = sub i32 %{tag}.r, 1
  %{tag}.r2 = and i32 %{tag}.r, %{tag}.low
  %{tag}.more = icmp ne i32 %{tag}.r2, 0
  br i1 %{tag}.more, label %{tag}.loop, label %at.end"""


def _fetch(mask: str, after: str) -> str:
    """Label f.enter: a loop that asks for every lane's line, so that misses overlap; to `after`.

    Plain operations need none: processors look ahead over many lanes by themselves.
    """
    return f"""f.enter:
  br label %f.loop
f.loop:
  %f.r = phi i32 [ {mask}, %f.enter ], [ %f.r2, %f.loop ]
  %f.l = call i32 @llvm.cttz.i32(i32 %f.r, i1 true)
  %f.o.p = getelementptr i64, ptr %offs.p, i32 %f.l
  %f.o = load i64, ptr %f.o.p, align 8
  %f.m = getelementptr i8, ptr %host, i64 %f.o
  call void @llvm.prefetch.p0(ptr %f.m, i32 1, i32 3, i32 1)
  %f.low = sub i32 %f.r, 1
  %f.r2 = and i32 %f.r, %f.low
  %f.more = icmp ne i32 %f.r2, 0
  br i1 %f.more, label %f.loop, label %{after}"""


def _unrolled(operation: str, kind: str) -> str:
    """All 32 lanes of a plain 32-bit operation without results, in order."""
    lines = [scratch("u.b.p", VALUES)]
    for lane in range(32):
        body = _rename(combine(operation, kind, 32), f"u{lane}")
        for end in (" ", ",", "\n"):
            body = (body + "\n").replace(f"%b{end}", f"%u{lane}.b{end}").rstrip("\n")
        lines += [
            f"  %u{lane}.q = getelementptr i64, ptr %offs.p, i64 {lane}",
            f"  %u{lane}.o = load i64, ptr %u{lane}.q, align 8",
            f"  %u{lane}.m = getelementptr i8, ptr %host, i64 %u{lane}.o",
            f"  %u{lane}.v = getelementptr i32, ptr %u.b.p, i64 {lane}",
            f"  %u{lane}.b = load i32, ptr %u{lane}.v, align 4",
            f"  %old_u{lane} = load i32, ptr %u{lane}.m, align 4",
            body,
            f"  store i32 %new_u{lane}, ptr %u{lane}.m, align 4",
        ]
    return "\n".join([*lines, "  br label %at.end"])


_SIMPLE = ("ADD", "AND", "OR", "XOR", "MIN", "MAX", "POPC")


def loop(
    operation: str, kind: str, bits: int, mask: str, shared: bool, result: bool = True
) -> str:
    """The lane loop: %host, %off and the lanes of `mask` given; old values go to the results.

    It stands behind label at.before and ends in at.end.
    """
    head = f"""{scratch("offs.p", OFFSETS)}
  store <32 x i64> %off, ptr %offs.p, align 64
"""
    plain = _lanes(operation, kind, bits, mask, "p", result)
    if shared:
        if operation in _SIMPLE and kind in ("U32", "S32") and not result:
            return f"""{head}  %full = icmp eq i32 {mask}, -1
  br i1 %full, label %at.full, label %p.enter
at.full:
{_unrolled(operation, kind)}
{plain}
at.end:"""
        return f"{head}  br label %p.enter\n{plain}\nat.end:"
    if bits == 128 and vector_of(kind)[1] == 1:  # one worker runs these (lifter.order_reason)
        return f"{head}  br label %p.enter\n{plain}\nat.end:"
    return f"""{head}  %exp = getelementptr i64, ptr %env, i64 {at.ENV_EXCLUSIVE}
  %exv = load i64, ptr %exp, align 8
  %isex = icmp ne i64 %exv, 0
  br i1 %isex, label %p.enter, label %f.enter
{plain}
{_fetch(mask, "s.enter")}
{_lanes(operation, kind, bits, mask, "s", result)}
at.end:"""


def _rename(body: str, suffix: str) -> str:
    """Gives every name that the body defines a suffix of its own, and %old too."""
    defined = [line.split("=")[0].strip() for line in body.splitlines() if " = " in line]
    for name in sorted((*defined, "%old"), key=len, reverse=True):
        for end in (" ", ",", ")", "\n"):
            body = body.replace(name + end, f"{name}_{suffix}{end}")
        if body.endswith(name):
            body += f"_{suffix}"
    return body


def atomic_stem(operation: str, kind: str, bits: int, result: bool) -> str:
    """What follows the space in a function's name; without results when nothing reads them."""
    return f"atomic.{operation}.{kind}.{bits}" + ("" if result else ".quiet")


def atomic(
    space: str, operation: str, kind: str, bits: int, observe: bool = False, result: bool = True
) -> str:
    """@wl.SPACE.atomic.OPERATION.KIND."""
    name = f"wl.{space}.{atomic_stem(operation, kind, bits, result)}"
    size = bits // 8
    if space == "shared":
        action = f"  br label %at.before\nat.before:\n{loop(operation, kind, bits, '%mask', True, result)}"
        counted = COMPARE if operation in ("CAS", "CAST") else ATOMIC
        return shared_access(name, size, at.ACCESS_ATOMIC, action, observe, counted)
    lanes = loop(operation, kind, bits, "%in", False, result)
    action = f"""  br label %at.before
at.before:
{lanes}
  call void @wl.sectors.atomic(ptr %env, ptr %site, {V} %off32, i32 %in, i32 {size}, i32 %counter)"""
    return global_access(name, size, at.ACCESS_ATOMIC, action, observe)


def generic_atomic(
    operation: str, kind: str, bits: int, result: bool = True, clusters: bool = False
) -> str:
    """@wl.generic.atomic...: shared window or global (local memory has no atomics)."""
    stem = atomic_stem(operation, kind, bits, result)
    shared = "cluster" if clusters else "shared"
    return f"""define internal i32 @wl.generic.{stem}(ptr %w, ptr %env, ptr %site, i32 %mask, i32 %imm,
    i32 %inst, i32 %counter) noinline {{
entry:
{scratch("lop", 0)}
  %lo = load {V}, ptr %lop, align 64
{scratch("hip", 1)}
  %hi = load {V}, ptr %hip, align 64
  %sv = icmp eq {V} %hi, splat (i32 {at.SHARED_WINDOW_HIGH})
  %sb = bitcast <32 x i1> %sv to i32
  %ms = and i32 %sb, %mask
  %mg = xor i32 %ms, %mask
  %immv.1 = insertelement {V} poison, i32 %imm, i64 0
  %immv = shufflevector {V} %immv.1, {V} poison, {V} zeroinitializer
  %moved = add {V} %lo, %immv
  store {V} %moved, ptr %lop, align 64
  %cs = add i32 %counter, {2 * SLOTS}
  %ss = getelementptr i8, ptr %site, i64 {at.SITE_SIZE * 2}
  %fs = call i32 @wl.{shared}.{stem}(ptr %w, ptr %env, ptr %ss, i32 %ms, i32 %imm, i32 %inst, i32 %cs)
  store {V} %lo, ptr %lop, align 64
  %bs = icmp ne i32 %fs, 0
  br i1 %bs, label %bad, label %next
next:
  %fg = call i32 @wl.global.{stem}(ptr %w, ptr %env, ptr %site, i32 %mg, i32 %imm, i32 %inst,
    i32 %counter)
  %bg = icmp ne i32 %fg, 0
  br i1 %bg, label %bad, label %done
bad:
  ret i32 1
done:
  ret i32 0
}}"""
