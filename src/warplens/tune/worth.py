"""What parameters are worth: the share of the objective's variation that they explain, alone and in
pairs; and as text, with the Pareto front."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warplens.report.terminal import grid
from warplens.tune.rows import Row

_PAIRS = 5
_LEAST = 0.01  # share below which a pair is not worth a line
Floats = npt.NDArray[np.float64]


def worth(rows: Sequence[Row]) -> dict[tuple[str, ...], float]:
    """Share of the variance of the objective's logarithm: of each parameter's groups, and what the
    groups of a pair explain beyond both parameters' sum. Parameters come before pairs, the largest
    first.
    """
    known = [row for row in rows if row.objective]
    logs = np.log([row.objective or 1.0 for row in known])
    total = float(((logs - logs.mean()) ** 2).sum()) if known else 0.0
    if total <= 0.0:
        return {}
    columns = {
        name: one for name in known[0].configuration
        if (one := _indicators([str(row.configuration[name]) for row in known])).shape[1] > 1
    }  # fmt: skip
    single: dict[tuple[str, ...], float] = {
        (name,): _explained(one, logs, total) for name, one in columns.items()
    }
    pairs: dict[tuple[str, ...], float] = {}
    for (a, first), (b, second) in itertools.combinations(columns.items(), 2):
        cells = [f"{row.configuration[a]} {row.configuration[b]}" for row in known]
        both = _explained(_indicators(cells), logs, total)
        alone = _explained(np.hstack([first, second]), logs, total)
        pairs[a, b] = max(0.0, both - alone)
    return {key: found[key] for found in (single, pairs)
            for key in sorted(found, key=lambda one: (-found[one], one))}  # fmt: skip


def _indicators(values: Sequence[str]) -> Floats:
    """A column for each value."""
    return np.array([[float(v == word) for word in dict.fromkeys(values)] for v in values])


def _explained(columns: Floats, logs: Floats, total: float) -> float:
    fitted = columns @ np.linalg.lstsq(columns, logs, rcond=None)[0]
    return 1.0 - float(((logs - fitted) ** 2).sum()) / total


def worth_lines(rows: Sequence[Row], gpu: str) -> list[str]:
    """The shares as a table."""
    found = worth(rows)
    if not found:
        return []
    pairs = [key for key, share in found.items() if len(key) > 1 and share >= _LEAST][:_PAIRS]
    alone = [key for key in found if len(key) == 1]
    cells = [(key[0], f"{100 * found[key]:.0f} %") for key in alone]
    cells += [(" and ".join(key), f"{100 * found[key]:.0f} % more together") for key in pairs]
    title = f"Share of the variation on {gpu} that a parameter explains, and a pair beyond it"
    return [title, *grid(("parameter", "share"), cells), ""]


def pareto_lines(front: Sequence[Row], fact: str, gpu: str) -> list[str]:
    """The front as a table; nothing where the best needs the least as well."""
    if len(front) < 2:
        return []
    best = front[0].objective or 1.0
    cells = [(row.name, f"{(row.objective or 0.0) / best:.2f}", f"{row.facts.get(fact, 0.0):,.0f}")
             for row in front]  # fmt: skip
    title = f"Fewer {fact.replace('_', ' ')} for more time on {gpu}"
    return [title, *grid(("configuration", "of the best", fact.replace("_", " ")), cells), ""]
