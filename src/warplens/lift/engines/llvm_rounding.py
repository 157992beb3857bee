"""Directed rounding for the LLVM engine: AVX-512 has it in the instruction, others in a mode.

Without AVX-512 a module-level function sets the rounding mode, computes with constrained
intrinsics, which no pass may move or fold, and restores round-to-nearest.
"""

from __future__ import annotations

from warplens.lift.engines.llvm_text import ELEMENT, SIZE, LlvmText, Value

# The immediate of AVX-512: bit 3 suppresses exceptions, bits 1:0 choose the mode.
_EMBEDDED = {"RM": 9, "RP": 10, "RZ": 11}
# The argument of llvm.set.rounding.
_MODE = {"RZ": 0, "RN": 1, "RP": 2, "RM": 3}
_AVX512 = {"fadd": "add.p{}.512", "fmul": "mul.p{}.512", "ffma": "vfmadd.p{}.512"}
_CONSTRAINED = {"fadd": "fadd", "fmul": "fmul", "ffma": "fma"}


def directed(x: LlvmText, op: str, rounding: str, *args: Value) -> Value:
    """fadd, fmul or ffma of f32 or f64, rounded towards zero (RZ), down (RM) or up (RP)."""
    if x.features.has_avx512 and x.width == 32:
        return _embedded(x, op, rounding, args)
    return _with_mode(x, op, rounding, args)


def _embedded(x: LlvmText, op: str, rounding: str, args: tuple[Value, ...]) -> Value:
    type = args[0].type
    lanes = 512 // SIZE[type]
    piece = f"<{lanes} x {ELEMENT[type]}>"
    function = "llvm.x86.avx512." + _AVX512[op].format("s" if type == "f32" else "d")
    pieces = []
    for first in range(0, 32, lanes):
        operands = [f"{piece} {x.slice(arg, first, lanes)}" for arg in args]
        pieces.append(x.call_raw(function, piece, *operands, f"i32 {_EMBEDDED[rounding]}"))
    return x.join(type, pieces)


def single_of_integer(x: LlvmText, a: Value, rounding: str) -> Value:
    """A signed u32 in f32 by AVX-512, rounded towards zero (RZ), down (RM) or up (RP)."""
    whole, single = "<16 x i32>", "<16 x float>"
    pieces = [
        x.call_raw(
            "llvm.x86.avx512.sitofp.round.v16f32.v16i32",
            single,
            f"{whole} {x.slice(a, first, 16)}",
            f"i32 {_EMBEDDED[rounding]}",
        )
        for first in (0, 16)
    ]
    return x.join("f32", pieces)


def _with_mode(x: LlvmText, op: str, rounding: str, args: tuple[Value, ...]) -> Value:
    type = args[0].type
    vector = x.types[type]
    suffix = ("" if x.width == 1 else f"v{x.width}") + type
    name = f"warplens.{op}.{rounding}.{suffix}"
    x.add_helper(name, _mode_function(name, op, rounding, vector, suffix, len(args)))
    operands = ", ".join(f"{vector} {arg.ref}" for arg in args)
    return x.emit(type, f"call {vector} @{name}({operands})")


def _mode_function(name: str, op: str, rounding: str, vector: str, suffix: str, n_args: int) -> str:
    function = f"llvm.experimental.constrained.{_CONSTRAINED[op]}.{suffix}"
    names = ["%a", "%b", "%c"][:n_args]
    operands = ", ".join(f"{vector} {n}" for n in names)
    kinds = ", ".join([vector] * n_args)
    modes = 'metadata !"round.dynamic", metadata !"fpexcept.strict"'
    return f"""declare void @llvm.set.rounding(i32)
declare {vector} @{function}({kinds}, metadata, metadata)
define internal {vector} @{name}({operands}) noinline strictfp {{
  call void @llvm.set.rounding(i32 {_MODE[rounding]}) strictfp
  %r = call {vector} @{function}({operands}, {modes}) strictfp
  call void @llvm.set.rounding(i32 {_MODE["RN"]}) strictfp
  ret {vector} %r
}}"""
