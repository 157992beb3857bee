"""The landscape: the best time over every pair of values of the two weightiest parameters."""

from __future__ import annotations

import html as escaping
from collections.abc import Sequence
from dataclasses import dataclass

from warplens.report.terminal import grid
from warplens.tune.rows import Row

# From the best to the worst: light to dark, so that it reads without colours, too.
_SHADES = ("#fde725", "#a0da39", "#4ac16d", "#1fa187", "#277f8e", "#365c8d", "#46327e", "#440154")
_STEPS = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0)  # of the best: upper ends of the first seven
_DARK = 4  # shades from here on have white text


@dataclass(frozen=True, slots=True, kw_only=True)
class Landscape:
    """The best row of each pair of values; None where no configuration has a value."""

    gpu: str
    across: str
    down: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[Row | None, ...], ...]
    best: float

    def ratio(self, row: Row) -> float:
        """How many times the best of all."""
        return (row.objective or 0.0) / self.best if self.best else 1.0


def landscape(ranked: Sequence[Row], every: Sequence[Row], down: str, across: str) -> Landscape:
    """The map over two parameters: `ranked` has the best first, `every` all values."""
    known: dict[tuple[str, str], Row] = {}
    for row in ranked:
        known.setdefault((_text(row, down), _text(row, across)), row)
    lines, columns = (tuple(dict.fromkeys(_text(r, n) for r in every)) for n in (down, across))
    return Landscape(
        gpu=ranked[0].gpu, across=across, down=down, columns=columns, rows=lines,
        cells=tuple(tuple(known.get((a, b)) for b in columns) for a in lines),
        best=ranked[0].objective or 0.0,
    )  # fmt: skip


def _text(row: Row, name: str) -> str:
    return str(row.configuration[name])


def lines(told: Landscape) -> list[str]:
    """The map for a terminal."""
    cells = [
        (f"{told.down}={name}", *("-" if row is None else f"{told.ratio(row):.2f}" for row in line))
        for name, line in zip(told.rows, told.cells, strict=True)
    ]
    heading = ("", *(f"{told.across}={name}" for name in told.columns))
    title = f"Best of each pair on {told.gpu}, as a multiple of the best of all"
    return [title, *grid(heading, cells), ""]


def html(maps: Sequence[Landscape], text: str) -> str:
    """A page with nothing from elsewhere: the maps, then a text."""
    labels = (*(f"to {step:g}x" for step in _STEPS), "above")
    legend = "".join(f"<span{_style(i)}>{label}</span>" for i, label in enumerate(labels))
    tables = "".join(_map(told) for told in maps)
    return _PAGE.format(maps=tables, legend=legend, text=escaping.escape(text))


def _style(shade: int) -> str:
    ink = "#fff" if shade >= _DARK else "#000"
    return f' style="background:{_SHADES[shade]};color:{ink}"'


def _map(told: Landscape) -> str:
    head = "".join(f"<th scope=col>{escaping.escape(name)}</th>" for name in told.columns)
    lines = "".join(
        f"<tr><th scope=row>{escaping.escape(name)}</th>"
        f"{''.join(_cell(told, row) for row in line)}</tr>"
        for name, line in zip(told.rows, told.cells, strict=True)
    )
    caption = escaping.escape(
        f"{told.gpu}: {told.down} down, {told.across} across; the best of each pair, as a multiple "
        "of the best of all"
    )
    return f"<table><caption>{caption}</caption><tr><td></td>{head}</tr>{lines}</table>"


def _cell(told: Landscape, row: Row | None) -> str:
    if row is None:
        return "<td>-</td>"
    ratio = told.ratio(row)
    shade = next((i for i, step in enumerate(_STEPS) if ratio <= step), len(_STEPS))
    title = f"{row.name}: {(row.time_ns or 0) / 1e3:,.2f} us predicted, {row.limiter}"
    return f'<td{_style(shade)} title="{escaping.escape(title)}">{ratio:.2f}</td>'


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>warplens tune</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em; }}
table {{ border-collapse: collapse; margin: 1em 0; }}
caption {{ text-align: left; padding: .3em 0; }}
td, th {{ padding: .3em .7em; text-align: right; }}
.legend span {{ padding: .2em .6em; }}
pre {{ overflow-x: auto; }}
</style>
<h1>Configurations by predicted time</h1>
<p class="legend">As a multiple of the best: {legend}</p>
{maps}
<h2>Tables</h2>
<pre>{text}</pre>
</html>
"""
