"""What tuning found: rows by GPU, the best, regrets, what each parameter is worth; and as text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean

from warplens.report.terminal import grid
from warplens.tune.evaluate import TIME
from warplens.tune.landscape import Landscape, html, landscape, lines
from warplens.tune.rows import Row, in_order
from warplens.tune.why import reasons
from warplens.tune.worth import pareto_lines, worth, worth_lines
from warplens.wording import change, count, number

_BEST = 10
_FAILURES = 8


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What a surrogate has learned from.

    Attributes:
        known: how many predictions; error_percent: its mean error on predictions that were left out
            while it learned, a fifth at a time.
    """

    known: int
    error_percent: float


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The result of a search.

    Attributes:
        rows: every configuration on every GPU, in the order of the space.
        stopped: why the search ended before the space did; empty if it did not.
        surrogates: by GPU, if the search had one: rows with the status estimated are its.
    """

    rows: tuple[Row, ...]
    gpus: tuple[str, ...]
    objective: str = TIME
    stopped: str = ""
    surrogates: Mapping[str, Learned] = field(default_factory=dict)

    def of(self, gpu: str | None = None) -> tuple[Row, ...]:
        """The rows of a GPU (default: the first) that have a value, the best first; what a full
        run confirmed comes before what is only predicted, where their order differs."""
        chosen = self.gpus[0] if gpu is None else gpu
        known = [r for r in self.rows if r.gpu == chosen and r.objective is not None]
        ranked = [r for r in known if r.status in ("predicted", "confirmed")]
        return tuple(sorted(ranked, key=lambda r: (r.objective, r.name)))

    @property
    def best(self) -> Row | None:
        """The best configuration of the first GPU; a confirmed one if any was."""
        return self.best_on(self.gpus[0])

    def best_on(self, gpu: str) -> Row | None:
        """The best configuration of a GPU, a confirmed one if any was; of times within 1 % of the
        best, that of the configuration whose code has the least to do."""
        rows = self.of(gpu)
        rows = tuple(r for r in rows if r.status == "confirmed") or rows
        chosen = in_order(rows) if self.objective == TIME else rows
        return chosen[0] if chosen else None

    def estimated(self, gpu: str | None = None) -> tuple[Row, ...]:
        """The rows of a GPU that only a surrogate has a value for, the best first."""
        chosen = self.gpus[0] if gpu is None else gpu
        rows = [r for r in self.rows if r.gpu == chosen and r.estimate is not None]
        return tuple(sorted(rows, key=lambda r: (r.estimate, r.name)))

    def ranking(self, gpu: str | None = None) -> tuple[Row, ...]:
        """Every row of a GPU with a value, the best first: each row's status says whose it is."""

        def value(row: Row) -> float:
            return (row.estimate if row.objective is None else row.objective) or 0.0

        rows = (*self.of(gpu), *self.estimated(gpu))
        return tuple(sorted(rows, key=lambda r: (value(r), r.name)))

    def compromise(self) -> str | None:
        """The name of the configuration whose mean loss over all GPUs is smallest."""
        losses = self.regrets()
        whole = {name: row for name, row in losses.items() if len(row) == len(self.gpus)}
        return min(whole, key=lambda name: (fmean(whole[name].values()), name), default=None)

    def regrets(self) -> dict[str, dict[str, float]]:
        """Configuration -> GPU -> percent above that GPU's best."""
        found: dict[str, dict[str, float]] = {}
        for gpu in self.gpus:
            rows = self.of(gpu)
            for row in rows:
                assert row.objective is not None and rows[0].objective is not None
                loss = 100.0 * (row.objective / rows[0].objective - 1.0) if rows[0].objective else 0
                found.setdefault(row.name, {})[gpu] = loss
        return found

    def effects(self, gpu: str | None = None) -> dict[str, dict[str, float]]:
        """Parameter -> value -> percent by which configurations with it are above the geometric
        mean of all (negative: better)."""
        rows = [r for r in self.of(gpu) if r.objective]
        if not rows:
            return {}
        logs = [math.log(r.objective or 1.0) for r in rows]
        mean = fmean(logs)
        found: dict[str, dict[str, float]] = {}
        for name in rows[0].configuration:
            groups: dict[str, list[float]] = {}
            for row, log in zip(rows, logs, strict=True):
                groups.setdefault(str(row.configuration[name]), []).append(log)
            if len(groups) > 1:
                found[name] = {
                    value: 100.0 * (math.exp(fmean(group) - mean) - 1.0)
                    for value, group in groups.items()
                }
        return found

    def worth(self, gpu: str | None = None) -> dict[tuple[str, ...], float]:
        """(parameter,) or (parameter, parameter) -> the share of the variation that it explains, a
        pair's beyond that of both alone."""
        return worth(self.of(gpu))

    def pareto(self, fact: str = "registers", gpu: str | None = None) -> tuple[Row, ...]:
        """Rows that no other beats in both the objective and a compiled fact."""
        front: list[Row] = []
        for row in self.of(gpu):
            if not front or row.facts.get(fact, 0.0) < front[-1].facts.get(fact, 0.0):
                front.append(row)
        return tuple(front)

    def landscape(self, gpu: str | None = None) -> Landscape | None:
        """The best of every pair of values of the two parameters that matter most; None with fewer
        than two."""
        effects = self.effects(gpu)
        spread = {name: max(v.values()) - min(v.values()) for name, v in effects.items()}
        names = sorted(spread, key=lambda name: -spread[name])[:2]
        if len(names) < 2:
            return None
        chosen = self.gpus[0] if gpu is None else gpu
        every = [row for row in self.rows if row.gpu == chosen]
        return landscape(self.of(gpu), every, *names)

    def html(self) -> str:
        """A page of its own: the landscape of every GPU, then the tables as text."""
        maps = [told for gpu in self.gpus if (told := self.landscape(gpu)) is not None]
        return html(maps, str(self))

    def failures(self) -> tuple[Row, ...]:
        """Configurations that were pruned or failed, with their reasons."""
        return tuple(r for r in self.rows if r.problem)

    def json(self) -> str:
        """Everything as JSON."""
        return json.dumps({
            "objective": self.objective, "gpus": list(self.gpus), "stopped": self.stopped,
            "surrogates": {gpu: asdict(one) for gpu, one in self.surrogates.items()},
            "rows": [asdict(row) for row in self.rows],
        }, indent=1)  # fmt: skip

    def __str__(self) -> str:
        return page(self)


