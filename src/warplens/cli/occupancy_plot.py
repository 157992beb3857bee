"""Draws an occupancy curve: block characters for the terminal, SVG or PNG through matplotlib."""

from __future__ import annotations

import pathlib
from importlib.util import find_spec
from typing import TYPE_CHECKING

from warplens.errors import InputError, WarplensError

if TYPE_CHECKING:
    from warplens.occupancy_calculator.curve import Curve

_EIGHTHS = " ▁▂▃▄▅▆▇█"
# The Okabe-Ito colours: readers with any colour vision can tell them apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def terminal_plot(curve: Curve, *, columns: int = 64, rows: int = 8) -> list[str]:
    """The curve as lines of text; the present value is marked under the axis."""
    import numpy as np

    count = min(columns, len(curve.values))
    edges = np.linspace(0, len(curve.values), count + 1).astype(int)
    starts, ends = edges[:-1], edges[1:]
    # A column shows the lowest occupancy of its values, so that no cliff is hidden.
    heights = [curve.occupancy[a:b].min() * rows for a, b in zip(starts, ends, strict=True)]
    here = int(np.searchsorted(curve.values, curve.present, side="right")) - 1
    marked = int(np.searchsorted(ends, here, side="right"))
    lines = []
    for row in range(rows - 1, -1, -1):
        label = f"{100 * (row + 1) / rows:>6.1f} % |"
        cells = (_EIGHTHS[int(np.clip(round(8 * (h - row)), 0, 8))] for h in heights)
        lines.append(label + "".join(cells))
    lines.append(" " * 9 + "+" + "-" * count)
    lines.append(" " * (10 + marked) + f"^ {curve.present} ({100 * curve.present_occupancy:.4g} %)")
    left, right = str(curve.values[0]), str(curve.values[-1])
    axis = f"{left}{right.rjust(max(count - len(left), 1))}"
    lines.append(" " * 10 + axis + f"  {curve.label}")
    return lines


def check_plot(path: pathlib.Path, *, overwrite: bool = False) -> None:
    """Refuses what `save_plot` would refuse, before anything is computed or printed.

    Raises:
        InputError: another ending, or a file that exists and may not be overwritten.
        WarplensError: matplotlib is not installed.
    """
    if path.suffix not in (".svg", ".png"):
        raise InputError(f"{path}: a plot is a .svg or .png file")
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists", hint="Use -f to overwrite it.")
    if find_spec("matplotlib") is None:
        raise WarplensError("plot files need matplotlib", hint="pip install matplotlib")


def save_plot(curves: list[Curve], path: pathlib.Path, *, overwrite: bool = False) -> None:
    """Writes the curves (one per GPU, same axis) as SVG or PNG.

    Raises:
        InputError: another ending, or a file that exists and may not be overwritten.
        WarplensError: matplotlib is not installed.
    """
    check_plot(path, overwrite=overwrite)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    for number, curve in enumerate(curves):
        colour = _COLOURS[number % len(_COLOURS)]
        here = 100 * curve.present_occupancy
        label = f"{curve.gpu}, {here:.4g} % at {curve.present}"
        axes.step(curve.values, 100 * curve.occupancy, where="post", label=label, color=colour)
        axes.plot([curve.present], [here], "o", color=colour)
    axes.axvline(curves[0].present, color="#666666", linewidth=0.8, linestyle="--")
    axes.set_xlabel(curves[0].label)
    axes.set_ylabel("theoretical occupancy (%)")
    axes.set_ylim(0, 105)
    axes.legend(loc="upper right")
    axes.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
