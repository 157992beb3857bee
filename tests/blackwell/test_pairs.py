"""Products of pairs of blocks (cta_group::2) against NumPy."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.blackwell.images import along_k, descriptor, instruction, scaled_instruction
from tests.blackwell.test_products import bits16, bytes_of, close, narrow, small
from warplens import Device

Array = npt.NDArray[Any]


@lru_cache(maxsize=1)
def module() -> Any:
    """The kernels."""
    source = Path(__file__).parent / "pairs.cu"
    return Device("sm_100").compile(source, options=["-arch=sm_100a"])


def run(name: str, images: Array, a: int, b: int, idesc: int, before: Array) -> Array:
    """All cells of both blocks afterwards, of two pairs with the same data."""
    after = np.zeros((4, 128, 512), np.uint32)
    start = np.zeros((4, 128, 512), np.uint32)
    start[:, :, : before.shape[-1]] = np.concatenate([before, before])
    size = images.shape[1]
    module()[name][4, 128, 0, size + 1024](
        np.concatenate([images, images]).view(np.uint32), size // 16, a, b, idesc, start, after, 500
    )
    assert np.array_equal(after[:2], after[2:])
    return after[:2]


@pytest.mark.parametrize("m", [256, 128])
@pytest.mark.parametrize("n", [32, 256])
def test_halves(m: int, n: int) -> None:
    """Of 128 rows each block has 64 lanes twice, for half of the columns each."""
    rng = np.random.default_rng(m + n)
    a, b = small(rng, m, 16), small(rng, n, 16)
    images = []
    for rank in range(2):
        mine = a[rank * m // 2 : (rank + 1) * m // 2], b[rank * n // 2 : (rank + 1) * n // 2]
        first, da = along_k(bytes_of(bits16(mine[0], 0)), 2, 0)
        second, db = along_k(bytes_of(bits16(mine[1], 0)), 2, len(first))
        images.append(np.concatenate([first, second]))

    after = run("f16", np.stack(images), da, db, instruction(m, n, a=0, b=0, d=1),
                np.zeros((2, 128, 8), np.uint32))  # fmt: skip

    parts = 256 // m
    d = after[:, :, : n // parts].view(np.float32).reshape(2, parts, m // 2, n // parts)
    assert np.array_equal(d.transpose(0, 2, 1, 3).reshape(m, n), a @ b.T)


def test_block_scales() -> None:
    """Each block has its rows' factors, and those of all columns."""
    rng = np.random.default_rng(2)
    m, n = 256, 64
    (a, av), (b, bv) = narrow(rng, 0, m, 32), narrow(rng, 1, n, 32)
    codes = rng.integers(120, 134, m + n)
    images, before = [], np.zeros((2, 128, 512), np.uint32)
    for rank in range(2):
        first, da = along_k(a[128 * rank : 128 * rank + 128], 6, 0)
        second, db = along_k(b[n // 2 * rank : n // 2 * (rank + 1)], 6, len(first))
        images.append(np.concatenate([first, second]))
        for row in range(128):
            before[rank, row % 32 :: 32, 500 + row // 32] = codes[128 * rank + row]
        for column in range(n):
            before[rank, column % 32 :: 32, 504 + column // 32] = codes[m + column]

    after = run("mxf8f6f4", np.stack(images), da, db,
                scaled_instruction(m, n, a=0, b=1, power=1), before)  # fmt: skip

    factors = 2.0 ** (codes - 127.0)[:, None]
    av, bv = av * factors[:m], bv * factors[m:]
    d = after[:, :, :n].view(np.float32).reshape(m, n)
    close(d, av @ bv.T, np.abs(av) @ np.abs(bv).T)


def test_copies() -> None:
    """Each block's rows go to its own lanes."""
    data = np.random.default_rng(3).integers(1, 2**32, (2, 32, 4), np.uint32)

    after = run("copied", data.reshape(2, -1).view(np.uint8), descriptor(0, 512, 128, 0), 0, 0,
                np.zeros((2, 128, 8), np.uint32))  # fmt: skip

    wanted = data[:, np.arange(128) % 32]
    assert np.array_equal(after[:, :, :4], wanted)
