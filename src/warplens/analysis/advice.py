"""Advice: rules that read a launch's counters and say what costs time, where, and what helps.

A rule is one decorated function of `advice_counted.py` or `advice_timed.py` that yields findings.
The estimate of a finding that names a resource of the timing model is what a replay without that
resource saves, else the share that the rule computed from counts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from warplens.metrics.assemble import breakdown
from warplens.metrics.counters import Counters, Sources
from warplens.metrics.registry import evaluate
from warplens.result import Rule, Section
from warplens.wording import percent

if TYPE_CHECKING:
    from warplens.timing.model import Model

_MODULES = ("advice_counted", "advice_work", "advice_addresses", "advice_predicates",
            "advice_caches", "advice_timed")
_NO_GAIN = 5.0  # percent: a cause that costs less of the modelled time only informs


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An instruction that stands for a finding, with its share of what was counted."""

    index: int
    file: str | None
    line: int | None
    address: int
    sass: str
    share: float

    @property
    def told(self) -> str:
        """`kernel.cu:12 (60 %)`, or the address where the line is not known."""
        name = f"{self.file.rsplit('/', 1)[-1]}:{self.line}" if self.file else f"{self.address:#x}"
        return f"{name} ({percent(self.share)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule found.

    Attributes:
        percent: estimated speed-up from counts, if the rule has one.
        kind: "global" (of the run time) or "local" (of the part described).
        resource: the timing model's resource or cause whose replay without it estimates better.
        blocks: resident blocks per SM of the replay that estimates better; 0 for none.
        drops: instructions that the replay leaves out.
        loops: instructions whose loads may overlap without those; the estimate is then the middle
            between a replay in which they do not and one in which they all do.
        least: percent of the modelled time below which it only informs.
        basis: where `percent` comes from.
    """

    text: str
    tag: str = "OPT"
    percent: float | None = None
    kind: str = "local"
    resource: str = ""
    blocks: int = 0
    drops: tuple[int, ...] = ()
    loops: tuple[int, ...] = ()
    basis: str = "exact"
    place: Place | None = None
    least: float = _NO_GAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One rule."""

    identifier: str
    section: str
    title: str
    doc: str
    check: Callable[[Context], Iterable[Finding]]


