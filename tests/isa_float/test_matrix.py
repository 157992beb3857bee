"""Matrix operations equal NumPy's products once fragments are laid out as PTX documents."""

from __future__ import annotations

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.isa_float.operands import Array, run_llvm

LANES = np.arange(32)
GROUP, THREAD = LANES // 4, LANES % 4


def fragments_a(matrix: Array, per_register: int) -> list[Array]:
    """A's registers, each as [lane, element]: a_i in row g (+8 if i is odd), k from 4*per*(i/2)."""
    n_rows = matrix.shape[0] // 8
    registers = []
    for i in range(n_rows * matrix.shape[1] // (4 * per_register)):
        rows = GROUP + 8 * (i % n_rows)
        first = THREAD * per_register + 4 * per_register * (i // n_rows)
        registers.append(matrix[rows[:, None], first[:, None] + np.arange(per_register)])
    return registers


def fragments_b(matrix: Array, per_register: int) -> list[Array]:
    """B's registers (rows are k, columns n)."""
    return fragments_a(np.ascontiguousarray(matrix.T), per_register)


def fragments_c(matrix: Array) -> list[Array]:
    """C's elements, one array of 32 lanes each."""
    return [matrix[GROUP + 8 * (i // 2), 2 * THREAD + i % 2] for i in range(matrix.shape[0] // 4)]


def gathered_d(elements: list[Array]) -> Array:
    """The matrix that D's elements stand for."""
    d = np.zeros((4 * len(elements), 8), elements[0].dtype)
    for i, element in enumerate(elements):
        d[GROUP + 8 * (i // 2), 2 * THREAD + i % 2] = element
    return d


def words(register: Array) -> Array:
    """A register's elements packed into 32-bit words per lane."""
    return np.ascontiguousarray(register).view(np.uint32).ravel()


def small(rng: np.random.Generator, shape: tuple[int, int], type: str) -> Array:
    """Small multiples of 1/4, whose sums of products are exact in every format."""
    values = (rng.integers(-8, 9, shape) / 4).astype(np.float32)
    if type == "f16":
        return values.astype(np.float16)
    if type == "bf16":
        return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return values


SHAPES = [
    ("HMMA.1688", "f16", 8), ("HMMA.16816", "f16", 16), ("HMMA.1688.F32.BF16", "bf16", 8),
    ("HMMA.16816.F32.BF16", "bf16", 16), ("HMMA.1684.F32.TF32", "f32", 4),
    ("HMMA.1688.F32.TF32", "f32", 8),
]  # fmt: skip


@pytest.mark.parametrize(("mnemonic", "type", "depth"), one_in(
    2, SHAPES, lambda case: "-".join(map(str, case)), several=True,
))
def test_float_products(mnemonic: str, type: str, depth: int) -> None:
    """HMMA with f32 sums, and with f16 sums where it exists."""
    rng = np.random.default_rng(1)
    a, b = small(rng, (16, depth), type), small(rng, (depth, 8), type)
    c = small(rng, (16, 8), "f32")
    per_register = 1 if type == "f32" else 2
    sources = [words(r) for r in (*fragments_a(a, per_register), *fragments_b(b, per_register))]

    def plain(m: Array) -> Array:
        if type == "bf16":
            return (m.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return m.astype(np.float32)

    expected = plain(a) @ plain(b) + c

    name = mnemonic if "F32" in mnemonic else f"{mnemonic}.F32"
    found = run_llvm(name, *sources, *[words(e) for e in fragments_c(c)])
    assert np.array_equal(expected, gathered_d([w.view(np.float32) for w in found]))
    if type == "f16":
        pairs = [np.stack(fragments_c(c)[i : i + 2], 1).astype(np.float16) for i in (0, 2)]
        found = run_llvm(f"{mnemonic}.F16", *sources, *[words(p) for p in pairs])
        halves = [w.view(np.float16).reshape(32, 2)[:, i] for w in found for i in (0, 1)]
        assert np.array_equal(expected.astype(np.float16), gathered_d(halves))


def test_tf32_operands_lose_their_low_bits() -> None:
    """TF32 looks at ten bits of fraction only."""
    ones = np.full(32, np.float32(1).view(np.uint32) | 0x1FFF, np.uint32)
    zero = np.zeros(32, np.float32).view(np.uint32)

    found = run_llvm("HMMA.1684.F32.TF32", ones, ones, ones, zero, zero, zero, zero)

    assert all((word.view(np.float32) == 4).all() for word in found)


INTEGERS = [
    ("IMMA.8816", 8, 16, 8), ("IMMA.16816", 16, 16, 8), ("IMMA.16832", 16, 32, 8),
    ("IMMA.8832", 8, 32, 4), ("IMMA.16832", 16, 32, 4), ("IMMA.16864", 16, 64, 4),
]  # fmt: skip


@pytest.mark.parametrize(("signs", "shape", "rows", "depth", "bits"), one_in(
    5, [(signs, *one) for signs in ("SS", "SU", "US", "UU") for one in INTEGERS],
    lambda case: "-".join(map(str, case)), several=True,
))
def test_integer_products(signs: str, shape: str, rows: int, depth: int, bits: int) -> None:
    """IMMA on bytes and nibbles, all signs, wrapping and saturating."""
    rng = np.random.default_rng(2)

    def source(sign: str, dimensions: tuple[int, int]) -> Array:
        low = -(1 << (bits - 1)) if sign == "S" else 0
        return rng.integers(low, low + (1 << bits), dimensions)

    def packed(register: Array) -> Array:
        shifts = np.arange(32 // bits, dtype=np.uint64) * np.uint64(bits)
        parts = (register & ((1 << bits) - 1)).astype(np.uint64) << shifts
        return np.bitwise_or.reduce(parts, axis=1).astype(np.uint32)

    a, b = source(signs[0], (rows, depth)), source(signs[1], (depth, 8))
    c = rng.choice([0, 5, -7, (1 << 31) - 1, -(1 << 31)], (rows, 8))
    kinds = f"{shape}.{signs[0]}{bits}.{signs[1]}{bits}"
    sources = [packed(r) for r in (*fragments_a(a, 32 // bits), *fragments_b(b, 32 // bits))] + [
        e.astype(np.int32).view(np.uint32) for e in fragments_c(c)
    ]
    exact = a @ b + c

    wrapped = gathered_d([w.view(np.int32) for w in run_llvm(kinds, *sources)])
    clamped = gathered_d([w.view(np.int32) for w in run_llvm(f"{kinds}.SAT", *sources)])

    assert np.array_equal(exact.astype(np.int32), wrapped)
    assert np.array_equal(np.clip(exact, -(1 << 31), (1 << 31) - 1), clamped)


@pytest.mark.parametrize(
    ("name", "rows", "depth"),
    [("DMMA.884", 8, 4), ("DMMA.8x8x4", 8, 4), ("DMMA.16x8x4", 16, 4), ("DMMA.16x8x8", 16, 8),
     ("DMMA.16x8x16", 16, 16)],
)  # fmt: skip
def test_double_products(name: str, rows: int, depth: int) -> None:
    """DMMA in every shape, on integers so that sums are exact."""
    rng = np.random.default_rng(3)
    a, b, c = (rng.integers(-99, 99, s).astype(np.float64)
               for s in ((rows, depth), (depth, 8), (rows, 8)))  # fmt: skip
    registers = [r.ravel() for r in (*fragments_a(a, 1), *fragments_b(b, 1))] + fragments_c(c)
    halves = [np.ascontiguousarray(r).view(np.uint32).reshape(32, 2) for r in registers]
    sources = [np.ascontiguousarray(h[:, i]) for h in halves for i in (0, 1)]

    found = run_llvm(name, *sources)

    doubles = [
        np.stack(found[i : i + 2], 1).view(np.float64).ravel() for i in range(0, len(found), 2)
    ]
    assert np.array_equal(a @ b + c, gathered_d(doubles))


@pytest.mark.parametrize(
    ("name", "rows", "depth"),
    [("BMMA.88128", 8, 128), ("BMMA.168128", 16, 128), ("BMMA.168256", 16, 256)],
)
@pytest.mark.parametrize("operation", ["XOR", "AND"])
def test_bit_products(name: str, rows: int, depth: int, operation: str) -> None:
    """BMMA counts the ones of a xor b or of a and b."""
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 2, (rows, depth)), rng.integers(0, 2, (depth, 8))
    c = rng.integers(-9, 9, (rows, 8))
    combined = a[:, :, None] ^ b if operation == "XOR" else a[:, :, None] & b

    def packed(register: Array) -> Array:
        parts = register.astype(np.uint64) << np.arange(32, dtype=np.uint64)
        return np.bitwise_or.reduce(parts, axis=1).astype(np.uint32)

    sources = [packed(r) for r in (*fragments_a(a, 32), *fragments_b(b, 32))]
    sources += [e.astype(np.int32).view(np.uint32) for e in fragments_c(c)]

    found = run_llvm(f"{name}.{operation}.POPC", *sources)

    assert np.array_equal(combined.sum(1) + c, gathered_d([w.view(np.int32) for w in found]))


def test_transposing_move() -> None:
    """MOVM turns the fragment of an 8 x 8 matrix of halves into that of its transpose."""
    matrix = np.arange(64, dtype=np.uint16).reshape(8, 8) * np.uint16(257)

    found = run_llvm("MOVM.16.MT88", words(fragments_a(matrix, 2)[0]))[0]

    assert np.array_equal(words(fragments_a(np.ascontiguousarray(matrix.T), 2)[0]), found)
