"""Every float, conversion, special and matrix operation gives equal bits on both engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.isa.engines import Compiled, Typed, assert_lanes_equal, run_numpy
from tests.isa_float import operands
from tests.isa_float.operands import assert_engines_agree
from warplens.isa import float16
from warplens.isa.lanes import Value
from warplens.isa.table import Modifiers
from warplens.lift.engines.host import host_features
from warplens.lift.engines.llvm_lanes import LlvmLanes

ARITHMETIC = [
    f"{name}{suffix}"
    for name in ("FADD", "FMUL", "FFMA")
    for suffix in ("", ".FTZ", ".SAT", ".FTZ.SAT", ".RM", ".RP", ".RZ", ".FTZ.RZ")
]
ARITHMETIC += [
    f"FMUL.{scale}{suffix}"
    for scale in ("D2", "D4", "D8", "M2", "M4", "M8")
    for suffix in ("", ".FTZ", ".RZ", ".FTZ.RP", ".SAT")
]
DOUBLES = [f"{name}{suffix}" for name in ("DADD", "DMUL", "DFMA") for suffix in ("", ".RM", ".RZ")]
COMPARISONS = ["LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU"]
COMPARING = [
    *(f"FSETP.{c}.AND" for c in COMPARISONS),
    "FSETP.GEU.FTZ.AND",
    "FSETP.LT.OR",
    "FSETP.LT.XOR",
    "FSET.BF.LT.AND",
    "FSET.GTU.FTZ.AND",
    "FCHK",
    "FADD2.RM",
    "FMUL2.FTZ",
    "FFMA2",
    "FMNMX",
    "FMNMX.FTZ",
    "FMNMX.NAN",
    "FMNMX.XORSIGN",
    "FMNMX.NAN.XORSIGN",
    "FMNMX3",
    "FMNMX3.NAN",
    "FSEL",
    "FSEL.FTZ",
    "DSETP.GTU.OR",
    "DSETP.MAX.AND",
    "DSETP.MIN.AND",
]
HALVES = [
    f"{name}{kind}{suffix}"
    for name in ("HADD2", "HMUL2", "HFMA2")
    for kind in ("", ".BF16_V2")
    for suffix in ("", ".FTZ", ".SAT")
]
HALVES += ["HFMA2.MMA.RELU", "HFMA2.BF16_V2.OOB.RELU", "HFMA2.BF16_V2.RELU", "HADD2.F32",
           "HMNMX2", "HMNMX2.NAN", "VHMNMX", "VHMNMX.BF16_V2.NAN",
           "HMNMX2.BF16_V2.NAN.XORSIGN", "HMNMX2.FTZ", "HSETP2.GEU.AND", "HSET2.BF.EQ.AND",
           "HSET2.LTU.AND", "HSET2.BF16_V2.BF.LTU.AND", "HSETP2.BF16_V2.GT.OR"]  # fmt: skip
TO_INTEGER = [
    f"F2I{source}{target}{rounding}"
    for source in ("", ".F64", ".F16", ".BF16")
    for target in ("", ".U32", ".S64", ".U64", ".U8", ".S8", ".U16", ".S16")
    for rounding in ("", ".TRUNC.NTZ")
]
TO_INTEGER += ["F2I.FTZ.FLOOR.NTZ", "F2I.CEIL.NTZ", "F2IP.U8.F32.TRUNC.NTZ"]
FROM_INTEGER = [
    f"I2F{target}{source}{rounding}"
    for target in ("", ".F64", ".F16", ".BF16")
    for source in ("", ".U32", ".S64", ".U64")
    for rounding in ("", ".RZ", ".RP")
]
FROM_INTEGER += ["I2F.U8", "I2F.S8", "I2F.U16", "I2F.S16", "I2FP.F32.S32", "I2FP.F32.U32.RZ",
                 "I2I.S8.S32.SAT", "I2I.U16.U32.SAT", "I2IP.U8.S32.SAT",
                 "I2IP.S16.S32.SAT"]  # fmt: skip
BETWEEN = [
    f"F2F.{pair}{rounding}"
    for pair in ("F32.F64", "F16.F32", "BF16.F32", "F16.F64", "BF16.F64", "F16.BF16", "BF16.F16")
    for rounding in ("", ".RZ", ".RM", ".RP")
]
BETWEEN += ["F2F.F64.F32", "F2F.FTZ.F64.F32", "F2F.F64.F16", "F2F.F64.BF16", "F2F.F32.F16"]
BETWEEN += [
    f"FRND{kind}{rounding}"
    for kind in ("", ".F64", ".F16", ".BF16")
    for rounding in ("", ".FLOOR", ".CEIL", ".TRUNC")
]
PACKED = ["F2FP.F16.F32.PACK_AB", "F2FP.PACK_AB.RZ", "F2FP.BF16.F32.PACK_AB",
          "F2FP.RELU.BF16.F32.PACK_AB.RZ", "F2FP.RELU.F16.F32.MERGE_C", "F2FP.TF32.F32.PACK_B",
          "F2FP.RELU.TF32.F32.PACK_B.RZ", "F2FP.SATFINITE.TF32.F32.PACK_B",
          "F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C",
          "F2FP.SATFINITE.RELU.E5M2.F32.PACK_AB_MERGE_C",
          "F2FP.SATFINITE.E4M3.F16.UNPACK_B_MERGE_C", "F2FP.F16.E4M3.UNPACK_B",
          "F2FP.RELU.F16.E5M2.UNPACK_B"]  # fmt: skip
SPECIAL = [f"MUFU.{f}" for f in ("RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH",
                                 "RCP64H", "RSQ64H", "TANH.F16", "EX2.F16",
                                 "TANH.BF16")]  # fmt: skip
MATRICES = ["HMMA.1688.F32", "HMMA.1688.F16", "HMMA.16816.F32", "HMMA.16816.F16",
            "HMMA.1688.F32.BF16", "HMMA.16816.F32.BF16", "HMMA.1684.F32.TF32",
            "HMMA.1688.F32.TF32", "QMMA.16816.F32.E4M3.E5M2", "QMMA.16832.F16.E4M3.E4M3",
            "DMMA.884", "DMMA.16x8x8", "IMMA.8816.U8.S8", "IMMA.16816.S8.U8.SAT",
            "IMMA.16832.S8.S8", "IMMA.8832.S4.S4", "IMMA.16832.S4.U4", "IMMA.16864.U4.U4",
            "BMMA.88128.XOR.POPC", "BMMA.168256.AND.POPC", "MOVM.16.MT88"]  # fmt: skip


@pytest.mark.parametrize("mnemonic", one_in(2, ARITHMETIC + DOUBLES + COMPARING + HALVES, str))
def test_arithmetic_agrees(mnemonic: str) -> None:
    """Arithmetic, comparisons and selections: LLVM equals exact rational arithmetic."""
    assert_engines_agree(mnemonic)


@pytest.mark.parametrize("mnemonic", one_in(2, TO_INTEGER + FROM_INTEGER + BETWEEN + PACKED, str))
def test_conversions_agree(mnemonic: str) -> None:
    """Conversions: LLVM equals exact rational arithmetic."""
    assert_engines_agree(mnemonic)


@pytest.mark.parametrize("mnemonic", SPECIAL)
def test_special_functions_agree(mnemonic: str) -> None:
    """Special functions: both engines round the same double-precision steps."""
    assert_engines_agree(mnemonic)


@pytest.mark.parametrize("host", ["avx2", "no-fma"])
@pytest.mark.parametrize(
    "mnemonic",
    ["FFMA.RM", "FADD.FTZ.RZ", "DFMA", "HFMA2", "HFMA2.BF16_V2.RELU", "F2I.U64.F64", "FRND.FLOOR",
     "I2F.F16.S64.RP", "F2F.BF16.F64", "MUFU.LG2", "MUFU.SIN", "HMMA.16816.F32", "DMMA.884"],
)  # fmt: skip
def test_lesser_hosts_agree(mnemonic: str, host: str) -> None:
    """Code for processors without AVX-512 or without fused multiply-add gives the same bits."""
    assert_engines_agree(mnemonic, n=64, host=host)


@pytest.mark.parametrize("mnemonic", one_in(2, MATRICES, str))
def test_matrices_agree(mnemonic: str) -> None:
    """Matrix products: both engines move and sum the same elements."""
    assert_engines_agree(mnemonic, n=32)


@pytest.mark.skipif(not host_features().has_avx512, reason="needs AVX-512")
@pytest.mark.parametrize("mnemonic", ["HADD2", "HMUL2", "HFMA2"])
def test_halves_by_single_precision(mnemonic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As processors with AVX-512 but without half precision compute them."""
    lesser = replace(host_features(), has_halves=False)
    monkeypatch.setattr(operands, "host_features", lambda host: lesser)

    assert_engines_agree(mnemonic, n=1 << 14)


