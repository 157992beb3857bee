"""The surrogate over costs that are known everywhere, and in a search."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.tune.test_tune import search
from warplens.errors import InputError
from warplens.tune import Search
from warplens.tune.process import likely_least
from warplens.tune.space import Configuration
from warplens.tune.surrogate import Floats, Surrogate, estimates, features_of

pytest.importorskip("sklearn")

SIDES = [8, 16, 32, 64, 128, 256]
EVERY: list[Configuration] = [
    {"X": x, "Y": y, "D": d, "HOW": how, "PAD": pad}
    for x, y, d, how, pad in itertools.product(
        SIDES, SIDES, [1, 2, 4, 8], ["plain", "tiled"], [False, True]
    )
]


def valley(one: Configuration) -> float:
    """A cost with one valley, a step and a factor."""
    x, y, d = (float(np.log2(one[name])) for name in ("X", "Y", "D"))
    bowl = 1 + (x - 5) ** 2 + 0.5 * (y - x + 1) ** 2 + 0.2 * abs(d - 2)
    return float(bowl * (0.7 if one["HOW"] == "tiled" else 1) * (1.1 if one["PAD"] else 1))


def found_by(cost: Callable[[Configuration], float], seed: int, most: int | None = None
             ) -> dict[str, float]:  # fmt: skip
    """Configurations and costs that a surrogate asked for."""
    strategy = Surrogate(EVERY, features(), seed, most)
    known: dict[str, float] = {}
    while most is None or len(known) < most:
        left = len(EVERY) if most is None else most - len(known)
        proposed = strategy.propose(min(strategy.batch, left))
        if not proposed:
            break
        for one in proposed:
            assert str(one) not in known
            known[str(one)] = cost(one)
            strategy.learn(one, cost(one))
    return known


def features() -> Floats:
    """Of all configurations, with a fact that is the same everywhere and one that is not."""
    return features_of(EVERY, [[{"always": 1.0, "area": one["X"] * one["Y"]}] for one in EVERY])


def kendall(a: Floats, b: Floats) -> float:
    """Concordant less discordant pairs, as a share."""
    upper = np.triu_indices(len(a), 1)
    signs = [np.sign(v[:, None] - v[None, :])[upper] for v in (a, b)]
    return float((signs[0] * signs[1]).mean())


def test_columns() -> None:
    """A column for each number, word and fact that varies."""
    assert features().shape == (len(EVERY), 4 + 2 + 1)  # X, Y, D, PAD; two words; the area
    assert sorted(set(features()[:, 0])) == [3, 4, 5, 6, 7, 8]


def test_the_first_ones_are_a_lot() -> None:
    """By seed, nowhere twice."""
    chosen = [Surrogate(EVERY, features(), seed, None).propose(32) for seed in (3, 3, 4)]

    assert len({str(one) for one in chosen[0]}) == 32
    assert chosen[0] == chosen[1] != chosen[2]


def test_half_of_the_first_ones_have_the_least_bound() -> None:
    """The others are by lot."""
    work = [float(one["X"] * one["D"]) for one in EVERY]
    least = [str(EVERY[i]) for i in np.argsort(work, kind="stable")[:16]]
    chosen = [str(one) for one in Surrogate(EVERY, features(), 3, None, work).propose(32)]

    assert chosen[:16] == least and len(set(chosen)) == 32
    assert chosen[16:] != [str(EVERY[i]) for i in np.argsort(work, kind="stable")[16:32]]


@pytest.mark.parametrize("seed", one_in(2, [0, 1], str))
def test_the_best_of_all_is_found(seed: int) -> None:
    """It looks at less than a quarter, ends by itself, and does the same again."""
    known = found_by(valley, seed)

    assert min(known.values()) == min(map(valley, EVERY))
    assert len(known) < len(EVERY) / 4
    assert known == found_by(valley, seed)


def test_long_rounds_are_not_waited_for() -> None:
    """The first ones come as two rounds, so that workers have the second while the first ends."""
    bound = [float(one["X"]) for one in EVERY]
    strategy = Surrogate(EVERY, features(), 0, 288, bound, bound)
    rounds = [strategy.propose(strategy.batch) for _ in range(2)]

    assert strategy.ahead == 1 and [len(one) for one in rounds] == [88, 40]
    assert max(one["X"] for one in rounds[0]) <= min(one["X"] for one in rounds[1])
    short = Surrogate(EVERY, features(), 0, 40)
    assert short.ahead == 0 and len(short.propose(short.batch)) == short.batch


def test_a_limit_is_kept() -> None:
    """A twentieth is enough to come near the best; failures teach nothing."""
    few = len(EVERY) // 20
    known = found_by(valley, 0, few)

    assert len(known) == few
    assert min(known.values()) < 1.2 * min(map(valley, EVERY))
    strategy = Surrogate(EVERY, features(), 0, 40)
    for one in strategy.propose(20):
        strategy.learn(one, None)
    assert len(strategy.propose(20)) > 0


def test_what_may_cost_least_is_near_the_truth() -> None:
    """Of a tenth that is known, half of the process's first fifty are among the best tenth of the
    rest; of a lot a tenth would be."""
    chosen = np.random.default_rng(1).choice(len(EVERY), len(EVERY) // 10, replace=False).tolist()
    rest = [i for i in range(len(EVERY)) if i not in set(chosen)]
    costs = np.array([valley(EVERY[i]) for i in chosen])
    told = likely_least(features(), chosen, costs, rest)
    true = np.array([valley(EVERY[i]) for i in rest])
    first = true[np.argsort(told)[:50]]

    assert (first <= np.quantile(true, 0.1)).mean() > 0.5
    assert np.array_equal(told, likely_least(features(), chosen, costs, rest))


def test_estimates_rank_the_rest() -> None:
    """From a tenth the order of the rest is right in the main, and the error is told."""
    chosen = np.random.default_rng(0).choice(len(EVERY), len(EVERY) // 10, replace=False).tolist()
    rest = [i for i in range(len(EVERY)) if i not in set(chosen)]
    told = estimates(features(), {i: valley(EVERY[i]) for i in chosen}, rest, 0)
    values = np.array([told.values[i] for i in rest])
    true = np.array([valley(EVERY[i]) for i in rest])

    assert kendall(values, true) > 0.7
    real = 100 * float(np.abs(values / true - 1).mean())
    assert told.known == len(chosen) and real / 3 < told.error_percent < 3 * real


def test_in_a_search() -> None:
    """What is estimated is never taken for what is predicted."""
    found = search(strategy="surrogate", evaluations=6, gpus=["H200"], confirm=1)
    known, guessed = found.of(), found.estimated()

    assert len(known) == 6 and len(guessed) > 2
    assert {row.status for row in known} == {"predicted", "confirmed"}
    assert all(row.status == "estimated" and row.objective is None for row in guessed)
    assert all(row.time_ns is None for row in guessed) and found.best in known
    assert len(found.ranking()) == len(known) + len(guessed)
    assert found.surrogates["H200"].known == 6
    assert f"{len(guessed)} other configurations only estimated" in str(found)
    assert '"status": "estimated"' in found.json()


@pytest.mark.parametrize(("strategy", "package"), [
    ("surrogate", "scikit-learn"), ("tpe", "Optuna"), ("evolutionary", "Optuna"),
])
def test_without_packages(monkeypatch: pytest.MonkeyPatch, strategy: str, package: str) -> None:
    """It says what to install, before anything is compiled."""
    monkeypatch.setattr("warplens.tune.search.find_spec", lambda _: None)
    monkeypatch.setattr(Search, "run", lambda self: pytest.fail("began to work"))
    with pytest.raises(InputError, match=package) as caught:
        search(strategy=strategy, gpus=["H200"])
    assert "warplens[tune]" in str(caught.value.hint)
