"""What L2 holds when a launch begins, of what earlier kernels and copies have used.

Nsight Compute empties the caches before each kernel that it profiles, and so does the model, unless
it is told otherwise: timelines of programs tell it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warplens.timing.ranges import Range
from warplens.timing.state import Ints
from warplens.timing.touched import Touched

LINE = 128
_STEPS = 16  # shares that are told apart
_MOST_OF = 0.4  # of an array between the first and the last line sampled: all of it is used
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moved:
    """An array of a launch, and where the launch has it whose trace is used for this one."""

    base: int
    size: int
    traced: int


def shares(lines: Ints, ranges: Iterable[Range]) -> Floats:
    """Per line number the share of the range that it is in."""
    found = np.zeros(len(lines))
    for one in ranges:
        inside = (lines >= one.start // LINE) & (lines < -(-one.end // LINE))
        found[inside] = one.share
    return found


def spans(touched: Touched, arrays: Iterable[tuple[int, int]]) -> tuple[Range, ...]:
    """What a launch uses of arrays (base, size), from the lines that its sample touches."""
    addresses = np.unique(touched.lines >> 4) * LINE
    found = []
    for base, size in arrays:
        low, high = np.searchsorted(addresses, (base // LINE * LINE, base + size)).tolist()
        if low == high:
            continue
        start = max(base, int(addresses[low]))
        end = min(base + size, int(addresses[high - 1]) + LINE)
        is_all = end - start >= _MOST_OF * size
        found.append(Range(base, base + size) if is_all else Range(start, end))
    return tuple(found)


def translated(ranges: Iterable[Range], moved: Iterable[Moved], *,
               back: bool = False) -> tuple[Range, ...]:  # fmt: skip
    """Ranges of a launch as addresses of the trace; `back`: the other way round."""
    found = []
    places = [(m.traced, m.base, m.size) if back else (m.base, m.traced, m.size) for m in moved]
    for one in ranges:
        for here, there, size in places:
            start, end = max(one.start, here), min(one.end, here + size)
            if start < end:
                found.append(replace(one, start=start - here + there, end=end - here + there))
    return tuple(sorted(found))


def rounded(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Ranges of which L2 holds something, with shares that few launches tell apart."""
    steps = (replace(one, share=round(one.share * _STEPS) / _STEPS) for one in ranges)
    return tuple(one for one in steps if one.share > 0.0)