def _chain(x: Any, a: Value, b: Value, c: Value) -> tuple[Value, ...]:
    """Operations on halves that go on with one another's results, taken in all ways."""

    def taken(word: Value, source: Value, how: str) -> Value:
        return x.halves_taken(word, source, how) if isinstance(x, LlvmLanes) else word

    def fma(p: Value, q: Value, r: Value) -> Value:
        return float16.hfma2(x, plain, p, q, r, None)

    plain = Modifiers()
    first = fma(a, b, c)
    second = fma(c, first, a)
    square = fma(second, second, first)
    minus = taken(x.xor(square, x.u32(0x80008000)), square, "negated")
    third = float16.hadd2(x, plain, minus, second)
    size = taken(x.and_(third, x.u32(0x7FFF7FFF)), third, "absolute")
    fourth = float16.hmul2(x, plain, size, b)
    half = x.and_(fourth, x.u32(0xFFFF))
    low = taken(x.or_(half, x.shl(half, x.u32(16))), fourth, "low")
    half = x.lshr(second, x.u32(16))
    high = taken(x.or_(half, x.shl(half, x.u32(16))), second, "high")
    fifth = fma(low, high, minus)
    ones = x.u32(0x3C003C00)
    sums = float16.hadd2(x, plain, fifth, a), fma(ones, b, c), fma(fourth, ones, b)
    return first, second, square, third, fourth, fifth, *sums


@pytest.mark.skipif(not host_features().has_avx512, reason="needs AVX-512")
@pytest.mark.parametrize("opt", [0, 1])
def test_chains_of_halves_by_single_precision(opt: int) -> None:
    """What stays in single precision from one operation to the next gives equal bits."""
    lesser = replace(host_features(), has_halves=False)
    compiled = Compiled(_chain, ["u32"] * 3, features=lesser, opt=opt)

    for seed in range(1 << 9):
        inputs = operands.sources_for("HFMA2", 32, seed)[:3]
        if seed % 2:  # few bits each, so that many results lie halfway
            inputs = tuple(words & np.uint32(0xFFE0FFE0) for words in inputs)
        expected = run_numpy(_chain, operands.ACTIVE, [Typed("u32", words) for words in inputs])

        assert_lanes_equal(expected, compiled(operands.ACTIVE, *inputs), *inputs)
