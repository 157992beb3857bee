"""Lanes that each add one to a word of shared memory: results and counters, whatever the words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import warplens as wl
from warplens.errors import WarplensError

SOURCE = """
extern "C" __global__ void counted(const int* word, unsigned* bins, unsigned* behind, int rounds,
                                   int words) {
    extern __shared__ unsigned local[];
    for (int i = threadIdx.x; i < words; i += blockDim.x) local[i] = 3 * i;
    __syncthreads();
    for (int k = 0; k < rounds; ++k) {
        int w = word[k * blockDim.x + threadIdx.x];
        if (w >= 0) atomicAdd(&local[w], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < words; i += blockDim.x) bins[i] = local[i];
    behind[threadIdx.x] = rounds;
}
extern "C" __global__ void apart(unsigned* bins, unsigned place) {
    extern __shared__ unsigned local[];
    local[threadIdx.x] = 0;
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(local) + place * (threadIdx.x % 2);
    asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at));
    bins[threadIdx.x] = local[threadIdx.x];
}
"""
LANE = np.arange(32)


@pytest.fixture(scope="module", params=["sm_80", "sm_90"])
def module(request: pytest.FixtureRequest) -> Any:
    """The kernels above."""
    return wl.Device(request.param).compile(SOURCE)


def patterns(words: int) -> npt.NDArray[np.int32]:
    """Words of the lanes by rounds: everywhere, in few rows, in one bank, under masks."""
    rng = np.random.default_rng(words)
    rows = [rng.integers(0, words, 32) for _ in range(20)]
    rows += [rng.integers(0, min(words, 40), 32) for _ in range(8)]
    rows += [words - 1 - rng.integers(0, min(words, 40), 32) for _ in range(8)]
    rows += [LANE * 0 + words - 1, LANE * 32 % words, LANE * 33 % words, LANE[::-1] % words]
    rows += [np.where(rng.random(32) < share, row, -1) for share in (0.1, 0.6) for row in rows]
    rows += [np.where(LANE == 7, 0, -1), LANE * 0 - 1]
    return np.array(rows, np.int32)


def passes(row: npt.NDArray[np.int32]) -> int:
    """The most different words in one bank."""
    words = np.unique(row[row >= 0])
    return int(np.bincount(words % 32).max()) if len(words) else 0


@pytest.mark.parametrize("words", [5, 100, 256, 300, 500, 512, 530, 2000])
def test_counts(module: Any, words: int) -> None:
    """As NumPy counts, in each word; passes and bytes as their addresses say."""
    where = patterns(words)
    kernel = module["counted"]
    for is_fast in (False, True):
        if is_fast:
            kernel.code.program.make_fast()
        bins, behind = np.zeros(words, np.uint32), np.zeros(32, np.uint32)
        run = kernel[1, 32, 0, 4 * words](where, bins, behind, len(where), words)

        expected = 3 * np.arange(words) + np.bincount(where[where >= 0], minlength=words)
        np.testing.assert_array_equal(bins, expected)
        counts = run.execution.columns
        names = [i.mnemonic for i in kernel.sass.instructions]
        atom = [i for i, name in enumerate(names) if name.startswith("ATOMS.POPC")]
        assert atom
        some = [row for row in where if (row >= 0).any()]

        def of(name: str) -> int:
            return int(counts[f"shared_{name}"][atom].sum())  # noqa: B023

        assert of("requests") == len(some)
        assert of("passes") == of("wavefronts") == sum(passes(row) for row in some)
        assert of("wavefronts_ideal") == len(some)
        assert of("conflicts") == sum(passes(row) - 1 for row in some)
        assert of("bytes") == 4 * sum(len(np.unique(row[row >= 0])) for row in some)


@pytest.mark.parametrize(
    ("place", "words"), [(2, "misaligned"), (4 * 64, "invalid"), (1 << 20, "invalid")]
)
def test_bad_places_are_refused(module: Any, place: int, words: str) -> None:
    """Half of the lanes want no word of the block's 32."""
    with pytest.raises(WarplensError) as failure:
        module["apart"][1, 32, 0, 128](np.zeros(32, np.uint32), place)
    assert words in str(failure.value).lower()
