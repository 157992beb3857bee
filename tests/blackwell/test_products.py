"""Products of tensor memory (tcgen05.mma) against NumPy and an H200's recorded wgmma."""

from __future__ import annotations

import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.blackwell.images import (
    along_k,
    instruction,
)
from warplens import Device

Array = npt.NDArray[Any]
DATA = Path(__file__).parents[2] / "validation" / "data"


@lru_cache(maxsize=2)
def module(architecture: str = "100a") -> Any:
    """The kernels; sm_100a has bytes, which sm_103a lacks."""
    options = [f"-arch=sm_{architecture}"]
    if architecture == "100a":
        options.append("-DBYTES")
    source = Path(__file__).parent / "products.cu"
    return Device(f"sm_{architecture[:3]}").compile(source, options=options)


def run(name: str, image: Array, a: int, b: int, idesc: int, before: Array, *, adds: int = 1,
        d: int = 0, scales: tuple[int, int] = (0, 0), masks: tuple[int, ...] = (0, 0, 0, 0),
        architecture: str = "100a") -> Array:  # fmt: skip
    """All cells afterwards: 128 lanes, 512 columns."""
    image = np.concatenate([image, np.zeros(-len(image) % 16, np.uint8)])
    after = np.zeros((128, 512), np.uint32)
    start = np.zeros((128, 512), np.uint32)
    start[:, : before.shape[1]] = before
    operands = struct.pack("<QQ9I4x", a, b, idesc, adds, d, *scales, *masks)
    kernel = module(architecture)[name]
    kernel[1, 128, 0, len(image) + 1024](
        image.view(np.uint32), len(image) // 16, operands, start, after
    )
    return after


def small(rng: np.random.Generator, *shape: int) -> Array:
    """Whole numbers whose products add up exactly in every format."""
    return rng.integers(-4, 5, shape).astype(np.float64)


def bits16(x: Array, kind: int) -> Array:
    """Halves (0) or bfloat16 (1)."""
    if kind == 0:
        return x.astype(np.float16).view(np.uint16)
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def bytes_of(words: Array) -> Array:
    """Rows of bytes."""
    return np.ascontiguousarray(words).view(np.uint8).reshape(len(words), -1)


def lanes_of(rows: int) -> Array:
    """Where D's rows stand: all lanes, or sixteen of each warp's."""
    n = np.arange(rows)
    return n // 16 * 32 + n % 16 if rows == 64 else n


@pytest.mark.parametrize(("m", "n"), [(128, 256), (128, 16), (64, 8), (64, 136)])
@pytest.mark.parametrize("layout", [0, 6, 4, 2])
def test_halves(m: int, n: int, layout: int) -> None:
    """Every shape's limits and every swizzle; D of singles that counts."""
    rng = np.random.default_rng(m + n + layout)
    a, b, c = small(rng, m, 16), small(rng, n, 16), small(rng, m, n)
    first, da = along_k(bytes_of(bits16(a, 0)), layout, 0)
    second, db = along_k(bytes_of(bits16(b, 0)), layout, len(first))
    before = np.zeros((128, n), np.uint32)
    before[lanes_of(m)] = c.astype(np.float32).view(np.uint32)

    after = run("f16", np.concatenate([first, second]), da, db,
                instruction(m, n, a=0, b=0, d=1), before)  # fmt: skip

    assert np.array_equal(after[lanes_of(m), :n].view(np.float32), a @ b.T + c)
    others = np.setdiff1d(np.arange(128), lanes_of(m))
    assert not after[others].any() and not after[:, n:].any()
