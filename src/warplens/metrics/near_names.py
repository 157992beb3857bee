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
    """Up to `most` of `names` that are like `name`, the best first."""
    marks, sizes = _table(names)
    wanted = list(set(_groups(_spelled(name)).tolist()))
    common = marks[:, wanted].sum(axis=1)
    scores = 2 * common / np.maximum(sizes + len(wanted), 1)
    best = np.argsort(-scores, kind="stable")[:most]
    return [names[i] for i in best if scores[i] >= _LEAST]


def _spelled(name: str) -> bytes:
    """The letters, with the beginning and the end marked."""
    return f"^{name.casefold()}$".encode()


def _groups(text: bytes) -> npt.NDArray[np.int64]:
    """The place of each group of three letters that follow each other."""
    codes = np.frombuffer(text, np.uint8).astype(np.int64)
    return (codes[:-2] * 961 + codes[1:-1] * 31 + codes[2:]) % _PLACES


@lru_cache(maxsize=8)
def _table(names: tuple[str, ...]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """A row of marks for each name, and how many it has; made once for each list of names."""
    spelled = [_spelled(name) for name in names]
    lengths = np.array([len(text) for text in spelled], np.int64)
    rows = np.repeat(np.arange(len(names)), lengths)
    marks = np.zeros((len(names), _PLACES), np.bool_)
    if names:
        inside = rows[:-2] == rows[2:]  # no group reaches into the next name
        marks[rows[:-2][inside], _groups(b"".join(spelled))[inside]] = True
    return marks, marks.sum(axis=1)
