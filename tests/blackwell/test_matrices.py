"""ldmatrix and stmatrix of bytes and narrower numbers: the PTX manual's fragments, by NumPy."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.in_turn import one_in
from warplens import Device
from warplens.isa import forms

Array = npt.NDArray[Any]
CHIPS = ["120a", "100a", "103a", "121a"]


@lru_cache(maxsize=4)
def module(chip: str) -> Any:
    """The kernels for a chip."""
    source = Path(__file__).parent / "matrices.cu"
    known = {"103a": "103", "121a": "121"}.get(chip, chip[:3])
    return Device(f"sm_{known}").compile(source, options=[f"-arch=sm_{chip}"])


def expanded(rows: Array, bits: int) -> Array:
    """16 numbers of each row of 16 bytes."""
    flat = np.unpackbits(rows, axis=1, bitorder="little")[:, : 16 * bits].reshape(-1, 16, bits)
    return np.packbits(flat, axis=2, bitorder="little")[:, :, 0]


def loaded(name: str, chip: str) -> tuple[Array, Array]:
    """Registers of a load from rows in a random order, and those rows, as bytes."""
    rng = np.random.default_rng(1)
    data = rng.integers(0, 256, (256, 16)).astype(np.uint8)
    order = rng.permutation(256)[:32].astype(np.uint32)
    out = np.zeros((32, 4), np.uint32)
    module(chip)[name][1, 32](data.reshape(-1).view(np.uint32), order, out)
    return out.view(np.uint8).reshape(8, 4, 4, 4), data[order]  # g, t, register, byte


@pytest.mark.parametrize("chip", CHIPS[:2])
@pytest.mark.parametrize("bits", [4, 6])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_rows(bits: int, count: int, chip: str) -> None:
    """m8n16: lane (g, t) has numbers 4 t to 4 t + 3 of row g, each in a byte."""
    found, rows = loaded(f"short{bits}_{count}", chip)

    wanted = expanded(rows, bits).reshape(4, 8, 4, 4).transpose(1, 2, 0, 3)
    assert np.array_equal(found[:, :, :count], wanted[:, :, :count])
    assert not found[:, :, count:].any()


@pytest.mark.parametrize("chip", one_in(2, CHIPS, str))
@pytest.mark.parametrize("bits", [4, 6, 8])
@pytest.mark.parametrize("count", [1, 2])
def test_columns(bits: int, count: int, chip: str) -> None:
    """m16n16.trans: lane (g, t) has rows 4 t to 4 t + 3 of column g, then of column g + 8."""
    found, rows = loaded(f"tall{bits}_{count}", chip)

    numbers = expanded(rows, bits).reshape(2, 4, 4, 2, 8)  # matrix, t, row, half, g
    wanted = numbers.transpose(4, 1, 0, 3, 2).reshape(8, 4, 4, 4)
    assert np.array_equal(found[:, :, : 2 * count], wanted[:, :, : 2 * count])


@pytest.mark.parametrize("chip", CHIPS[:2])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stores(count: int, chip: str) -> None:
    """m16n8.trans: rows g and g + 8, columns 2 t and 2 t + 1 of a product, turned in memory."""
    rng = np.random.default_rng(2)
    data = rng.integers(0, 256, (32, 4, 4)).astype(np.uint8)
    order, out = rng.permutation(256)[:32].astype(np.uint32), np.zeros((256, 16), np.uint8)

    module(chip)[f"store_{count}"][1, 32](data.view(np.uint32), order, out.view(np.uint32))

    wanted = np.zeros((256, 16), np.uint8)
    parts = data.reshape(8, 4, 4, 2, 2).transpose(2, 1, 4, 3, 0)  # matrix, t, column, half, g
    wanted[order[: 8 * count]] = parts.reshape(32, 16)[: 8 * count]
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize("chip", one_in(2, ["120a", "100a"], str, first=1))
def test_product(chip: str) -> None:
    """B turned by ldmatrix and D turned back by stmatrix give the product of matrices."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((16, 32), (32, 16)))
    out = np.zeros((16, 16), np.int8)

    given = np.concatenate([a.reshape(-1), b.reshape(-1)]).view(np.uint32)
    kernel = module(chip)["product"]
    kernel[1, 32](given, out.view(np.uint32))

    assert np.array_equal(out.T, (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int8))
    assert any("MT1616" in form for form in forms.inferred(kernel.sass))
