"""Names like a name that does not exist, found fast: launches are asked for metrics in loops.

`difflib` compares letter by letter and takes up to 400 ms for all metrics. Here every name has a
set of its groups of three letters, as the bits of one number, and names with most of them in common
are near.
"""

from __future__ import annotations

import heapq
from functools import lru_cache

_BITS = 1021  # a prime: groups that fall on one bit are rare
_LEAST = 0.5  # of the groups of both names must be common


def near_names(name: str, names: tuple[str, ...], most: int = 3) -> list[str]:
    """Up to `most` of `names` that are like `name`, the best first."""
    wanted = _groups(name)
    scored = (
        (2 * (wanted & groups).bit_count() / (size + wanted.bit_count()), candidate)
        for candidate, (groups, size) in zip(names, _index(names), strict=True)
    )
    best = heapq.nlargest(most, scored, key=lambda found: found[0])
    return [candidate for score, candidate in best if score >= _LEAST]


def _groups(name: str) -> int:
    """The groups of three letters, with the beginning and the end marked."""
    codes = f"^{name.casefold()}$".encode()
    bits = 0
    for a, b, c in zip(codes, codes[1:], codes[2:], strict=False):
        bits |= 1 << (a * 961 + b * 31 + c) % _BITS
    return bits


@lru_cache(maxsize=8)
def _index(names: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Every name's groups, and how many they are; made once for each list of names."""
    groups = (_groups(name) for name in names)
    return tuple((bits, bits.bit_count()) for bits in groups)
