"""Where labels of a picture go so that none covers another."""

from __future__ import annotations

from collections.abc import Iterable

from warplens.report.svg import text

Spot = tuple[float, float, str]  # x, baseline and anchor of a text
Area = tuple[float, float, float, float]  # left, top, right, bottom
_WIDTH, _ABOVE, _BELOW = 6.9, 11.0, 4.0  # of a character of 12 px, at most; around the baseline


class Places:
    """What is taken of a picture within its bounds."""

    def __init__(self, left: float, top: float, right: float, bottom: float) -> None:
        self._bounds = (left, top, right, bottom)
        self._taken: list[Area] = []

    def take(self, left: float, top: float, right: float, bottom: float) -> None:
        """Keeps labels away from an area."""
        self._taken.append((left, top, right, bottom))

    def text(self, content: str, spots: Iterable[Spot], *, kind: str) -> str:
        """A text at the first spot that is free; nothing where all are taken, since the table
        below the picture has it, too."""
        for x, y, anchor in spots:
            area = _area(content, x, y, anchor)
            if self._is_free(area):
                self._taken.append(area)
                return text(x, y, content, anchor=anchor, kind=kind)
        return ""

    def _is_free(self, area: Area) -> bool:
        left, top, right, bottom = self._bounds
        inside = area[0] >= left and area[1] >= top - _ABOVE and area[2] <= right
        return inside and area[3] <= bottom and not any(_overlap(area, one) for one in self._taken)


def _area(content: str, x: float, y: float, anchor: str) -> Area:
    width = _WIDTH * len(content)
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
    return left, y - _ABOVE, left + width, y + _BELOW


def _overlap(a: Area, b: Area) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
