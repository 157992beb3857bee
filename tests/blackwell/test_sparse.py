"""Sparse products of tensor memory (tcgen05.mma.sp) and shifts against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.blackwell.images import along_k, along_rows, instruction, scaled_instruction
from tests.blackwell.test_products import (
    bits16,
    bytes_of,
    close,
    mixed_rows,
    module,
    narrow,
    run,
    small,
)
from tests.in_turn import one_in
from warplens.errors import ExecutionFault
from warplens.isa import forms

Array = npt.NDArray[Any]
AT = 96  # the metadata's column
SPARSE = 1 << 2


def thinned(rng: np.random.Generator, rows: int, chunks: int, width: int) -> tuple[Array, Array]:
    """Which numbers of each chunk are kept, in rising order, and the chunk's four bits."""
    if width == 2:
        first = rng.integers(0, 2, (rows, chunks))
        return first[..., None], np.where(first == 1, 0b1110, 0b0100)
    pairs = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])
    chosen = pairs[rng.integers(0, len(pairs), (rows, chunks))]
    bits = chosen[..., 0] | chosen[..., 1] << 2
    if width == 8:  # pairs of numbers
        chosen = (2 * chosen[..., None] + np.arange(2)).reshape(rows, chunks, 4)
    return chosen, bits


def spread(kept: Array, chosen: Array, width: int) -> Array:
    """A's rows with zeros where nothing is kept."""
    rows, chunks, each = chosen.shape
    full = np.zeros((rows, chunks, width), kept.dtype)
    np.put_along_axis(full, chosen, kept.reshape(rows, chunks, each), 2)
    return full.reshape(rows, chunks * width)


