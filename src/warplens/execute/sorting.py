"""The order of elements by keys that are numbers from 0 on: by counting them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.compiled import native

Numbers = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]


@native
def sort_by(keys: npt.NDArray[Any], before: Numbers, after: Numbers, counts: Ints) -> None:
    """Sorts indices by their keys, those of equal keys in the order in which they stood."""
    for i in range(counts.size):
        counts[i] = 0
    for i in range(keys.size):
        counts[keys[i]] += 1
    total = 0
    for i in range(counts.size):
        count = counts[i]
        counts[i] = total
        total += count
    for i in range(before.size):
        index = before[i]
        after[counts[keys[index]]] = index
        counts[keys[index]] += 1


def sorted_by(keys: npt.NDArray[Any], count: int) -> Numbers:
    """Indices by their keys, numbers below `count`; of equal keys in the order of indices."""
    order = np.empty(len(keys), np.int32)
    sort_by(keys, np.arange(len(keys), dtype=np.int32), order, np.empty(count, np.int64))
    return order
