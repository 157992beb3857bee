"""Each bad input gives its typed error, and a good kernel runs right afterwards."""

from __future__ import annotations

import importlib

import pytest

import warplens as wl
from tests.bad_input.cases import CASES, BadInput, run_good

for _part in ("languages", "launches", "running"):
    importlib.import_module(f"tests.bad_input.{_part}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_input(case: BadInput) -> None:
    """The error's class is the promised one and its message says what happened."""
    with pytest.raises(wl.WarplensError) as caught:
        case.action()

    message = str(caught.value).lower()
    assert isinstance(caught.value, case.error), f"{type(caught.value).__name__}: {message}"
    assert message.strip()
    for word in case.words:
        assert word in message, f"{word!r} is not in: {message}"
    run_good()


def test_there_are_two_hundred() -> None:
    """The list is long and its names differ."""
    names = [case.name for case in CASES]

    assert len(names) >= 200
    assert len(set(names)) == len(names)
