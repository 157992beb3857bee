"""Launches with everything a report shows, results of several, and comparisons of two."""

from __future__ import annotations

from dataclasses import dataclass, field

from warplens.result.pictures import Charts, ScheduleWindow, WarpTrace
from warplens.result.system import SystemTimeline
from warplens.result.values import LineTable, Section, SourceTable, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchResult:
    """Everything a report shows of one launch.

    Attributes:
        kernel_name: the demangled signature; function_name: bare; mangled: as in the cubin.
        metrics: full metric name -> value, as the raw page shows them.
        notes: sentences about how the run was made, such as why blocks ran in order.
        properties: anything else worth keeping, as text (GPU clocks, options).
    """

    id: int
    kernel_name: str
    function_name: str
    mangled: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    gpu: str
    compute_capability: tuple[int, int]
    process_id: int
    process_name: str
    host: str = "127.0.0.1"
    context: int = 1
    stream: int = 7
    device: int = 0
    sections: tuple[Section, ...] = ()
    metrics: dict[str, Value] = field(default_factory=dict)
    source: SourceTable | None = None
    by_line: LineTable | None = None
    notes: tuple[str, ...] = ()
    output: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    charts: Charts | None = None
    warp: WarpTrace | None = None
    schedule: ScheduleWindow | None = None

    def section(self, name: str) -> Section:
        """The section of that identifier or title."""
        for section in self.sections:
            if name in (section.identifier, section.title):
                return section
        raise KeyError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A profile: launches and, of a whole program, what it did over time."""

    launches: tuple[LaunchResult, ...]
    writer: str = ""
    timeline: SystemTimeline | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One metric on both sides; None where a side does not have it.

    `is_better` tells whether the change is a good sign; None where that depends.
    """

    metric: str
    before: Value | None
    after: Value | None
    percent: float | None
    is_better: bool | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the two values differ."""
        old = None if self.before is None else self.before.number
        new = None if self.after is None else self.after.number
        return old != new

    def is_visible(self, decimals: int) -> bool:
        """Whether the values differ by so much that so many decimals of a percent show it."""
        is_small = self.percent is not None and abs(self.percent) < 0.5 * 10.0**-decimals
        return self.is_changed and not is_small


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchComparison:
    """Two launches of one kernel, or one that only one side has."""

    before: str
    after: str
    changes: tuple[Change, ...]
    reasons: tuple[str, ...] = ()  # sentences: what changed most, and what explains it


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All pairs of launches, in the order of the first result."""

    launches: tuple[LaunchComparison, ...]
