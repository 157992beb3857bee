"""Numbers, ranks and counts of what sampled blocks touch, against NumPy's."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tests.timing.touching import touched
from warplens.execute.sorting import sorted_by
from warplens.timing.once import once
from warplens.timing.touched import (
    counted,
    different,
    distinct,
    firsts,
    numbered,
    numbers_of,
    ranks,
    times_of,
    users_of,
)

COUNT = 3000


def _values(spread: int) -> np.ndarray:
    return np.random.default_rng(spread).integers(-spread, spread, COUNT)


@pytest.mark.parametrize("spread", [1, 40, 5000, 40_000, 120_000, 1 << 40])
def test_values_are_numbered_as_unique_does(spread: int) -> None:
    """In a table, and by sorting where they lie far apart."""
    values = _values(spread)
    names, place = np.unique(values, return_inverse=True)
    found = numbered(values)
    np.testing.assert_array_equal(found[0], names)
    np.testing.assert_array_equal(found[1], place)
    np.testing.assert_array_equal(numbers_of(values), place)
    np.testing.assert_array_equal(distinct(values), names)
    first = np.unique(values, return_index=True)[1]
    np.testing.assert_array_equal(firsts(place, len(names)), first)


def test_nothing_is_numbered() -> None:
    """No values have no names."""
    nothing = np.zeros(0, np.int64)
    assert [len(one) for one in (*numbered(nothing), distinct(nothing))] == [0, 0, 0]
    assert not len(different(nothing, nothing))


def test_ranks_and_different_items_of_groups() -> None:
    """How many of a group come before, and how many different items it has."""
    group, item = numbered(_values(40))[1], numbered(_values(10))[1]
    order = np.argsort(group, kind="stable")
    np.testing.assert_array_equal(sorted_by(group, int(group.max()) + 1), order)
    before = [int((group[:i] == group[i]).sum()) for i in range(COUNT)]
    np.testing.assert_array_equal(ranks(group, order), before)
    items = [len(set(item[group == one])) for one in range(int(group.max()) + 1)]
    np.testing.assert_array_equal(different(group, item), items)


def test_bits_of_masks_are_counted() -> None:
    """Of rows of 32 bits an element."""
    masks, others = np.random.default_rng(1).integers(1 << 32, size=(2, 50, 3))
    np.testing.assert_array_equal(counted(masks), np.bitwise_count(masks).sum(axis=1))
    both = np.bitwise_count(masks & others).sum(axis=1)
    np.testing.assert_array_equal(counted(masks, others), both)


def test_one_object_does_not_wait_for_another() -> None:
    """A property that is worked out once of each of two objects at the same time."""
    met = threading.Barrier(2, timeout=20)

    class Both:
        @once
        def value(self) -> int:
            return met.wait()

    two = Both(), Both()
    threads = [threading.Thread(target=getattr, args=(one, "value")) for one in two]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.value for one in two) == [0, 1]


def test_numbers_are_counted() -> None:
    """As NumPy does, whatever their width."""
    number = numbered(_values(40))[1]
    assert np.array_equal(times_of(number), np.bincount(number))
    assert np.array_equal(times_of(number.astype(np.int64)), np.bincount(number))
    assert not len(times_of(number[:0]))


@pytest.mark.parametrize("per_line", [1, 400])
def test_users_of_lines_are_counted(per_line: int) -> None:
    """Whether masks tell them, or uses line by line (of few uses for each unit)."""
    random = np.random.default_rng(per_line)
    lines = random.integers(0, 50, 50 * per_line)
    blocks = random.integers(0, 2000, len(lines))
    made = touched(lines, 1, kind=1, block=blocks)
    unit, among = made.blocks // 3, random.random(len(lines)) < 0.6
    units = np.unique(made.blocks // 3, return_inverse=True)[1]
    found = users_of(made, units, among)
    for line in range(made.n_lines):
        own = (made.used == line) & among
        assert found[line] == len(np.unique(unit[made.user[own]]))
