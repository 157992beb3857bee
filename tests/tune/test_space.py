"""Spaces and expressions: what is enumerated, computed and refused."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from warplens.errors import InputError
from warplens.tune.run import seconds_of
from warplens.tune.space import Space, expression


def test_combinations_in_order() -> None:
    """Every combination once, the last parameter fastest, without what a restriction forbids."""
    values = {"A": [1, 2, 3], "B": [4, 5], "C": ["x", "y"]}
    every = [dict(zip(values, c, strict=True)) for c in itertools.product(*values.values())]
    text, function = "A * B % 2 == 0 and C != 'x'", lambda c: c["A"] < 3

    assert list(Space(values)) == every
    assert list(Space(values, (text, function))) == [
        c for c in every if c["A"] * c["B"] % 2 == 0 and c["C"] != "x" and c["A"] < 3
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [("n / B", 32), ("(n // B, B)", (32, 16)), ("max(A, B) << 1", 32), ("-A + ~0", -4),
     ("A if B > 3 else 0", 3), ("A in (1, 3) and not B == 1", True), ("n / 3", 512 / 3)],
)  # fmt: skip
def test_expressions(text: str, value: Any) -> None:
    """Arithmetic is Python's; a quotient without remainder is whole."""
    assert expression(text)({"A": 3, "B": 16, "n": 512}) == value


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "A.real", "[A for A in (1,)]", "lambda: 1", "A := 2", "f'{A}'", "(",
     "A[0]", "min(A, key=1)", "open('x')"],
)  # fmt: skip
def test_only_arithmetic(text: str) -> None:
    """Anything that could do more than compute is refused before it runs."""
    with pytest.raises(InputError):
        expression(text)


@pytest.mark.parametrize("text", ["Q + 1", "A / 0", "A + 'x'"])
def test_failing_expressions(text: str) -> None:
    """An unknown name or an impossible operation is a typed error that shows the expression."""
    with pytest.raises(InputError, match="'"):
        expression(text)({"A": 1})


@pytest.mark.parametrize("values", [{}, {"A": []}, {"A": "128"}, {"A": [1, 1]}, {"A b": [1]}])
def test_malformed_spaces(values: dict[str, Any]) -> None:
    """No parameters, no values, a text for a list, a value twice, no identifier."""
    with pytest.raises(InputError):
        Space(values)


def test_budgets() -> None:
    """Times with their units."""
    assert (seconds_of("90s"), seconds_of("1.5 min"), seconds_of("2h"), seconds_of(None)) == (
        90, 90, 7200, None,
    )  # fmt: skip
    with pytest.raises(InputError):
        seconds_of("soon")
