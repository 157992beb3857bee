"""Names like a name that does not exist, found fast: launches are asked for metrics in loops.

`difflib` compares letter by letter and takes up to 400 ms for all metrics. Here every name has a
row of marks, one for each of its groups of three letters, and names with most of them in common
are near. The table of all metrics is made in a millisecond, when the first name is not found.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

_PLACES = 1021  # a prime: groups that fall on one place are rare
_LEAST = 0.5  # of the groups of both names must be common


def near_names(name: str, names: tuple[str, ...], most: int = 3) -> list[str]:
    """Up to `most` of `names`, which are ASCII, that are like `name`, the best first."""
    marks, sizes = _table(names)
    wanted = list(set(_groups(f"^{name}$").tolist()))
    common = np.count_nonzero(marks[:, wanted], axis=1)
    scores = 2 * common / (sizes + len(wanted))
    best = np.argsort(-scores, kind="stable")[:most]
    return [names[i] for i in best if scores[i] >= _LEAST]


def _groups(text: str) -> npt.NDArray[np.int32]:
    """The place of each group of three letters that follow each other."""
    codes = np.frombuffer(text.casefold().encode(), np.uint8).astype(np.int32)
    return (codes[:-2] * 961 + codes[1:-1] * 31 + codes[2:]) % _PLACES


@lru_cache(maxsize=8)
def _table(names: tuple[str, ...]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """A row of marks for each name, and how many it has; made once for each list of names."""
    lengths = np.fromiter(map(len, names), np.int64, len(names)) + 2  # with beginning and end
    rows = np.repeat(np.arange(len(names)), lengths)
    marks = np.zeros((len(names), _PLACES), np.bool_)
    if names:
        inside = np.flatnonzero(rows[:-2] == rows[2:])  # no group reaches into the next name
        marks[rows[inside], _groups(f"^{'$^'.join(names)}$")[inside]] = True
    return marks, np.count_nonzero(marks, axis=1)
