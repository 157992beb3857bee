"""What parameters are worth, over objectives whose parts are known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest

from warplens.tune import Row, Tuned
from warplens.tune.worth import worth


def rows(cost: Callable[[int, int, int], float]) -> list[Row]:
    """Every combination of three parameters; one more has a single value."""
    return [
        Row(
            configuration={"A": a, "B": b, "C": c, "ONE": 1}, gpu="H200", launch="k<<<1, 1>>>",
            status="predicted", objective=cost(a, b, c), facts={"registers": 40.0 - 8 * a},
        )
        for a, b, c in itertools.product((0, 1), (0, 1), (0, 1))
    ]  # fmt: skip


def test_parts_that_add_up() -> None:
    """Factors explain their squares' shares, pairs nothing; what does not vary is not there."""
    found = worth(rows(lambda a, b, c: math.exp(3 * a + 4 * b)))

    assert found == pytest.approx({
        ("B",): 0.64, ("A",): 0.36, ("C",): 0, ("A", "B"): 0, ("A", "C"): 0, ("B", "C"): 0,
    }, abs=1e-9)  # fmt: skip
    assert list(found)[:3] == [("B",), ("A",), ("C",)]


def test_a_pair_alone() -> None:
    """Where only equality counts, neither explains anything and both together all."""
    found = worth(rows(lambda a, b, c: math.exp(float(a == c))))

    assert found["A", "C"] == pytest.approx(1)
    assert all(share == pytest.approx(0, abs=1e-9) for key, share in found.items()
               if key != ("A", "C"))  # fmt: skip
    assert worth(rows(lambda a, b, c: 5.0)) == {} and worth([]) == {}


def test_on_the_page() -> None:
    """Shares, pairs and the front of time against registers."""
    every = rows(lambda a, b, c: math.exp(a + 2 * float(b == c)))
    text = str(Tuned(rows=tuple(every), gpus=("H200",)))

    assert "B and C" in text and "80 % more together" in text and "20 %" in text
    assert "Fewer registers for more time on H200" in text
    front = text[text.index("Fewer registers") :].splitlines()
    assert any("A=1" in line and "2.72" in line and "32" in line for line in front[:6])
    assert "Fewer shared bytes" not in text
