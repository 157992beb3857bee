"""Kernels whose arrays were recorded on an H200 leave the same bits here.

They hold the forms that one instruction alone does not show: barriers, mbarriers, copies, calls,
clusters, votes. `validation/kernels_table.py` made the file; the references of the tests that the
kernels come from held on the GPU, too.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.in_turn import one_in
from warplens.errors import KernelTrap
from warplens.isa import forms

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "validation"))

import kernels_table  # noqa: E402


@cache
def document() -> dict[str, Any]:
    """The recording."""
    found: dict[str, Any] = json.loads(kernels_table.TABLE.read_text())
    return found


@cache
def by_case() -> dict[str, set[str]]:
    """Forms of compiled code that only kernels show, by the case that stands for each."""
    found: dict[str, set[str]] = {}
    for form, name in document()["forms"].items():
        own = forms.table().get(form)
        if own is not None and own.in_corpus and own.where == "in recorded kernels":
            found.setdefault(name, set()).add(form)
    return found


CASES = kernels_table.cases()


@pytest.mark.parametrize("name", one_in(8, sorted(by_case()), str))
def test_kernels_that_stand_for_forms(name: str) -> None:
    """The H200's bits, and the forms for which the kernel stands are executed."""
    if name == kernels_table.TRAPPED:
        with pytest.raises(KernelTrap, match="trap"):
            kernels_table.executed(CASES[name])
        return
    digests, executed = kernels_table.executed(CASES[name])

    assert digests == document()["cases"][name]["digests"]
    assert by_case()[name] <= set(executed)


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n, row in document()["cases"].items() if row.get("equal")])
def test_all_kernels(name: str) -> None:
    """The H200's bits in every recorded kernel."""
    assert kernels_table.executed(CASES[name])[0] == document()["cases"][name]["digests"]


def test_few_kernels_differ() -> None:
    """Kernels with other bits are those whose result depends on an order, or on a NaN's payload."""
    different = {name for name, row in document()["cases"].items() if row.get("equal") is False}

    assert different <= set(DIFFERENT)
    assert len(document()["cases"]) > 400


# Whose exchange comes first, who draws which number, in which order floats are added; payloads of
# NaNs in double precision (DEVIATIONS 7).
DIFFERENT = (
    "breadth/vectors:wide_exchange", "kernels/arithmetic:float64_ops",
    "kernels/atomics:atomic_aggregated", "kernels/atomics:atomic_float_result",
    "kernels/atomics:atomic_results", "kernels/control:lane_lock", "kernels/counting:components",
    "kernels/sorting:hash_insert",
)  # fmt: skip