def page(found: Tuned) -> str:
    """The best of every GPU, regrets, effects and failures."""
    text: list[str] = []
    for gpu in found.gpus:
        text += [*_ranking(found, gpu), *reasons(found.of(gpu)), ""]
    if len(found.gpus) > 1:
        text += [*_regrets(found), ""]
    told, first = found.landscape(), found.gpus[0]
    text += [*worth_lines(found.of(), first), *_effects(found)]
    for fact in ("registers", "shared_bytes"):
        text += pareto_lines(found.pareto(fact), fact, first)
    text += [*([] if told is None else lines(told)), *_failures(found.failures())]
    if found.stopped:
        text += [f"Stopped: {found.stopped}."]
    return "\n".join(text).rstrip("\n")


def _ranking(found: Tuned, gpu: str) -> list[str]:
    rows = found.of(gpu)
    if not rows:
        return [f"{gpu}: no configuration has a value"]
    best = found.best_on(gpu)
    assert best is not None
    names = list(rows[0].configuration)
    cells = [
        (*(str(row.configuration[name]) for name in names), _time(row.time_ns),
         _time(row.confirmed_ns), change(100.0 * ((row.objective or 0) / (rows[0].objective or 1)
                                                 - 1.0), 1),
         f"{row.facts.get('registers', 0):.0f}", f"{100 * row.facts.get('occupancy', 0):.0f} %",
         row.limiter)
        for row in rows[:_BEST]
    ]  # fmt: skip
    heading = (*names, "predicted us ~", "full run us ~", "to best", "registers", "occupancy",
               "limited by")  # fmt: skip
    known = f"{count(len(rows), 'configuration')} with a value"
    if best.objective != rows[0].objective and best.status == rows[0].status:
        known += "; of those within 1 % of the first, it has the least to do"
    code = (f"  {line}" for line in best.code.splitlines())
    return [f"{gpu}: best is {best.name} ({known})", *grid(heading, cells), *code,
            *_estimated(found, gpu)]  # fmt: skip


def _estimated(found: Tuned, gpu: str) -> list[str]:
    """What a surrogate says, apart from what was predicted."""
    rows, learned = found.estimated(gpu), found.surrogates.get(gpu)
    if not rows or learned is None:
        return []
    best, value = rows[0], rows[0].estimate or 0.0
    text = f"{value / 1e3:,.2f} us" if found.objective == TIME else f"{value:,.4g}"
    return [
        f"  {count(len(rows), 'other configuration')} only estimated, by a surrogate that learned "
        f"from {number(learned.known)} (mean error of those left out: "
        f"{learned.error_percent:.1f} %); the best of them: {best.name}, about {text}"
    ]


def _time(ns: float | None) -> str:
    return "-" if ns is None else f"{ns / 1e3:,.2f}"


def _regrets(found: Tuned) -> list[str]:
    """What the best of each GPU loses on the others."""
    regrets = found.regrets()
    chosen = {gpu: best.name for gpu in found.gpus if (best := found.best_on(gpu)) is not None}
    compromise = found.compromise()
    rows = [(f"best on {gpu}", name) for gpu, name in chosen.items()]
    if compromise is not None:
        rows.append(("best compromise", compromise))
    cells = [
        (what, name, *(change(regrets[name][gpu], 1) if gpu in regrets[name] else "-"
                       for gpu in found.gpus))
        for what, name in rows
    ]  # fmt: skip
    return ["Loss against each GPU's best", *grid(("", "configuration", *found.gpus), cells)]


def _effects(found: Tuned) -> list[str]:
    """What each parameter's values are worth."""
    effects = found.effects()
    if not effects:
        return []
    cells = [
        (name, value, change(effect, 1))
        for name, values in sorted(
            effects.items(), key=lambda item: min(item[1].values()) - max(item[1].values())
        )
        for value, effect in values.items()
    ]
    title = f"Mean effect of each value on {found.gpus[0]} (negative: faster)"
    return [title, *grid(("parameter", "value", "effect"), cells), ""]


def _failures(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    shown = [f"  {row.name} on {row.gpu}: {row.problem}" for row in rows[:_FAILURES]]
    more = [f"  and {number(len(rows) - _FAILURES)} more"] if len(rows) > _FAILURES else []
    return [f"{count(len(rows), 'configuration')} without a value", *shown, *more]
