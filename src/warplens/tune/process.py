"""A Gaussian process over configurations: what those that were not predicted may cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_LENGTHS = (0.5, 1.0, 2.0, 4.0)  # of features that are scaled to one
_SLOPES = (0.0, 0.3, 3.0)  # how much of the cost each feature may explain by itself
_NOISE = 1e-2
_DEVIATIONS = 0.5  # by which the unknown may be better than the mean
_LEAST = 1e-9


def likely_least(features: Floats, known: Sequence[int], costs: Floats,
                 wanted: Sequence[int]) -> Floats:  # fmt: skip
    """What each wanted row may cost at best: the mean of its logarithm less its deviation.

    The covariance is Matern's of 5/2, plus that of straight lines; length and slope are those
    under which the known costs are the likeliest.
    """
    scaled = _scaled(features)
    logs = np.log(np.maximum(costs, _LEAST))
    spread = float(logs.std()) or 1.0
    values = (logs - logs.mean()) / spread
    mine, others = scaled[list(known)], scaled[list(wanted)]
    far, lines = _squares(mine, mine), mine @ mine.T + 1.0
    chosen: tuple[float, float, float, Any, Any, float] | None = None
    for length, slope in itertools.product(_LENGTHS, _SLOPES):
        matrix = _matern(far / length**2) + slope * lines + _NOISE * np.eye(len(mine))
        try:
            root = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            continue
        weights = np.linalg.solve(root.T, np.linalg.solve(root, values))
        scale = max(_LEAST, float(values @ weights) / len(values))
        likely = -0.5 * len(values) * math.log(scale) - float(np.log(np.diag(root)).sum())
        if chosen is None or likely > chosen[0]:
            chosen = likely, length, slope, root, weights, scale
    if chosen is None:
        return np.zeros(len(wanted))
    _, length, slope, root, weights, scale = chosen
    cross = _matern(_squares(others, mine) / length**2) + slope * (others @ mine.T + 1.0)
    own = 1.0 + slope * ((others**2).sum(1) + 1.0)
    variance = own - (np.linalg.solve(root, cross.T) ** 2).sum(0)
    told: Floats = cross @ weights - _DEVIATIONS * np.sqrt(np.maximum(_LEAST, scale * variance))
    return told


def _scaled(features: Floats) -> Floats:
    """Between -1/2 and 1/2 in every column."""
    low, high = features.min(0), features.max(0)
    scaled: Floats = (features - low) / np.where(high > low, high - low, 1.0) - 0.5
    return scaled


def _squares(a: Floats, b: Floats) -> Floats:
    found: Floats = (a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2.0 * a @ b.T
    return np.maximum(found, 0.0)


def _matern(squares: Floats) -> Floats:
    root = np.sqrt(5.0 * squares)
    found: Floats = (1.0 + root + 5.0 * squares / 3.0) * np.exp(-root)
    return found
