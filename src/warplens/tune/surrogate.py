"""A search that predicts a part of a large space and learns from it what the rest may cost.

Of few predictions of many configurations two thirds go to those that take least by two bounds in
turn: of compiled code (`mix`) and of the ways of a block's warps (`counted`). Otherwise half of the
first ones are those with the least bound of compiled code, the others are drawn by lot. Of fewer
than 32 predictions a Gaussian process learns the logarithm of the cost, of more extremely
randomised trees (scikit-learn): from parameters, launch and compiled facts. They propose what may
cost least; what the timing model says of it is learned, too, until the best stays the best.
(Trees of ten predictions know few different costs; of many they find factors of a few percent
that the process smooths out.)

On recorded spaces configurations that lie as far apart as can be made a worse beginning than a lot:
corners are costly, and tell little of the rest. The bound of code counts loops once, whatever their
length; that of ways knows their length, but not what L1 does. Neither is best everywhere.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.tune.problem import Job
from warplens.tune.process import likely_least
from warplens.tune.space import Configuration, name_of

Floats = npt.NDArray[np.float64]
_TREES = 200
_FOLDS = 5
_LEAST, _MOST = 32, 128  # configurations that are predicted before anything is learned
_SHARE = 20  # one of so many of the space, within these
_PATIENCE = 2  # rounds in succession without a gain
_GAIN = 1e-3
_BOUNDED = 2 / 3  # of few predictions: those that two bounds choose
_ROUNDS = 4  # in which what two bounds leave over is predicted
_LONG = 16  # rounds of so many are not waited for: the next one learns from those before


def trees(seed: int) -> Any:
    """An untrained model."""
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(_TREES, random_state=seed)


def features_of(
    configurations: Sequence[Configuration], facts: Sequence[Iterable[Mapping[str, float]]]
) -> Floats:
    """A row of numbers for each configuration: its parameters, then compiled facts and launch.

    Numbers count by their logarithms where all are positive; words have a column each.
    """
    columns: list[list[float]] = []
    for name in configurations[0] if configurations else ():
        values = [one[name] for one in configurations]
        if all(isinstance(value, int | float) for value in values):
            columns.append(_scaled([float(value) for value in values]))
        else:
            columns += [[float(v == word) for v in values] for word in dict.fromkeys(values)]
    told = [[value for one in row for value in one.values()] for row in facts]
    columns += [_scaled(list(column)) for column in zip(*told, strict=True)]
    kept = [column for column in columns if len(set(column)) > 1]
    return np.array(kept).T if kept else np.zeros((len(configurations), 1))


def learned_from(job: Job, facts: Sequence[Mapping[str, float]]) -> list[Mapping[str, float]]:
    """Launch and compiled facts; the waves are how often the SMs would be filled."""
    threads, blocks = float(prod(job.block)), float(prod(job.grid))
    derived = [
        {"waves": blocks / max(one["blocks"], 1.0),
         "accesses": one["memory"] * threads * blocks,
         "issued": one["instructions"] * threads * blocks}
        for one in facts
    ]  # fmt: skip
    return [{"threads": threads, "grid": blocks}, *facts, *derived]


def _scaled(values: list[float]) -> list[float]:
    return [math.log2(v) for v in values] if all(v > 0 for v in values) else values


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """What trees say of rows that were not predicted.

    Attributes:
        values: costs, by row; error_percent: the mean error of rows left out while learning, a
            fifth at a time; known: how many rows they have learned from.
    """

    values: dict[int, float]
    error_percent: float
    known: int


def estimates(features: Floats, costs: Mapping[int, float], wanted: Sequence[int],
              seed: int) -> Estimates:  # fmt: skip
    """Estimates of the wanted rows from those whose cost is known."""
    from sklearn.model_selection import KFold, cross_val_predict

    rows = sorted(costs)
    logs = np.log([costs[row] for row in rows])
    folds = KFold(min(_FOLDS, len(rows)), shuffle=True, random_state=seed)
    left_out = cross_val_predict(trees(seed), features[rows], logs, cv=folds)
    model = trees(seed).fit(features[rows], logs)
    found = np.exp(model.predict(features[list(wanted)])) if wanted else np.zeros(0)
    return Estimates(
        values=dict(zip(wanted, found.tolist(), strict=True)),
        error_percent=100.0 * float(np.abs(np.exp(left_out - logs) - 1.0).mean()), known=len(rows),
    )  # fmt: skip


def in_turn(*bounds: Sequence[float]) -> list[float]:
    """A bound that has the first of each one first, then the second of each."""
    places = [np.argsort(np.argsort(bound, kind="stable")) for bound in bounds]
    told = [place * len(bounds) + i for i, place in enumerate(reversed(places))]
    return [float(value) for value in np.min(told, axis=0)]


class Surrogate:
    """Proposes those with the least bound and a random sample, then what of the rest may cost
    least."""

    def __init__(
        self, configurations: Sequence[Configuration], features: Floats, seed: int,
        most: int | None, bound: Sequence[float] | None = None,
        counted: Sequence[float] | None = None,
    ) -> None:  # fmt: skip
        size = len(configurations)
        first = max(_LEAST, min(_MOST, size // _SHARE))
        if most is not None:
            first = max(2, min(first, most // 2))
        self.batch = first
        self._next = max(2, first // 3) if most is None else max(1, min(first // 3, most // 16))
        self._configurations, self._features, self._seed = configurations, features, seed
        self._number = {name_of(one): i for i, one in enumerate(configurations)}
        self._open = dict.fromkeys(range(size))
        self._bound, self._by_lot = bound, True
        if bound is not None and counted is not None and most is not None:
            self._bound, self._by_lot = in_turn(bound, counted), False
            self.batch = first = max(2, min(_MOST, round(most * _BOUNDED)))
            self._next = max(1, math.ceil((most - first) / _ROUNDS))
        self.ahead = int(self._next >= _LONG)
        self._beginning: list[int] | None = None
        self._costs: dict[int, float] = {}
        self._best, self._rounds_without_gain = math.inf, 0
        self._is_bounded = most is not None

    def propose(self, most: int) -> list[Configuration]:
        """The next round; nothing when the best has stayed the best."""
        if self._beginning is None:
            self._beginning = self._first(min(most, self.batch, len(self._open)))
            size = len(self._beginning)
            size = max(size - self.ahead * self._next, -(-size // 2)) if self.ahead else size
        else:
            size = self._next
        if self._beginning:
            chosen, self._beginning = self._beginning[:size], self._beginning[size:]
        else:
            chosen = self._promising(min(most, size))
        for number in chosen:
            del self._open[number]
        return [self._configurations[number] for number in chosen]

    def _first(self, count: int) -> list[int]:
        """Half with the least bound, if it is known, the rest by lot; all of two bounds."""
        least: list[int] = []
        if self._bound is not None:
            bounded = count // 2 if self._by_lot else count
            least = np.argsort(self._bound, kind="stable")[:bounded].tolist()
        rest = sorted(self._open.keys() - set(least))
        return least + random.Random(self._seed).sample(rest, count - len(least))

    def _promising(self, most: int) -> list[int]:
        best = min(self._costs.values(), default=math.inf)
        gained = best < self._best * (1.0 - _GAIN)
        self._rounds_without_gain = 0 if gained else self._rounds_without_gain + 1
        self._best = best
        if not self._is_bounded and self._rounds_without_gain >= _PATIENCE:
            return []
        open_ = list(self._open)
        if len(self._costs) < 2 or not open_:
            return open_[:most]
        rows = sorted(self._costs)
        costs = np.maximum([self._costs[row] for row in rows], 1e-12)
        if len(rows) < _LEAST:
            told = likely_least(self._features, rows, costs, open_)
        else:
            model = trees(self._seed).fit(self._features[rows], np.log(costs))
            told = model.predict(self._features[open_])
        return [open_[i] for i in np.argsort(told, kind="stable")[:most]]

    def learn(self, configuration: Configuration, cost: float | None) -> None:
        """What the timing model said."""
        if cost is not None:
            self._costs[self._number[name_of(configuration)]] = cost
