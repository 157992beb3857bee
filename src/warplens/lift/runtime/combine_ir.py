"""What atomics make of the old value and the operand, as lines of LLVM IR for one lane."""

from __future__ import annotations

import re

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
                *_round_to_odd(i),
                f"  %v{i} = bitcast i32 %odd{i} to float",
                f"  %r{i} = fptrunc float %v{i} to half",
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


def _round_to_odd(i: int) -> list[str]:
    """Double to single precision, rounded to odd: the exact sum of two bfloat16 or halves may need
    more than 24 bits. (From double to half LLVM calls a function that few processes have.)"""
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
    ]


def _round_bf16(i: int) -> list[str]:
    """Double to bfloat16, round to nearest even."""
    return [
        *_round_to_odd(i),
        f"  %l{i}.s = lshr i32 %odd{i}, 16",
        f"  %l{i} = and i32 %l{i}.s, 1",
        f"  %h{i} = add i32 %l{i}, 32767",
        f"  %q{i} = add i32 %odd{i}, %h{i}",
        f"  %u{i} = lshr i32 %q{i}, 16",
        f"  %b{i}.r = trunc i32 %u{i} to i16",
    ]


_INFINITY = {"F16": 0x7C00, "BF16": 0x7F80}


def _packed_extreme(operation: str, kind: str) -> str:
    """The smaller or larger of each half: a number before NaN, -0 below +0 (an H200's)."""
    lines, compare = [], "slt" if operation == "MIN" else "sgt"
    for i, shift in enumerate((0, 16)):
        for stem, source in (("x", "%old"), ("y", "%b")):
            lines += [
                f"  %{stem}{i}.s = lshr i32 {source}, {shift}",
                f"  %{stem}{i} = trunc i32 %{stem}{i}.s to i16",
                f"  %{stem}{i}.m = and i16 %{stem}{i}, 32767",
                f"  %{stem}{i}.n = icmp ugt i16 %{stem}{i}.m, {_INFINITY[kind]}",
                f"  %{stem}{i}.g = ashr i16 %{stem}{i}, 15",
                f"  %{stem}{i}.f = and i16 %{stem}{i}.g, 32767",
                f"  %{stem}{i}.k = xor i16 %{stem}{i}, %{stem}{i}.f",
            ]
        lines += [
            f"  %c{i} = icmp {compare} i16 %x{i}.k, %y{i}.k",
            f"  %e{i} = select i1 %c{i}, i16 %x{i}, i16 %y{i}",
            f"  %u{i} = select i1 %x{i}.n, i16 %y{i}, i16 %e{i}",
            f"  %v{i} = select i1 %y{i}.n, i16 %x{i}, i16 %u{i}",
            f"  %a{i} = and i1 %x{i}.n, %y{i}.n",
            f"  %r{i} = select i1 %a{i}, i16 32767, i16 %v{i}",
            f"  %w{i}.z = zext i16 %r{i} to i32",
            f"  %w{i} = shl i32 %w{i}.z, {shift}",
        ]
    lines.append("  %new = or i32 %w0, %w1")
    return "\n".join(lines)


def combine(operation: str, kind: str, bits: int) -> str:
    """Lines that define %new from %old, %b and (CAS) %c, all i`bits`."""
    t = f"i{bits}"
    if operation in _INTEGER and kind in ("U32", "S32", "U64", "S64"):
        return f"  %new = {_INTEGER[operation]} {t} %old, %b"
    if operation in ("MIN", "MAX") and kind.endswith("F16x2"):
        return _packed_extreme(operation, kind[:-2])
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
    if operation == "NEVER":
        return f"  %new = add {t} %old, 0"
    return _packed_add(kind[:-2]) if kind.endswith("x2") else _float_add(kind)