class Context:
    """A launch as rules see it."""

    def __init__(self, sources: Sources, counters: Counters | None = None) -> None:
        self.sources = sources
        self.counters = counters or Counters(sources)
        self.gpu = sources.gpu
        self.execution = sources.execution
        self.kernel = sources.execution.kernel
        self._known: dict[Any, Any] = {}

    def number(self, name: str) -> float | None:
        """A metric's number; None where it is not available."""
        found = evaluate(name, self.counters).number
        return float(found) if isinstance(found, int | float) else None

    def count(self, name: str) -> float:
        """A counted metric's number."""
        return self.number(name) or 0.0

    def sum(self, column: str, **choices: Any) -> float:
        """A counted column over classes of instructions."""
        return float(self.counters.sum(column, **choices))

    @cached_property
    def executed(self) -> Any:
        """Executions of every instruction."""
        return self.sources.execution.columns["inst_executed"]

    def column(self, name: str) -> Any:
        """A counted column, one number per instruction."""
        columns = self.sources.execution.columns
        zeros = np.zeros(len(self.kernel.instructions), np.int64)
        return columns.get(name, zeros)

    def each(self, metric: str) -> Any:
        """A metric's value for every instruction."""
        return np.array([n or 0 for n in breakdown(metric, self.sources)], np.float64)

    def mask(self, attribute: str, *allowed: str | int | bool) -> Any:
        """Which instructions have one of the values of a class attribute."""
        return self.sources.classes.mask(attribute, allowed)

    def worst(self, values: Any) -> Place | None:
        """The instruction with most of something."""
        values = np.asarray(values, np.float64)
        total = values.sum()
        if total <= 0:
            return None
        index = int(values.argmax())
        one = self.kernel.instructions[index]
        same = [
            i for i, other in enumerate(self.kernel.instructions)
            if one.line and (other.file, other.line) == (one.file, one.line)
        ] or [index]  # fmt: skip
        return Place(
            index=index,
            file=one.file,
            line=one.line,
            address=one.address,
            sass=one.text.split(";")[0].strip(),
            share=float(values[same].sum() / total),
        )

    @property
    def model(self) -> Model | None:
        """The timing model of the launch; None without one."""
        return getattr(self.sources.timing, "model", None)

    def saving(
        self, resource: str = "", blocks: int = 0, drops: Sequence[int] = (),
        loops: Sequence[int] = (),
    ) -> float | None:  # fmt: skip
        """Percent of the modelled time that goes without a resource's limits, with so many
        resident blocks, or without some instructions; None without a model."""
        key = (resource, blocks, tuple(drops), tuple(loops))
        found: float | None = self.once(key, lambda: self._saving(resource, blocks, drops, loops))
        return found

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` gives, made once for all rules."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _saving(
        self, resource: str, blocks: int, drops: Sequence[int], loops: Sequence[int]
    ) -> float | None:
        if self.model is not None and (blocks or drops):
            from warplens.timing.causes import saved, with_blocks, without_instructions

            changed = (
                without_instructions(self.model, drops) if drops
                else with_blocks(self.model, blocks)
            )  # fmt: skip
            found = 100.0 * saved(self.model, changed)
            if loops:
                from warplens.analysis.overlap import overlapping

                most = 100.0 * saved(self.model, overlapping(self.model, drops, loops))
                found = (found + max(found, most)) / 2
            return found
        ask = getattr(self.sources.timing, "saving", None)
        return None if ask is None or not resource else 100.0 * float(ask(resource))

    def of_running(self, share: float) -> tuple[float, str]:
        """Percent of the time for a share of the time in which blocks run, and its basis."""
        if self.model is None:
            return 100.0 * share, "exact"
        estimate = self.model.estimate
        return 100.0 * share * estimate.busiest_cycles / estimate.elapsed_cycles, "model"


_RULES: list[Declared] = []
Check = Callable[[Context], Iterable[Finding]]


def rule(identifier: str, *, section: str, title: str) -> Callable[[Check], Check]:
    """Declares a rule; the first line of its docstring is its documentation."""

    def declare(check: Check) -> Check:
        doc = (check.__doc__ or "").strip()
        _RULES.append(
            Declared(identifier=identifier, section=section, title=title, doc=doc, check=check)
        )
        return check

    return declare


@cache
def rules() -> tuple[Declared, ...]:
    """Every rule."""
    for name in _MODULES:
        importlib.import_module(f"warplens.analysis.{name}")
    return tuple(_RULES)


def _shown_file(file: str | None, texts: dict[str, str]) -> str | None:
    name = None if file is None else file.rsplit("/", 1)[-1]
    return name if name in texts else file


def advise(sources: Sources, counters: Counters | None = None,
           texts: dict[str, str] | None = None) -> tuple[tuple[str, Rule], ...]:  # fmt: skip
    """(section identifier, rule) of everything found, in the order of the declarations."""
    context = Context(sources, counters)
    found = []
    for declared in rules():
        for finding in declared.check(context):
            found.append((declared.section, _rule(declared, finding, context, texts or {})))
    return tuple(found)


def _rule(declared: Declared, found: Finding, context: Context, texts: dict[str, str]) -> Rule:
    text, tag = found.text, found.tag
    percent, kind, basis = found.percent, found.kind, found.basis
    if (found.resource or found.blocks or found.drops) and tag == "OPT":
        saving = context.saving(found.resource, found.blocks, found.drops, found.loops)
        if saving is not None:
            percent, kind, basis = saving, "global", "model"
            if saving < found.least:
                tag, percent = "INF", None
                text += " A replay without it is hardly faster: something else limits the launch."
    place = found.place
    return Rule(
        identifier=declared.identifier,
        tag=tag,
        text=text,
        speedup_type=kind if percent is not None else "",
        speedup=None if percent is None else min(max(percent, 0.0), 100.0),
        file=None if place is None else _shown_file(place.file, texts),
        line=None if place is None else place.line,
        address=None if place is None else place.address,
        basis=basis if percent is not None else "",
        title=declared.title,
        link=f"warplens explain {declared.identifier}",
    )


def ranked(found: Sequence[tuple[str, Rule]]) -> tuple[Rule, ...]:
    """All advice, what saves most first; what only informs comes last."""
    return tuple(sorted((one for _, one in found), key=lambda one: one.rank))


def with_advice(
    sections: Sequence[Section], found: Sequence[tuple[str, Rule]]
) -> tuple[Section, ...]:
    """The sections with their rules."""
    return tuple(
        replace(
            section,
            rules=(*section.rules, *(one for name, one in found if name == section.identifier)),
        )
        for section in sections
    )
