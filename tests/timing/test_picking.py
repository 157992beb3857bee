"""What is done in other ways to be quicker gives what the plain way does, to the last digit."""

import numpy as np
import pytest

from warplens.timing.contention import _sum_of
from warplens.timing.picking import chosen, taken
from warplens.timing.works import all_works, may_be_counted, works_of


@pytest.mark.parametrize("kind", ["?", "i2", "i4", "i8", "u1", "u8", "f4", "f8"])
@pytest.mark.parametrize("count", [0, 1, 5_000, 70_001])
def test_elements_by_numbers_and_masks(kind: str, count: int) -> None:
    """As NumPy picks them."""
    rng = np.random.default_rng(count)
    values = rng.integers(0, 2 if kind == "?" else 100, count + 1).astype(kind)
    for size in (np.int32, np.int64):
        at = rng.integers(0, len(values), count).astype(size)
        assert taken(values, at).dtype == values.dtype
        assert np.array_equal(taken(values, at), values[at])
    for share in (0.0, 0.3, 1.0):
        among = rng.random(len(values)) < share
        assert np.array_equal(chosen(values, among), values[among])


@pytest.mark.parametrize("count", [0, 100, 1 << 18, (1 << 18) + 1, 1_000_003])
def test_sums_of_parts(count: int) -> None:
    """Values that are never all there are added up as NumPy adds up all of them."""
    values = np.random.default_rng(count).random(count) / 7 - 1 / 3
    assert _sum_of(lambda at: values[at], count) == values.sum()


@pytest.mark.parametrize("work", [1_000, 200_000, 450_000])
@pytest.mark.parametrize("spread", [0.0, 0.01, 0.5])
def test_blocks_are_given_up_only_where_not_all_would_be_counted(work: int, spread: float) -> None:
    """If all blocks of a grid would be counted, it is not said that they will not."""
    rng = np.random.default_rng(1)
    every = np.rint(work * (1.0 + spread * rng.uniform(-1, 1, 132))).astype(np.int64)

    def counted(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return every[at][:, None], np.zeros(len(at), np.int64)

    some = np.arange(5, 132, 11)
    known = works_of((132, 1, 1), some, *counted(some))
    if len(all_works(known, counted).places) == 132:
        assert may_be_counted(known)
    assert may_be_counted(known) or work > 200_000
