"""What a report reads: launches with their sections, metric values and source table, as plain data.

A `.wlens` file is a zip archive of JSON documents and nothing else: `manifest.json` with the format
version, then one `launches/N.json` per launch. Reading one never runs code from it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import types
import typing
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from warplens.errors import ReportError

FORMAT = "warplens-result"
VERSION = 1
SUFFIX = ".wlens"
_MAX_MEMBER_BYTES = 1 << 30  # a larger document is a damaged or hostile file

_SIMPLE = frozenset({int, str, type(None)})

Number = int | float | str | None
T = TypeVar("T")


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
        text = self.number if isinstance(self.number, str) else f"{self.number:,}"
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

    `basis` says where the speed-up comes from (exact, model); `link` is a documentation page.
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


_SYMPTOMS = frozenset(
    {"CPIStall", "IssueSlotUtilization", "AchievedOccupancy", "SOLBottleneck", "LaunchOverhead"}
)


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
    """The SASS of a kernel with its source lines and per-instruction values, in program order."""

    addresses: tuple[int, ...]
    sass: tuple[str, ...]
    files: tuple[str | None, ...]
    lines: tuple[int | None, ...]
    columns: tuple[SourceColumn, ...]
    sources: dict[str, str] = field(default_factory=dict)  # file name -> text


@dataclass(frozen=True, slots=True, kw_only=True)
class LineTable:
    """The same values per source line, in order of file and line."""

    files: tuple[str, ...]
    lines: tuple[int, ...]
    columns: tuple[SourceColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyStep:
    """Inputs from `first` to `last` that give the same number of warps per SM."""

    first: int
    last: int
    warps: int
    limiters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OccupancyCurve:
    """Warps per SM over one resource, with the launch's own point."""

    axis: str
    label: str
    present: int
    max_warps: int
    steps: tuple[OccupancyStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """A line of the roofline: operations/s of a precision, or bytes/s of a memory level."""

    name: str
    rate: float
    kind: str  # "compute" or "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """What plots need beyond sections: occupancy curves, roofs, and metrics by name."""

    curves: tuple[OccupancyCurve, ...] = ()
    roofs: tuple[Roof, ...] = ()
    operations: dict[str, int] = field(default_factory=dict)  # precision -> operations executed
    values: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpAccess:
    """One access of a step: sectors it touches, or words per bank of shared memory."""

    space: str
    what: str  # "load" or "store"
    size: int
    lanes: int
    pieces: tuple[tuple[int, int], ...]  # (sector, lanes in it) or (bank, words of it)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpStep:
    """One executed instruction of a warp: lanes as masks, and the registers it changed."""

    instruction: int
    mask: int
    executing: int
    changed: tuple[tuple[int, tuple[int, ...]], ...] = ()
    accesses: tuple[WarpAccess, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpTrace:
    """A warp stepped through its SASS; `steps` may end before the warp does."""

    block: int
    warp: int
    total: int
    steps: tuple[WarpStep, ...]


# state of a warp -> its letter in schedules and timelines
STATE_LETTERS = {
    "selected": "*", "not_selected": "n", "wait": "w", "long_scoreboard": "L",
    "short_scoreboard": "S", "barrier": "B", "membar": "M", "lg_throttle": "g",
    "mio_throttle": "m", "math_pipe_throttle": "p", "no_instruction": "i",
    "branch_resolving": "b", "dispatch_stall": "d", "imc_miss": "c", "drain": "D",
    "sleeping": "z", "tex_throttle": "t", "gmma": "G", "misc": "?",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleWindow:
    """Some cycles of an SM: what every warp did or waited for.

    Attributes:
        states: names; spans refer to them by position.
        spans: (warp, begin, end, state, instruction) of every stretch of one state.
        blocks: (warp, begin, block): which block a warp belongs to from a cycle on.
    """

    sm: int
    first: int
    cycles: int
    sub_partitions: int
    warps: int
    states: tuple[str, ...]
    spans: tuple[tuple[int, int, int, int, int], ...]
    blocks: tuple[tuple[int, int, int], ...] = ()


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
    """A profile: one or more launches."""

    launches: tuple[LaunchResult, ...]
    writer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One metric on both sides; None where a side does not have it."""

    metric: str
    before: Value | None
    after: Value | None
    percent: float | None

    @property
    def is_changed(self) -> bool:
        """Whether the two values differ."""
        old = None if self.before is None else self.before.number
        new = None if self.after is None else self.after.number
        return old != new


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


def save(result: Result, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Writes a result file; the suffix is appended if missing. Returns the path written."""
    target = Path(path)
    if target.suffix != SUFFIX:
        target = target.with_name(target.name + SUFFIX)
    if target.exists() and not overwrite:
        raise ReportError(f"{target} exists already", hint="Give -f to overwrite it.")
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "writer": result.writer,
        "launches": len(result.launches),
    }
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            _put(archive, "manifest.json", manifest)
            for index, launch in enumerate(result.launches):
                _put(archive, f"launches/{index}.json", to_plain(launch))
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise ReportError(f"cannot write {target}: {error.strerror or error}") from error
    return target


def _put(archive: zipfile.ZipFile, name: str, document: Any) -> None:
    # A fixed date keeps the file a function of its content.
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    archive.writestr(entry, text.encode("utf-8", "surrogatepass"))


def load(path: str | os.PathLike[str]) -> Result:
    """Reads a result file; damaged, foreign or newer files raise ReportError."""
    source = Path(path)
    if not source.exists() and source.suffix != SUFFIX:
        source = source.with_name(source.name + SUFFIX)
    try:
        with zipfile.ZipFile(source) as archive:
            manifest = _document(archive, "manifest.json")
            count = _check_manifest(manifest, source)
            launches = tuple(
                from_plain(LaunchResult, _document(archive, f"launches/{index}.json"))
                for index in range(count)
            )
    except FileNotFoundError as error:
        raise ReportError(f"{source}: no such file") from error
    except OSError as error:
        raise ReportError(f"cannot read {source}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, RecursionError) as error:
        raise ReportError(
            f"{source} is not a warplens result, or it is damaged ({error})",
            hint="Write one with `warplens profile ... -o NAME`.",
        ) from error
    except (NotImplementedError, RuntimeError) as error:  # encrypted or odd compression
        raise ReportError(f"{source} is not a warplens result ({error})") from error
    return Result(launches=launches, writer=str(manifest.get("writer", "")))


def _check_manifest(manifest: Any, source: Path) -> int:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError("its manifest does not name the format")
    version, count = manifest.get("version"), manifest.get("launches")
    if not isinstance(version, int) or not isinstance(count, int) or count < 0:
        raise ValueError("its manifest is malformed")
    if version > VERSION:
        raise ReportError(
            f"{source} has format version {version}; this warplens reads up to {VERSION}",
            hint="Upgrade with `pip install -U warplens`.",
        )
    return count


def _document(archive: zipfile.ZipFile, name: str) -> Any:
    if archive.getinfo(name).file_size > _MAX_MEMBER_BYTES:
        raise ValueError(f"{name} is too large")
    try:
        data = archive.read(name)
    except Exception as error:  # zlib.error is not an OSError or ValueError
        raise ValueError(f"{name}: {error}") from error
    return json.loads(data.decode("utf-8", "surrogatepass"), parse_constant=_refuse_constant)


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def to_plain(value: Any) -> Any:
    """Turns the dataclasses of this module into JSON's types; non-finite numbers become None."""
    if isinstance(value, Value):
        row = [to_plain(value.number), value.unit, value.basis]
        return [*row, to_plain(value.instances)] if value.instances else row
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        if _SIMPLE.issuperset(map(type, value)):  # columns of large kernels
            return list(value)
        return [to_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """Builds a dataclass of this module from JSON's types, checking every type on the way."""
    built = _build(kind, data)
    assert isinstance(built, kind)
    return built


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@cache
def _plain_types(kind: Any) -> frozenset[type]:
    """The JSON types that may stand for `kind` as they are."""
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    return frozenset(k for k in kinds if k in (int, float, str, type(None)))


def _build(kind: Any, data: Any) -> Any:
    if kind is Value:
        return _build_value(data)
    if dataclasses.is_dataclass(kind):
        return _build_dataclass(kind, data)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _build_union(arguments, data)
    if origin is tuple and isinstance(data, list):
        if arguments[1:] == (Ellipsis,) and set(map(type, data)) <= _plain_types(arguments[0]):
            return tuple(data)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_build(arguments[0], item) for item in data)
        if len(arguments) == len(data):
            return tuple(_build(k, item) for k, item in zip(arguments, data, strict=True))
    if origin is dict and isinstance(data, dict):
        return {key: _build(arguments[1], item) for key, item in data.items()}
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(kind, type) and isinstance(data, kind) and not isinstance(data, bool):
        return data
    raise ValueError(f"expected {kind}, found {type(data).__name__}")


def _build_value(data: Any) -> Value:
    if not isinstance(data, list) or len(data) not in (3, 4):
        raise ValueError("a metric value is malformed")
    instances = _build(tuple[tuple[str, int | float], ...], data[3]) if len(data) == 4 else ()
    return Value(_build(Number, data[0]), _build(str, data[1]), _build(str, data[2]), instances)


def _build_dataclass(kind: Any, data: Any) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"expected {kind.__name__}, found {type(data).__name__}")
    hints = _hints(kind)
    unknown = data.keys() - hints.keys()
    if unknown:
        raise ValueError(f"{kind.__name__} has no {sorted(unknown)[0]!r}")
    values = {name: _build(hints[name], item) for name, item in data.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"{kind.__name__} is incomplete") from error


def _build_union(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None and type(None) in kinds:
        return None
    # Plain types first and exactly, so that an int stays an int in `int | float`.
    for kind in kinds:
        if type(data) is kind:
            return data
    for kind in kinds:
        try:
            return _build(kind, data)
        except ValueError:
            continue
    raise ValueError(f"unexpected {type(data).__name__}")
