"""Helper functions in LLVM IR for atomics: lane by lane, ascending, plain or by compare-exchange."""

from __future__ import annotations

from warplens.lift import layout as at
from warplens.lift.counting.slots import ATOMIC, COMPARE, LOAD, SLOTS
from warplens.lift.runtime.access_ir import (
    OFFSETS,
    RESULTS,
    SWAP,
    VALUES,
    by_lanes,
    scratch,
)
from warplens.lift.runtime.combine_ir import combine, vector_of
from warplens.lift.runtime.global_ir import global_access
from warplens.lift.runtime.shared_ir import shared_access
from warplens.lift.vector_ir import V, store_for_lanes


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
    result, lines = "0" if operation == "NEVER" else f"%old_{tag}", []
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
    taken = []
    if operation not in ("POPC", "NEVER"):
        taken = [VALUES + k for k in range(bits // 32)]
    if operation in ("CAS", "CAST"):
        taken += [SWAP + k for k in range(bits // 32)]
    head = f"""{scratch("offs.p", OFFSETS)}
{store_for_lanes("offs", "%off", "%offs.p", "i64")}
{chr(10).join(by_lanes(f"taken{slot}", slot) for slot in taken)}
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
    if bits == 128 and vector_of(kind)[1] == 1:  # one worker runs these (decode/order.py)
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


def turn(size: int) -> str:
    """@wl.turn.SIZE: of lanes on shared memory those that one pass over the banks serves.

    Of each bank that is the lowest lane, whatever its word holds; of 64 bits in each half-warp.
    """
    banks, shift = (32, 2) if size == 4 else (16, 3)
    half = "  %half = and i32 %l, 16" if size == 8 else "  %half = add i32 0, 0"
    return f"""define internal i32 @wl.turn.{size}({V} %off, i32 %mask) noinline {{
entry:
  %places = alloca {V}, align 128
  store {V} %off, ptr %places, align 128
  br label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %left2, %loop ]
  %used = phi i32 [ 0, %entry ], [ %used2, %loop ]
  %won = phi i32 [ 0, %entry ], [ %won2, %loop ]
  %l = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %p = getelementptr i32, ptr %places, i32 %l
  %o = load i32, ptr %p, align 4
  %word = lshr i32 %o, {shift}
  %bank = and i32 %word, {banks - 1}
{half}
  %place = or i32 %bank, %half
  %bit = shl i32 1, %place
  %used2 = or i32 %used, %bit
  %first = icmp ne i32 %used, %used2
  %own = shl i32 1, %l
  %gain = select i1 %first, i32 %own, i32 0
  %won2 = or i32 %won, %gain
  %low = sub i32 %left, 1
  %left2 = and i32 %left, %low
  %more = icmp ne i32 %left2, 0
  br i1 %more, label %loop, label %done
done:
  ret i32 %won2
}}"""


def _in_turn(size: int) -> str:
    """Lines that give %turn, the lanes that are served; the others get 0."""
    lines = [f"  %turn = call i32 @wl.turn.{size}({V} %off32, i32 %mask)"]
    for k in range(size // 4):
        lines += [scratch(f"lost{k}", RESULTS + k),
                  f"  store {V} zeroinitializer, ptr %lost{k}, align 64"]  # fmt: skip
    return "\n".join(lines) + "\n"


def atomic(
    space: str, operation: str, kind: str, bits: int, observe: bool = False, result: bool = True
) -> str:
    """@wl.SPACE.atomic.OPERATION.KIND."""
    name = f"wl.{space}.{atomic_stem(operation, kind, bits, result)}"
    size = bits // 8
    if space == "shared":
        before, lanes = (_in_turn(size), "%turn") if operation == "CAST" else ("", "%mask")
        work = loop(operation, kind, bits, lanes, True, result)
        action = f"{before}  br label %at.before\nat.before:\n{work}"
        counted = COMPARE if operation in ("CAS", "CAST") else ATOMIC
        if operation == "POPC":  # lanes that count in one word are added up first
            counted = LOAD
        return shared_access(name, size, at.ACCESS_ATOMIC, action, observe, counted)
    # CAST exchanges in shared memory alone: elsewhere it tells that it did not
    done = "NEVER" if operation == "CAST" else operation
    lanes = loop(done, kind, bits, "%in", False, result)
    action = f"""  br label %at.before
at.before:
{lanes}
  call i1 @wl.sectors.atomic(ptr %env, ptr %site, {V} %off32, i32 %in, i32 {size}, i32 %counter)"""
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
