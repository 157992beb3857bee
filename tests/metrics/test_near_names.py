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
    wrong = "l1tex__t_sectors_pipe_lsu_mem_global_op_load"
    with pytest.raises(UnknownMetric, match=wrong):
        resolve(f"{wrong}.sum")  # makes the index

    def seconds(ask: object) -> float:
        assert callable(ask)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            ask()
            times.append(time.perf_counter() - start)
        return min(times)

    def unknown() -> None:
        with pytest.raises(UnknownMetric):
            resolve(f"{wrong}.sum")

    slow = seconds(lambda: difflib.get_close_matches(wrong, NAMES, n=3, cutoff=0.5))
    assert 10 * seconds(unknown) < slow


def test_the_first_unknown_name_costs_little() -> None:
    """The table of names is made by whoever first asks for one that does not exist: it takes a
    small part of what comparing letter by letter takes.

    Other processes may take the processor: time is that of the thread.
    """
    wrong = "l1tex__t_sectors_pipe_lsu_mem_global_op_load"

    def first() -> None:
        near_names_module._table.cache_clear()
        with pytest.raises(UnknownMetric):
            resolve("unknown")

    def seconds(ask: Callable[[], object]) -> float:
        times = []
        for _ in range(9):
            start = time.thread_time()
            ask()
            times.append(time.thread_time() - start)
        return min(times)

    assert 10 * seconds(first) < seconds(
        lambda: difflib.get_close_matches(wrong, NAMES, n=3, cutoff=0.5)
    )
