"""Helper functions in LLVM IR for atomics: lane by lane, ascending, plain or by compare-exchange."""

from __future__ import annotations

from warplens.execute import layout as at
from warplens.lift.access_ir import RESULTS, SWAP, VALUES, global_access, scratch, shared_access
from warplens.lift.count_ir import ATOMIC, COMPARE, SLOTS
from warplens.lift.runtime_ir import V

_INTEGER = {"ADD": "add", "AND": "and", "OR": "or", "XOR": "xor"}
_EXTREME = {
    ("MIN", False): "ult", ("MAX", False): "ugt", ("MIN", True): "slt", ("MAX", True): "sgt",
}  # fmt: skip


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
        return f"  %cmp = icmp {compare} {t} %b, %old\n  %new = select i1 %cmp, {t} %b, {t} %old"
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
        return f"  %same = icmp eq {t} %old, %b\n  %new = select i1 %same, {t} %c, {t} %old"
    if operation == "POPC":
        return f"  %new = add {t} %old, 1"
    return _packed_add(kind[:-2]) if kind.endswith("x2") else _float_add(kind)


def loop(operation: str, kind: str, bits: int, mask: str, shared: bool) -> str:
    """The lane loop: %host, %off and the lanes of `mask` given; old values go to the results."""
    t = f"i{bits}"
    n_words = bits // 32

    def load(stem: str, slot: int) -> str:
        if n_words == 1:
            return f"""{scratch(stem + ".p", slot)}
  %{stem}.q = getelementptr i32, ptr %{stem}.p, i32 %l
  %{stem} = load i32, ptr %{stem}.q, align 4"""
        return f"""{scratch(stem + ".p", slot)}
  %{stem}.q = getelementptr i32, ptr %{stem}.p, i32 %l
  %{stem}.0 = load i32, ptr %{stem}.q, align 4
{scratch(stem + ".r", slot + 1)}
  %{stem}.s = getelementptr i32, ptr %{stem}.r, i32 %l
  %{stem}.1 = load i32, ptr %{stem}.s, align 4
  %{stem}.l = zext i32 %{stem}.0 to i64
  %{stem}.h = zext i32 %{stem}.1 to i64
  %{stem}.t = shl i64 %{stem}.h, 32
  %{stem} = or i64 %{stem}.l, %{stem}.t"""

    operands = load("b", VALUES)
    if operation in ("CAS", "CAST"):
        operands += "\n" + load("c", SWAP)
    result = "%seen" if operation != "CAST" else "%won"
    won = ""
    if operation == "CAST":
        won = f"  %won.b = icmp eq {t} %seen, %b\n  %won = zext i1 %won.b to {t}\n"
    store = f"""{scratch("res.p", RESULTS)}
  %res.q = getelementptr i32, ptr %res.p, i32 %l
"""
    if n_words == 1:
        store += f"  store i32 {result}, ptr %res.q, align 4"
    else:
        store += f"""  %res.lo = trunc i64 {result} to i32
  store i32 %res.lo, ptr %res.q, align 4
  %res.sh = lshr i64 {result}, 32
  %res.hi = trunc i64 %res.sh to i32
{scratch("res.r", RESULTS + 1)}
  %res.s = getelementptr i32, ptr %res.r, i32 %l
  store i32 %res.hi, ptr %res.s, align 4"""
    exclusive = (
        "  %isex = icmp eq i32 0, 0"
        if shared
        else f"""  %exp = getelementptr i64, ptr %env, i64 {at.ENV_EXCLUSIVE}
  %exv = load i64, ptr %exp, align 8
  %isex = icmp ne i64 %exv, 0"""
    )
    body = combine(operation, kind, bits)
    plain = _rename(body, "p")
    spin = _rename(body, "s")
    return f"""  %offs.p = alloca <32 x i64>, align 64
  store <32 x i64> %off, ptr %offs.p, align 64
{exclusive}
  br label %at.loop
at.loop:
  %r = phi i32 [ {mask}, %at.before ], [ %r2, %at.next ]
  %l = call i32 @llvm.cttz.i32(i32 %r, i1 true)
  %o.p = getelementptr i64, ptr %offs.p, i32 %l
  %o = load i64, ptr %o.p, align 8
  %m = getelementptr i8, ptr %host, i64 %o
{operands}
  br i1 %isex, label %at.plain, label %at.first
at.plain:
  %old_p = load {t}, ptr %m, align {bits // 8}
{plain}
  store {t} %new_p, ptr %m, align {bits // 8}
  br label %at.have
at.first:
  %guess0 = load atomic {t}, ptr %m monotonic, align {bits // 8}
  br label %at.spin
at.spin:
  %old_s = phi {t} [ %guess0, %at.first ], [ %got, %at.spin ]
{spin}
  %xchg = cmpxchg ptr %m, {t} %old_s, {t} %new_s seq_cst seq_cst, align {bits // 8}
  %got = extractvalue {{ {t}, i1 }} %xchg, 0
  %done.x = extractvalue {{ {t}, i1 }} %xchg, 1
  br i1 %done.x, label %at.have, label %at.spin
at.have:
  %seen = phi {t} [ %old_p, %at.plain ], [ %old_s, %at.spin ]
{won}{store}
  br label %at.next
at.next:
  %r.low = sub i32 %r, 1
  %r2 = and i32 %r, %r.low
  %r.more = icmp ne i32 %r2, 0
  br i1 %r.more, label %at.loop, label %at.end
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


def atomic(space: str, operation: str, kind: str, bits: int, observe: bool = False) -> str:
    """@wl.SPACE.atomic.OPERATION.KIND."""
    name = f"wl.{space}.atomic.{operation}.{kind}.{bits}"
    size = bits // 8
    if space == "shared":
        action = f"  br label %at.before\nat.before:\n{loop(operation, kind, bits, '%mask', True)}"
        counted = COMPARE if operation in ("CAS", "CAST") else ATOMIC
        return shared_access(name, size, at.ACCESS_ATOMIC, action, observe, counted)
    lanes = loop(operation, kind, bits, "%in", False)
    action = f"""  br label %at.before
at.before:
{lanes}
  call void @wl.sectors.atomic(ptr %env, ptr %site, {V} %off32, i32 %in, i32 {size}, i32 %counter)"""
    return global_access(name, size, at.ACCESS_ATOMIC, action, observe)


def generic_atomic(operation: str, kind: str, bits: int) -> str:
    """@wl.generic.atomic...: shared window or global (local memory has no atomics)."""
    stem = f"atomic.{operation}.{kind}.{bits}"
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
  %fs = call i32 @wl.shared.{stem}(ptr %w, ptr %env, ptr %ss, i32 %ms, i32 %imm, i32 %inst, i32 %cs)
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
