"""Which of many like cases an ordinary run takes; `-m long` takes the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest


def one_in(
    share: int, cases: Sequence[Any], name: Callable[[Any], str], *, first: int = 0,
    several: bool = False,
) -> list[Any]:  # fmt: skip
    """Parameters for all cases: one in `share`, from `first` on, in every run, the rest long.
    `several`: each case holds the values of more than one parameter."""
    return [
        pytest.param(*(case if several else (case,)), id=name(case),
                     marks=() if number % share == first % share else pytest.mark.long)
        for number, case in enumerate(cases)
    ]  # fmt: skip
