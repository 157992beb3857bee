"""Modelled warp cycles per state, as further columns of the source page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.result import LineTable, SourceColumn, SourceTable

Array = npt.NDArray[Any]
_LEAST = 0.001  # a state with less of all warp cycles has no column of its own


def stalls_of(timing: Any) -> dict[str, Array]:
    """Warp cycles per instruction by state; empty without a timing model."""
    ask = getattr(timing, "stalls_by_instruction", None)
    return {} if ask is None else ask()


def waiting(stalls: dict[str, Array]) -> dict[str, Array]:
    """The states in which a warp waits, the most frequent first."""
    total = sum(float(column.sum()) for column in stalls.values())
    kept = {
        name: column
        for name, column in stalls.items()
        if name != "selected" and column.sum() > _LEAST * total
    }
    return dict(sorted(kept.items(), key=lambda item: -float(item[1].sum())))


def _columns(stalls: dict[str, Array]) -> Iterable[SourceColumn]:
    states = waiting(stalls)
    if not states:
        return
    total = np.sum(list(states.values()), axis=0)
    yield _column("Warp Stall Cycles", "warp_stall_cycles", total)
    for name, column in states.items():
        yield _column(f"stall_{name}", f"warp_stall_cycles_{name}", column)


def _column(heading: str, metric: str, values: Array) -> SourceColumn:
    numbers = tuple(int(n) for n in np.rint(values).tolist())
    return SourceColumn(heading=heading, metric=metric, unit="cycle", basis="model", values=numbers)


def with_stalls(table: SourceTable, stalls: dict[str, Array]) -> SourceTable:
    """The source page with one column per state."""
    return replace(table, columns=(*table.columns, *_columns(stalls)))


def lines_with_stalls(
    lines: LineTable, table: SourceTable, stalls: dict[str, Array]
) -> LineTable:
    """The same per source line."""
    position = {place: i for i, place in enumerate(zip(lines.files, lines.lines, strict=True))}
    groups = [position.get((file or "", line or 0), -1)
              for file, line in zip(table.files, table.lines, strict=True)]  # fmt: skip
    places = np.array(groups, np.int64)
    summed = {}
    for name, column in stalls.items():
        folded = np.zeros(len(lines.lines) + 1)  # the last place takes what has no line
        np.add.at(folded, places, column)
        summed[name] = folded[:-1]
    return replace(lines, columns=(*lines.columns, *_columns(summed)))