def words(bits: Array) -> Array:
    """The four bits of 128 rows as cells: 8 chunks of a row in one column, or 16 in two."""
    rows, chunks = bits.shape
    if chunks == 16:  # a row's own lane
        parts = bits.astype(np.uint64).reshape(rows, 2, 8) << 4 * np.arange(8, dtype=np.uint64)
        return parts.sum(2).astype(np.uint32)
    found = np.zeros((128, 1), np.uint64)
    for row in range(rows):
        for chunk in range(chunks):
            lane = row // 16 * 16 + row % 8 + (8 if chunk >= 4 else 0)
            shift = 16 * (row // 8 % 2) + 4 * (chunk % 4)
            found[lane, 0] |= np.uint64(int(bits[row, chunk]) << shift)
    return found.astype(np.uint32)


def cells(*placed: tuple[int, Array]) -> Array:
    """What all columns hold before: words from some columns on."""
    found = np.zeros((128, AT + 8), np.uint32)
    for column, values in placed:
        found[:, column : column + values.shape[1]] = values
    return found


@pytest.mark.parametrize("selector", [0, 1])
@pytest.mark.parametrize("along", [False, True])
@pytest.mark.parametrize("layout", [0, 2])
def test_halves(selector: int, along: bool, layout: int) -> None:
    """Two of four halves; the selector names one of two columns."""
    rng = np.random.default_rng(layout + selector)
    kept, b, c = small(rng, 128, 16), small(rng, 48, 32), small(rng, 128, 48)
    chosen, bits = thinned(rng, 128, 8, 4)
    first, da = along_k(bytes_of(bits16(kept, 0)), layout, 0)
    if along:
        b = small(rng, 64, 32)[:48]
        whole = np.zeros((32, 64), np.uint16)
        whole[:, :48] = bits16(b, 0).T
        second, db = along_rows(bytes_of(whole), layout, len(first))
    else:
        second, db = along_k(bytes_of(bits16(b, 0)), layout, len(first))
    idesc = instruction(128, 48, a=0, b=0, d=1, b_along=along) | SPARSE | selector
    before = cells((0, c.astype(np.float32).view(np.uint32)), (AT + selector, words(bits)))

    after = run("sparse_f16", np.concatenate([first, second]), da, db, idesc, before, metadata=AT)

    wanted = spread(kept, chosen, 4) @ b.T + c
    assert np.array_equal(after[:, :48].view(np.float32), wanted)
    assert np.array_equal(after[:, AT:], np.pad(before[:, AT:], ((0, 0), (0, 408))))


def test_a_in_tensor_memory() -> None:
    """The kept numbers of A stand in lanes."""
    rng = np.random.default_rng(1)
    kept, b = small(rng, 128, 16), small(rng, 32, 32)
    chosen, bits = thinned(rng, 128, 8, 4)
    image, db = along_k(bytes_of(bits16(b, 0)), 4, 0)
    before = cells((64, bits16(kept, 0).view(np.uint32)), (AT, words(bits)))

    idesc = instruction(128, 32, a=0, b=0, d=1) | SPARSE
    after = run("sparse_f16_memory", image, 64, db, idesc, before, metadata=AT, adds=0)

    assert np.array_equal(after[:, :32].view(np.float32), spread(kept, chosen, 4) @ b.T)


def test_tf32() -> None:
    """One of two."""
    rng = np.random.default_rng(2)
    kept, b = small(rng, 128, 8), small(rng, 32, 16)
    chosen, bits = thinned(rng, 128, 8, 2)
    first, da = along_k(bytes_of(kept.astype(np.float32)), 6, 0)
    second, db = along_k(bytes_of(b.astype(np.float32)), 4, len(first))

    idesc = instruction(128, 32, a=2, b=2, d=1) | SPARSE | 1
    after = run("sparse_tf32", np.concatenate([first, second]), da, db, idesc,
                cells((AT + 1, words(bits))), metadata=AT, adds=0)  # fmt: skip

    assert np.array_equal(after[:, :32].view(np.float32), spread(kept, chosen, 2) @ b.T)


@pytest.mark.parametrize("kind", [0, 1])
def test_bytes(kind: int) -> None:
    """8-bit floats: 64 steps of k, 32 of them kept."""
    rng = np.random.default_rng(3)
    (a, av), (b, bv) = narrow(rng, kind, 128, 32), narrow(rng, 0, 48, 64)
    chosen, bits = thinned(rng, 128, 16, 4)
    first, da = along_k(a, 6, 0)
    second, db = along_k(b, 2, len(first))

    idesc = instruction(128, 48, a=kind, b=0, d=1) | SPARSE
    after = run("sparse_f8f6f4", np.concatenate([first, second]), da, db, idesc,
                cells((AT, words(bits))), metadata=AT, adds=0)  # fmt: skip

    full = spread(av, chosen, 4)
    close(after[:, :48].view(np.float32), full @ bv.T, np.abs(full) @ np.abs(bv).T)


def copies(cells_: Array, rows: int) -> Array:
    """Metadata of so many rows in each part of the lanes."""
    return np.tile(cells_[:rows], (128 // rows, 1))


def unfolded(after: Array, m: int, n: int) -> Array:
    """D of a weight-stationary product, whose columns are split among parts of the lanes."""
    parts = after[:, : n * m // 128].reshape(128 // m, m, n * m // 128)
    found: Array = parts.transpose(1, 0, 2).reshape(m, n).view(np.float32)
    return found


@pytest.mark.parametrize("m", [32, 64, 128])
@pytest.mark.parametrize("name", ["f16", "tf32", "f8f6f4"])
def test_weight_stationary(m: int, name: str) -> None:
    """Of 64 and 32 rows each part of the lanes has the metadata of all of them."""
    rng = np.random.default_rng(m)
    n, width = 64, 2 if name == "tf32" else 4
    chunks, each = (16, 2) if name == "f8f6f4" else (8, width // 2)
    chosen, bits = thinned(rng, m, chunks, width)
    if name == "f8f6f4":
        (a, kept), (b, bv) = narrow(rng, 0, m, 32), narrow(rng, 0, n, 64)
    else:
        kept, bv = small(rng, m, chunks * each), small(rng, n, chunks * width)
        a, b = (bytes_of(bits16(x, 0) if name == "f16" else x.astype(np.float32))
                for x in (kept, bv))  # fmt: skip
    first, da = along_k(a, 6, 0)
    second, db = along_k(b, 4, len(first))

    idesc = instruction(m, n, a=2 if name == "tf32" else 0, b=2 if name == "tf32" else 0, d=1)
    after = run(f"sparse_{name}_ws", np.concatenate([first, second]), da, db, idesc | SPARSE,
                cells((AT, copies(words(bits), m))), metadata=AT, adds=0)  # fmt: skip

    full = spread(kept, chosen, width)
    close(unfolded(after, m, n), full @ bv.T, np.abs(full) @ np.abs(bv).T)


def test_integers() -> None:
    """Signed bytes: sums of 64 steps of k that wrap."""
    rng = np.random.default_rng(4)
    raw = rng.integers(-128, 128, (128 + 32, 64)).astype(np.int8)
    kept, b = raw[:128, :32], raw[128:]
    chosen, bits = thinned(rng, 128, 16, 4)
    first, da = along_k(kept.view(np.uint8), 4, 0)
    second, db = along_k(b.view(np.uint8), 4, len(first))
    old = rng.integers(0, 2**32, (128, 32), np.uint32)

    idesc = instruction(128, 32, a=1, b=1, d=2) | SPARSE
    after = run("sparse_i8", np.concatenate([first, second]), da, db, idesc,
                cells((0, old), (AT, words(bits))), metadata=AT)  # fmt: skip

    exact = spread(kept.astype(np.int64), chosen, 4) @ b.astype(np.int64).T + old
    assert np.array_equal(after[:, :32], exact.astype(np.uint32))


# name, kept numbers in a row, logical numbers of a factor, factors are powers of two, code of E2M1
SCALED = [("mxf8f6f4", 32, 64, 1, 5), ("mxf4", 64, 64, 1, 1), ("nvf4", 64, 32, 0, 1)]


@pytest.mark.parametrize(("name", "kept", "per", "power", "code"), SCALED)
def test_scales(name: str, kept: int, per: int, power: int, code: int) -> None:
    """Factors count for twice as many logical numbers; of 4 bits pairs are kept."""
    rng = np.random.default_rng(5)
    width, n, depth = (4 if code == 5 else 8), 64, 2 * kept
    (a, av), (b, bv) = narrow(rng, 5, 128, kept), narrow(rng, 5, n, depth)
    chosen, bits = thinned(rng, 128, 16, width)

    def packed(x: Array) -> Array:
        if code == 1:
            return x[:, ::2] | x[:, 1::2] << 4
        halves = [mixed_rows(x[:, i : i + 32], 5) for i in range(0, x.shape[1], 32)]
        return np.concatenate(halves, 1)

    first, da = along_k(packed(a), 6, 0)
    second, db = along_k(packed(b), 4, len(first))
    if power:
        codes = rng.integers(121, 134, (128 + n, depth // per))
        factors = 2.0 ** (codes - 127.0)
    else:
        codes, factors = narrow(rng, 0, 128 + n, depth // per)
        codes, factors = codes & 127, np.abs(factors)
    before = cells((AT, words(bits)))
    for row in range(128 + n):
        line, column = (row, 80) if row < 128 else (row - 128, 84)
        word = sum(int(codes[row, k]) << 8 * k for k in range(depth // per))
        before[line % 32 :: 32, column + line // 32] = word

    idesc = scaled_instruction(128, n, a=code, b=code, power=power) | SPARSE
    after = run(f"sparse_{name}", np.concatenate([first, second]), da, db, idesc, before,
                metadata=AT, scales=(80, 84), adds=0)  # fmt: skip

    full = spread(av, chosen, width) * factors[:128].repeat(per, 1)
    bv = bv * factors[128:].repeat(per, 1)
    close(after[:, :n].view(np.float32), full @ bv.T, np.abs(full) @ np.abs(bv).T)


def test_what_is_not_kept_meets_nothing() -> None:
    """An infinity of B where A has no number does not count; where it has one, it does."""
    rng = np.random.default_rng(6)
    kept, b = np.full((128, 16), 2.0), small(rng, 16, 32)
    chosen, bits = thinned(rng, 128, 8, 4)
    b[3, 5] = np.inf
    first, da = along_k(bytes_of(bits16(kept, 0)), 2, 0)
    second, db = along_k(bytes_of(bits16(b, 0)), 4, len(first))

    idesc = instruction(128, 16, a=0, b=0, d=1) | SPARSE
    after = run("sparse_f16", np.concatenate([first, second]), da, db, idesc,
                cells((AT, words(bits))), metadata=AT, adds=0)  # fmt: skip

    found = after[:, :16].view(np.float32)
    meets = (chosen[:, 1] == 1).any(1)
    assert meets.any() and not meets.all()
    assert np.array_equal(np.isinf(found[:, 3]), meets)
    finite = np.where(np.isinf(b), 0, b)
    wanted = spread(kept, chosen, 4) @ finite.T
    assert np.array_equal(found[~meets], wanted[~meets])


@pytest.mark.parametrize("name", one_in(2, ["sparse_f16", "shift"], str, first=1))
def test_sanitizers_find_nothing(name: str) -> None:
    """Metadata and what is shifted have been written, and nobody else uses them."""
    rng = np.random.default_rng(8)
    first, da = along_k(bytes_of(bits16(small(rng, 128, 16), 0)), 2, 0)
    second, db = along_k(bytes_of(bits16(small(rng, 16, 32), 0)), 4, len(first))
    before = cells((AT, words(thinned(rng, 128, 8, 4)[1])))

    idesc = instruction(128, 16, a=0, b=0, d=1) | SPARSE
    run(name, np.concatenate([first, second]), da, db, idesc, before, metadata=AT,
        is_checked=True)  # fmt: skip


@pytest.mark.parametrize(("m", "selector"), [(64, 0), (128, 2)])
def test_what_is_not_known_is_refused(m: int, selector: int) -> None:
    """Metadata of 64 rows, and other selectors: the message says what is understood."""
    idesc = instruction(m, 16, a=0, b=0, d=1) | SPARSE | selector
    image, place = along_k(np.zeros((128, 32), np.uint8), 2, 0)

    with pytest.raises(ExecutionFault, match="where its metadata lie is not known") as caught:
        run("sparse_f16", image, place, place, idesc, np.zeros((128, 8), np.uint32))

    assert "sparse_f16+0x" in caught.value.message


@pytest.mark.parametrize("architecture", ["100a", "103a"])
def test_shift(architecture: str) -> None:
    """Eight columns move by a lane within each group of 32; the last lane keeps its own."""
    before = np.random.default_rng(7).integers(0, 2**32, (128, 64), np.uint32)

    after = run("shift", np.zeros(0, np.uint8), 0, 0, 0, before, d=16, architecture=architecture)

    wanted = before.copy()
    moved = np.setdiff1d(np.arange(128), [31, 63, 95, 127])
    wanted[moved, 16:24] = before[moved + 1, 16:24]
    assert np.array_equal(after[:, :64], wanted)
    assert any("UTCSHIFT" in form for form in forms.inferred(module(architecture)["shift"].sass))
