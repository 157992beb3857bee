"""Small pieces of SVG: text, lines and axes, escaped; colours come from the style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]


def text(x: float, y: float, content: str, *, anchor: str = "start", kind: str = "label") -> str:
    """A piece of text; `kind` is its class."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">'
        f"{escape(content)}</text>"
    )


def line(a: Point, b: Point, kind: str) -> str:
    """A straight line."""
    return (
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" class="{kind}"/>'
    )


def path(points: Sequence[Point], kind: str) -> str:
    """Points joined by straight lines."""
    joined = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{joined}" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" '
        f'height="{max(height, 0):.1f}" class="{kind}"/>'
    )


def dot(at: Point, title: str, kind: str = "point") -> str:
    """A point with a tooltip."""
    return (
        f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="5" class="{kind}">'
        f"<title>{escape(title)}</title></circle>"
    )


def figure(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    """The whole picture; `title` is its text alternative."""
    return (
        f'<svg viewBox="0 0 {width} {height}" style="max-width:{1.3 * width:.0f}px" '
        f'role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A linear or logarithmic scale from values to pixels."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value; values outside go to the nearest end."""
        value = min(max(value, self.low), self.high)
        if self.is_log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def short(number: float, unit: str = "") -> str:
    """A number in three digits with its prefix.

    >>> short(4_800_000_000_000, "B/s"), short(0.25), short(12, "op")
    ('4.8 TB/s', '0.25', '12 op')
    """
    for limit, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= limit:
            return f"{number / limit:.3g} {prefix}{unit}"
    return f"{number:.3g} {unit}".rstrip()


def superscript(exponent: int) -> str:
    """Ten to an integer power, for axis labels."""
    digits = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{digits}"
