"""Suggestions for names that do not exist: right, and cheap enough for loops over many names."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable

import pytest

from warplens.errors import UnknownMetric
from warplens.metrics import near_names as near_names_module
from warplens.metrics.near_names import near_names
from warplens.metrics.registry import all_metrics, resolve

NAMES = tuple(metric.name for metric in all_metrics())
WRONG = "l1tex__t_sectors_pipe_lsu_mem_global_op_load"


def _seconds(ask: Callable[[], object]) -> float:
    """The least of several: other processes may take the processor, so time is the thread's."""
    times = []
    for _ in range(9):
        start = time.thread_time()
        ask()
        times.append(time.thread_time() - start)
    return min(times)


@pytest.mark.parametrize("change", ["dropped", "doubled", "swapped", "replaced"])
def test_one_wrong_letter_is_found(change: str) -> None:
    """The name meant stands among the three suggestions for nearly every name."""
    found = 0
    for name in NAMES:
        i = len(name) // 2
        wrong = {
            "dropped": name[:i] + name[i + 1 :],
            "doubled": name[:i] + name[i] + name[i:],
            "swapped": name[:i] + name[i + 1] + name[i] + name[i + 2 :],
            "replaced": name[:i] + "?" + name[i + 1 :],
        }[change]
        found += name in near_names(wrong, NAMES)
    assert found >= 0.97 * len(NAMES)


def test_nothing_near_is_nothing() -> None:
    """A name unlike all others has no suggestion."""
    assert near_names("nonsense", NAMES) == []
    assert near_names("", NAMES) == []


def test_suggestions_cost_little() -> None:
    """An unknown name takes a small part of what comparing letter by letter takes."""
    with pytest.raises(UnknownMetric, match=WRONG):
        resolve(f"{WRONG}.sum")  # makes the index

    def unknown() -> None:
        with pytest.raises(UnknownMetric):
            resolve(f"{WRONG}.sum")

    slow = _seconds(lambda: difflib.get_close_matches(WRONG, NAMES, n=3, cutoff=0.5))
    assert 10 * _seconds(unknown) < slow


def test_the_first_unknown_name_costs_little() -> None:
    """The table of names is made by whoever first asks for one that does not exist: it takes a
    small part of what comparing letter by letter takes."""

    def first() -> None:
        near_names_module._table.cache_clear()
        with pytest.raises(UnknownMetric):
            resolve("unknown")

    assert 20 * _seconds(first) < _seconds(
        lambda: difflib.get_close_matches(WRONG, NAMES, n=3, cutoff=0.5)
    )
