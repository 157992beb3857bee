"""Values with unit and basis, and what holds them: sections, tables, advice, source pages."""

from __future__ import annotations

from dataclasses import dataclass, field

from warplens.wording import number

Number = int | float | str | None
# Advice that names what is felt, not its cause, comes after advice that does.
_SYMPTOMS = frozenset(
    {"CPIStall", "IssueSlotUtilization", "AchievedOccupancy", "SOLBottleneck", "LaunchOverhead"}
)


@dataclass(frozen=True, slots=True)
class Value:
    """One metric's value in base units.

    Attributes:
        number: the value; None where it is not available ("n/a"); a string for settings.
        unit: ncu's unit string, such as "inst" or "byte/block".
        basis: exact, definition, model or spec.
        instances: (correlation id, value) pairs of an instanced metric.
    """

    number: Number
    unit: str
    basis: str
    instances: tuple[tuple[str, int | float], ...] = ()

    @property
    def available(self) -> bool:
        """Whether there is a value at all."""
        return self.number is not None

    def __float__(self) -> float:
        if not isinstance(self.number, int | float):
            raise TypeError(f"{self} is not a number")
        return float(self.number)

    def __str__(self) -> str:
        if self.number is None:
            return "n/a"
        text = self.number if isinstance(self.number, str) else number(self.number, 6)
        return f"{text} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One row of a section: a metric's full name, its label and its value."""

    name: str
    label: str
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """One table of a section, shown with `--print-details all`; cells are ready values or text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value | str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One piece of advice. `tag` is OPT, INF, WRN or ERR; `speedup` is in percent.

    `basis` says where the speed-up comes from (exact, model); `link` is the command that
    explains the rule.
    """

    identifier: str
    tag: str
    text: str
    speedup_type: str = ""  # "global", "local" or empty
    speedup: float | None = None
    file: str | None = None
    line: int | None = None
    address: int | None = None
    basis: str = ""
    title: str = ""
    link: str = ""

    @property
    def rank(self) -> tuple[int, bool, bool, float]:
        """Sorts advice: causes before symptoms, the whole run's gain before local ones."""
        order = {"ERR": 0, "WRN": 1, "OPT": 2, "INF": 3}
        is_late = self.identifier in _SYMPTOMS
        gain = self.speedup or 0.0
        return order.get(self.tag, 4), is_late, self.speedup_type != "global", -gain


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section: header rows, extra rows (details only), tables and rules."""

    identifier: str
    title: str
    order: int
    rows: tuple[MetricRow, ...]
    extra: tuple[MetricRow, ...] = ()
    bodies: tuple[Body, ...] = ()
    rules: tuple[Rule, ...] = ()

    def __getitem__(self, name: str) -> Value:
        """The value of a row, by label or by metric name."""
        for row in (*self.rows, *self.extra):
            if name in (row.name, row.label):
                return row.value
        raise KeyError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceColumn:
    """One column of the source page: its heading, metric name and one value per instruction."""

    heading: str
    metric: str
    unit: str
    basis: str
    values: tuple[Number, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """The SASS of a kernel with its source lines and per-instruction values, in program order.

    `ptx` holds the kernel's PTX line by line, where a source was compiled, with source places of
    its own. `callers` holds the calls that inlined each instruction, as file and line, the nearest
    one first; it is empty where nothing was inlined.
    """

    addresses: tuple[int, ...]
    sass: tuple[str, ...]
    files: tuple[str | None, ...]
    lines: tuple[int | None, ...]
    columns: tuple[SourceColumn, ...]
    sources: dict[str, str] = field(default_factory=dict)  # file name -> text
    ptx: tuple[str, ...] = ()
    ptx_files: tuple[str | None, ...] = ()
    ptx_lines: tuple[int | None, ...] = ()
    callers: tuple[tuple[tuple[str, int], ...], ...] = ()

    def inlined(self, index: int) -> tuple[tuple[str, int], ...]:
        """The calls that inlined an instruction."""
        return self.callers[index] if self.callers else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LineTable:
    """The same values per source line, in order of file and line."""

    files: tuple[str, ...]
    lines: tuple[int, ...]
    columns: tuple[SourceColumn, ...]
