"""Operations equal, bit for bit, what an H200 (sm_90) gave for the same operands.

The files under `data/` hold operands, results, and in `metadata` the GPU, driver and date; they
are excerpts of what `validation/recorder` records.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.isa.engines import Compiled
from tests.isa_float.operands import (
    ACTIVE,
    Array,
    function_of,
    operand_types,
    operation,
    run_llvm,
)
from tests.isa_float.test_matrix import fragments_a, fragments_b, fragments_c, gathered_d

DATA = Path(__file__).parent / "data"


@cache
def recorded(name: str) -> dict[str, Array]:
    """The arrays of one file."""
    with np.load(DATA / f"{name}_sm90.npz", allow_pickle=False) as file:
        return dict(file)


@pytest.mark.parametrize(
    "name", ["RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH", "RCP64H", "RSQ64H"]
)
def test_special_functions(name: str) -> None:
    """MUFU over every sign and exponent, with eight fractions each."""
    data = recorded("mufu")

    actual = run_llvm(f"MUFU.{name}", data["inputs"])[0]

    assert np.array_equal(data[name], actual), _differences(data["inputs"], data[name], actual)


@pytest.mark.parametrize("name", ["EX2.F16", "EX2.BF16", "TANH.F16", "TANH.BF16"])
def test_special_functions_of_halves(name: str) -> None:
    """MUFU on 16-bit floats, a thirteenth of all patterns."""
    data = recorded("mufu")
    inputs = data["half_inputs"]

    actual = run_llvm(f"MUFU.{name}", inputs)[0]

    assert np.array_equal(data[name], actual), _differences(inputs, data[name], actual)


def test_division_check() -> None:
    """FCHK over all pairs of exponents, with different fractions and signs each time."""
    exponents = np.arange(256, dtype=np.uint32) << np.uint32(23)
    rng = np.random.default_rng(1)
    a, b = np.meshgrid(exponents, exponents, indexing="ij")
    noise = rng.integers(0, 1 << 24, (2, a.size), dtype=np.uint32)
    noise = (noise & np.uint32(0x7FFFFF)) | (noise >> np.uint32(23)) << np.uint32(31)
    expected = np.unpackbits(recorded("conditions")["fchk"]).astype(bool)

    actual = run_llvm("FCHK", *(
        (e.ravel() | n).view(np.float32) for e, n in zip((a, b), noise, strict=True)
    ))[0]  # fmt: skip

    assert np.array_equal(expected, actual)


@pytest.mark.parametrize("target", ["s32", "u32"])
@pytest.mark.parametrize("ntz", [0, 1])
def test_float_to_integer(target: str, ntz: int) -> None:
    """F2I with and without NTZ."""
    data = recorded("conditions")
    name = f"F2I{'.U32' if target == 'u32' else ''}.TRUNC{'.NTZ' if ntz else ''}"

    actual = run_llvm(name, data["f2i_inputs"].view(np.float32))[0]

    assert np.array_equal(data[f"f2i_{target}_ntz{ntz}"], actual)


MATRICES = {
    "f16_k16_f32": "HMMA.16816.F32",
    "f16_k8_f32": "HMMA.1688.F32",
    "f16_k16_f16": "HMMA.16816.F16",
    "f16_k8_f16": "HMMA.1688.F16",
    "bf16_k16_f32": "HMMA.16816.F32.BF16",
    "bf16_k8_f32": "HMMA.1688.F32.BF16",
    "tf32_k8_f32": "HMMA.1688.F32.TF32",
    "tf32_k4_f32": "HMMA.1684.F32.TF32",
    "f64_884": "DMMA.8x8x4",
    "f64_k4": "DMMA.16x8x4",
    "f64_k8": "DMMA.16x8x8",
    "f64_k16": "DMMA.16x8x16",
    "s8_k32_s32": "IMMA.16832.S8.S8",
    "u8_k32_s32": "IMMA.16832.U8.U8",
    "s8u8_k32_sat": "IMMA.16832.S8.U8.SAT",
    "s8_k16_s32": "IMMA.16816.S8.S8",
    "s8_8816_s32": "IMMA.8816.S8.S8",
    "b1_and": "BMMA.168256.AND.POPC",
    "b1_xor": "BMMA.168256.XOR.POPC",
}


@pytest.mark.parametrize("case", one_in(3, list(MATRICES), str))
def test_matrix_products(case: str) -> None:
    """Matrix products: ordinary, cancelling, huge, tiny and special operands."""
    data = recorded("mma")
    a, b, c, d = (data[f"{case}_{letter}"] for letter in "ABCD")
    entry, _ = operation(MATRICES[case])
    product = Compiled(function_of(MATRICES[case]), operand_types(entry))
    for i in range(len(a)):
        found = product(ACTIVE, *_words_of(a[i], b[i], c[i]))
        actual = gathered_d(_elements(found, d.dtype))
        same = d[i] == actual
        if d.dtype == np.uint64:  # the chip keeps payloads of NaN in double precision
            same |= np.isnan(d[i].view(np.float64)) & np.isnan(actual.view(np.float64))
        assert same.all(), (i, np.argwhere(~same)[:4].tolist())


def _words_of(a: Array, b: Array, c: Array) -> list[Array]:
    """The instruction's registers, one array of 32 lanes each, from matrices of bits."""
    per_register = max(1, 4 // a.itemsize)
    registers = [*fragments_a(a, per_register), *fragments_b(b, per_register)]
    elements = fragments_c(c)
    if c.itemsize == 2:
        registers += [np.stack(elements[n : n + 2], 1) for n in range(0, len(elements), 2)]
    else:
        registers += [e[:, None] for e in elements]
    flat = [np.ascontiguousarray(r).view(np.uint32).reshape(32, -1) for r in registers]
    return [np.ascontiguousarray(r[:, n]) for r in flat for n in range(r.shape[1])]


def _elements(words: list[Array], dtype: np.dtype) -> list[Array]:
    if dtype == np.uint16:
        pairs = [w.view(np.uint16).reshape(32, 2) for w in words]
        return [np.ascontiguousarray(p[:, n]) for p in pairs for n in (0, 1)]
    if dtype == np.uint64:
        return [
            np.stack(words[n : n + 2], 1).view(np.uint64).ravel() for n in range(0, len(words), 2)
        ]
    return words


def _differences(inputs: Array, expected: Array, actual: Array) -> list[tuple[str, str, str]]:
    rows = np.flatnonzero(expected != actual)[:5]
    return [(hex(inputs[i]), hex(expected[i]), hex(actual[i])) for i in rows]


# Products just below the smallest normal number: a, b, and FMUL.FTZ rounded to nearest and up.
NEARLY_NORMAL = [
    (0x3F7FFFFF, 0x00800000, 0x00000000, 0x00000000),
    (0x20000800, 0x1FFFF000, 0x00000000, 0x00000000),
    (0x20000400, 0x1FFFF800, 0x00800000, 0x00800000),
    (0xA0000400, 0x1FFFF800, 0x80800000, 0x80000000),
    (0x2035F544, 0x1FB415E0, 0x00800000, 0x00800001),
    (0x206F6453, 0x1F88E152, 0x00800000, 0x00800000),
    (0x205BA855, 0x1F952D7B, 0x00000000, 0x00800000),
    (0x205C4A31, 0x1F94BFDF, 0x00000000, 0x00800000),
]


@pytest.mark.parametrize("name", ["FMUL", "FFMA"])
def test_flushing_decides_after_rounding(name: str) -> None:
    """FTZ flushes what rounds below the smallest normal number with unlimited exponents."""
    rows = np.resize(np.array(NEARLY_NORMAL, np.uint32), (32, 4))
    a, b, nearest, up = (np.ascontiguousarray(column) for column in rows.T)
    sources = [a.view(np.float32), b.view(np.float32)]
    if name == "FFMA":
        sources.append(np.where(nearest >> 31, np.float32(-0.0), np.float32(0.0)))

    assert np.array_equal(nearest, run_llvm(f"{name}.FTZ", *sources)[0])
    assert np.array_equal(up, run_llvm(f"{name}.FTZ.RP", *sources)[0])


def test_flushing_of_halves_decides_after_rounding() -> None:
    """The same for packed halves."""
    rows = np.resize(np.array([
        (0x1C01, 0x23FE, 0x400), (0x1C0F, 0x23E2, 0x400), (0x1C10, 0x23E0, 0x400),
        (0x1C11, 0x23DE, 0), (0x1C1B, 0x23CB, 0x400), (0x1C1C, 0x23C9, 0),
    ], np.uint32), (32, 3))  # fmt: skip
    a, b, expected = (np.ascontiguousarray(column) for column in rows.T)

    assert np.array_equal(expected, run_llvm("HMUL2.FTZ", a, b)[0])
    assert np.array_equal(expected, run_llvm("HFMA2.FTZ", a, b, np.zeros_like(a))[0])


def test_out_of_bounds_filler_gives_zero() -> None:
    """HFMA2.OOB gives 0 where a or b is 0x7ff7 or 0xfff7; other NaN, or one in c, stays NaN."""
    words = np.resize(np.array([0x7FF7, 0xFFF7, 0x7FF6, 0x7FFF], np.uint32), 32)
    one, two = np.full(32, 0x3C003C00, np.uint32), np.full(32, 0x40004000, np.uint32)
    zeros = np.resize(np.array([0, 0, 0x7FFF, 0x7FFF], np.uint32), 32)

    assert np.array_equal(zeros, run_llvm("HFMA2.OOB", words, one, two)[0] & 0xFFFF)
    assert np.array_equal(zeros, run_llvm("HFMA2.OOB", one, words, two)[0] & 0xFFFF)
    assert (run_llvm("HFMA2.OOB", one, one, words)[0] & 0xFFFF == 0x7FFF).all()
