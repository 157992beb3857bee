"""Four spaces of configurations: what is tuned, how it is launched, what it must give."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.tune.problem import Problem
from warplens.tune.space import Space

Array = npt.NDArray[Any]
KERNELS = Path(__file__).parent / "kernels"
N, K = 2048, 1024  # C is N x N, A N x K
WIDTH, R = 4096, 7
WORDS = 1 << 26
FILTER = 17  # weights in a row
DRAWN = 200  # configurations of the filter, by lot


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A space that was recorded.

    Attributes:
        arguments: makes the launch's arguments; output: the index of the one that is written.
        constants: variables in constant memory by name.
        expected: what some of the output must be, by index.
    """

    name: str
    problem: Problem
    arguments: Callable[[], list[Any]]
    output: int
    constants: dict[str, Array]
    expected: Callable[[Sequence[Any]], tuple[Any, Array]]
    rtol: float = 1e-4


def _gemm_arguments() -> list[Any]:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(N * K).astype(np.float32) for _ in range(2))
    return [a, b, np.zeros(N * N, np.float32), np.int32(N), np.int32(K)]


def _gemm_expected(arguments: Sequence[Any]) -> tuple[Any, Array]:
    a, b = arguments[0].reshape(N, K).astype(float), arguments[1].reshape(K, N).astype(float)
    rows = np.arange(0, N, 127)
    return (rows[:, None] * N + np.arange(N)).ravel(), (a[rows] @ b).ravel()


def _weights() -> Array:
    return np.random.default_rng(2).random(R * R).astype(np.float32)


def _convolution_arguments() -> list[Any]:
    picture = np.random.default_rng(3).random((WIDTH + R - 1) ** 2).astype(np.float32)
    return [picture, np.zeros(WIDTH * WIDTH, np.float32), np.int32(WIDTH)]


def _convolution_expected(arguments: Sequence[Any]) -> tuple[Any, Array]:
    picture = arguments[0].reshape(WIDTH + R - 1, -1).astype(float)
    rows, weights = np.arange(0, WIDTH, 509), _weights().reshape(R, R).astype(float)
    total = sum(
        weights[i, j] * picture[rows + i][:, j : j + WIDTH] for i in range(R) for j in range(R)
    )
    return (rows[:, None] * WIDTH + np.arange(WIDTH)).ravel(), np.asarray(total).ravel()


def _reduction_arguments() -> list[Any]:
    words = np.random.default_rng(4).random(WORDS).astype(np.float32)
    return [words, np.zeros(1, np.float32)]


def _filter_weights() -> Array:
    return np.random.default_rng(5).random(FILTER * FILTER).astype(np.float32)


def _filter_arguments() -> list[Any]:
    beyond = 512  # what the last blocks of a row or column read beyond the picture
    rows, pitch = WIDTH + FILTER - 1 + beyond, WIDTH + FILTER - 1
    picture = np.random.default_rng(6).random(rows * pitch).astype(np.float32)
    return [picture, np.zeros(WIDTH * WIDTH, np.float32)]


def _filter_expected(arguments: Sequence[Any]) -> tuple[Any, Array]:
    picture = arguments[0].reshape(-1, WIDTH + FILTER - 1).astype(float)
    rows = np.arange(0, WIDTH, 511)
    weights = _filter_weights().reshape(FILTER, FILTER).astype(float)
    total = sum(
        weights[i, j] * picture[rows + i][:, j : j + WIDTH]
        for i in range(FILTER) for j in range(FILTER)
    )  # fmt: skip
    return (rows[:, None] * WIDTH + np.arange(WIDTH)).ravel(), np.asarray(total).ravel()


def _drawn(values: dict[str, list[Any]], rules: tuple[str, ...], count: int) -> Space:
    """A space of which only some configurations, by lot, are allowed."""
    every = list(Space(values, rules))
    chosen = {tuple(one.values()) for one in random.Random(0).sample(every, count)}
    return Space(values, (*rules, lambda one: tuple(one.values()) in chosen))


GEMM = Recorded(
    name="gemm",
    problem=Problem(
        source=KERNELS / "gemm.cu", kernel="gemm",
        space=Space(
            {"BM": [32, 64, 128], "BN": [32, 64, 128], "BK": [8, 16], "TM": [2, 4, 8],
             "TN": [2, 4, 8], "PAD": [0, 1], "PREFETCH": [0, 1]},
            ("64 <= BM * BN / (TM * TN) <= 1024", "TM * TN >= 8"),
        ),
        grid=f"({N} // BN, {N} // BM)", block="BM * BN // (TM * TN)", args=_gemm_arguments(),
    ),
    arguments=_gemm_arguments, output=2, constants={}, expected=_gemm_expected, rtol=1e-3,
)  # fmt: skip

CONVOLUTION = Recorded(
    name="convolution",
    problem=Problem(
        source=KERNELS / "convolution.cu", kernel="convolution",
        space=Space(
            {"BX": [16, 32, 64, 128], "BY": [1, 2, 4, 8, 16], "TX": [1, 2, 4], "TY": [1, 2, 4],
             "SHARED": [0, 1], "PAD": [0, 1]},
            ("64 <= BX * BY <= 1024", "PAD == 0 or SHARED and BX == 16",
             "SHARED == 0 or (BX * TX + 6 + PAD) * (BY * TY + 6) <= 12288"),
        ),
        grid=f"({WIDTH} // (BX * TX), {WIDTH} // (BY * TY))", block="(BX, BY)",
        args=_convolution_arguments(),
    ),
    arguments=_convolution_arguments, output=1, constants={"weights": _weights()},
    expected=_convolution_expected,
)  # fmt: skip

REDUCTION = Recorded(
    name="reduction",
    problem=Problem(
        source=KERNELS / "reduction.cu", kernel="reduction",
        space=Space(
            {"BLOCK": [64, 256, 1024], "EACH": [1, 2, 4, 8, 16, 32],
             "VECTOR": [1, 2, 4], "FAR": [0, 1], "FINISH": [0, 1, 2]},
        ),
        grid=f"{WORDS} // (BLOCK * EACH * VECTOR)", block="BLOCK", args=_reduction_arguments(),
    ),
    arguments=_reduction_arguments, output=1, constants={},
    expected=lambda arguments: ([0], np.array([arguments[0].sum(dtype=float)])),
)  # fmt: skip

IMAGE = Recorded(
    name="filter",
    problem=Problem(
        source=KERNELS / "filter.cu", kernel="filter",
        space=_drawn(
            {"BX": [16, 32, 48, 64, 80, 96, 112, 128], "BY": [1, 2, 4, 8, 16, 32],
             "TX": [1, 2, 4], "TY": [1, 2, 4], "PAD": [0, 1], "READ_ONLY": [0, 1]},
            ("32 <= BX * BY <= 1024", "PAD == 0 or BX % 32 != 0",
             "(BX * TX + 16 + PAD) * (BY * TY + 16) <= 12288"), DRAWN,
        ),
        grid=f"(({WIDTH} + BX * TX - 1) // (BX * TX), ({WIDTH} + BY * TY - 1) // (BY * TY))",
        block="(BX, BY)", args=_filter_arguments(),
    ),
    arguments=_filter_arguments, output=1, constants={"weights": _filter_weights()},
    expected=_filter_expected,
)  # fmt: skip

SPACES = {one.name: one for one in (GEMM, CONVOLUTION, REDUCTION, IMAGE)}
