"""Kernels that other people measured: case files, counts and times compared with their figures.

A case file is TOML: `title`, `url`, `commit` and `date` of the source, `part` ("tuning" or
"validation"), `gpu`, `clock`, `kernels` (a CUDA file, relative), and `[[case]]` tables with `name`,
`kernel`, `grid`, `block`, `arguments` (as for `--arg`) and what was published: `time_ns`, and
`counters` by metric. Numbers are compared to the digits that were printed; `{here}` in an argument
is the file's folder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from warplens.errors import InputError, WarplensError
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec, override
from warplens.session.device import Device
from warplens.session.kernel import Kernel
from warplens.session.launch import Launch
from warplens.session.options import LaunchOptions
from warplens.validation.measured import DURATION, Comparison

_REQUIRED = frozenset({"title", "part", "gpu", "clock", "kernels", "case"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One published launch.

    Attributes:
        clock: "base", "boost" or MHz; memory_mhz: the DRAM clock that was printed, 0: the card's.
        ladder: cases of one name are ranked against each other.
        common_factor: clocks are not known: times of a ladder are compared after one factor.
        repeat: published work over the work of our launch, where a loop was shortened.
        whole: run every block for the counts; otherwise they are a sample's, scaled.
        noise: by metric, the share by which the hardware's count may lie above and below.
        causes: by metric, why a count is known to differ.
    """

    source: str
    part: str
    name: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    arguments: tuple[str, ...]
    gpu: str
    clock: str | float
    memory_mhz: float
    kernels: Path
    options: tuple[str, ...]
    ladder: str
    common_factor: bool
    repeat: float
    whole: bool
    time_ns: float | None
    counters: Mapping[str, Decimal] = field(hash=False)
    noise: Mapping[str, float] = field(hash=False)
    causes: Mapping[str, str] = field(hash=False)

    @property
    def title(self) -> str:
        """Source and name."""
        return f"{self.source}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """One published count beside ours.

    Attributes:
        verdict: "equal", "noise" (within what the source's hardware adds), "explained", "differs".
    """

    metric: str
    ours: float | None
    published: Decimal
    verdict: str
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A case with its predicted time in ns and its counts; or why it could not run."""

    case: Case
    time_ns: float | None = None
    counts: tuple[Count, ...] = ()
    problem: str = ""

    def comparison(self) -> Comparison:
        """The time, as the other case files give it."""
        predicted: dict[str, float | str] = {}
        if self.time_ns is not None:
            predicted[DURATION] = self.time_ns
        measured = self.case.time_ns
        return Comparison(
            file=self.case.source, name=self.case.name, part=self.case.part, predicted=predicted,
            measured={} if measured is None else {DURATION: measured}, problem=self.problem,
        )  # fmt: skip


def read_published(path: Path) -> tuple[Case, ...]:
    """The cases of a file.

    Raises:
        InputError: it cannot be read or is no case file.
    """
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text, parse_float=Decimal)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from error
    if not document.keys() >= _REQUIRED:
        raise InputError(f"{path} is not a file of published cases")
    return tuple(_case(path, document, entry) for entry in document["case"])


def _case(path: Path, document: Mapping[str, Any], entry: Mapping[str, Any]) -> Case:
    def of(key: str, default: Any = None) -> Any:
        return entry.get(key, document.get(key, default))

    clock, time = of("clock"), entry.get("time_ns")
    return Case(
        source=path.stem, part=document["part"], name=entry["name"], kernel=entry["kernel"],
        grid=tuple(entry["grid"]), block=tuple(entry["block"]), shared=entry.get("shared", 0),
        arguments=tuple(text.replace("{here}", str(path.parent)) for text in of("arguments", ())),
        gpu=of("gpu"), common_factor=of("common_factor", False),
        clock=clock if isinstance(clock, str) else float(clock),
        memory_mhz=float(of("memory_mhz", 0)), kernels=path.parent / of("kernels"),
        options=tuple(of("options", ())), ladder=entry.get("ladder", ""),
        repeat=float(entry.get("repeat", 1)), whole=entry.get("whole", False),
        time_ns=None if time is None else float(time),
        counters={key: Decimal(value) for key, value in entry.get("counters", {}).items()},
        noise={key: float(value) for key, value in of("noise", {}).items()},
        causes=dict(of("causes", {})),
    )  # fmt: skip


def device_of(case: Case, *, timing: bool = True) -> Device:
    """The GPU of a case at the clocks of its measurement."""
    gpu: GpuSpec = find_gpu(case.gpu)
    if case.memory_mhz:
        bandwidth = round(2e6 * case.memory_mhz * gpu.dram_bus_bits / 8)
        gpu = override(gpu, {
            "clock.memory_mhz": case.memory_mhz, "dram.bandwidth_bytes_per_second": bandwidth,
        }, source="printed with the measurement")  # fmt: skip
    options = LaunchOptions(timing=timing, show_progress=False)
    return Device(gpu, clock=case.clock, options=options)


def run_published(cases: Iterable[Case], argument: Callable[[str], Any]) -> Iterator[Outcome]:
    """Predicts the time and counts of cases; `argument` makes an argument from its text."""
    for case in cases:
        yield outcome(case, argument)


def outcome(case: Case, argument: Callable[[str], Any]) -> Outcome:
    """Predicts the time and counts of a case, on a device of its own."""
    try:
        return _run(case, argument)
    except WarplensError as error:
        return Outcome(case=case, problem=str(error).splitlines()[0])


def _run(case: Case, argument: Callable[[str], Any]) -> Outcome:
    kernel = kernel_of(case)
    shape = case.grid, case.block, 0, case.shared
    values = [argument(text) for text in case.arguments]
    predicted: Launch | None = None
    if case.time_ns is not None or not case.whole:
        predicted = kernel.predict[shape](*values)
    counted = predicted
    if case.whole and case.counters:
        counted = kernel_of(case, timing=False)[shape](*values)
    time = predicted.metric(DURATION) if predicted is not None and case.time_ns else None
    counts = () if counted is None else tuple(
        judge(case, metric, counted.metric(metric), value)
        for metric, value in case.counters.items()
    )  # fmt: skip
    measured = float(time) * case.repeat if isinstance(time, int | float) else None
    return Outcome(case=case, time_ns=measured, counts=counts)


def kernel_of(case: Case, *, timing: bool = True) -> Kernel:
    """The kernel of a case, compiled for its GPU."""
    names = [case.kernel] if "<" in case.kernel else []
    device = device_of(case, timing=timing)
    module = device.compile(case.kernels, options=case.options, name_expressions=names)
    return module[case.kernel]


def judge(case: Case, metric: str, ours: object, published: Decimal) -> Count:
    """Compares a count with the published one, to the digits that were printed."""
    number = float(ours) if isinstance(ours, int | float) else None
    cause = case.causes.get(metric, "")
    if number is not None and _printed(number, published) == published:
        return Count(metric=metric, ours=number, published=published, verdict="equal")
    tolerance = case.noise.get(metric)
    if number is not None and tolerance is not None:
        difference = float(published) - number
        base = max(abs(number), abs(float(published)))
        if abs(difference) <= tolerance * base:
            return Count(metric=metric, ours=number, published=published, verdict="noise")
    verdict = "explained" if cause else "differs"
    return Count(metric=metric, ours=number, published=published, verdict=verdict, cause=cause)


def _printed(number: float, like: Decimal) -> Decimal:
    """A number with as many decimals as another one."""
    exponent = like.as_tuple().exponent
    digits = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    return Decimal(round(number * 10**digits)).scaleb(-digits)


def split_of(sources: Iterable[str], seed: int) -> frozenset[str]:
    """The half of the sources that nothing is tuned on."""
    import random

    names = sorted(sources)
    random.Random(seed).shuffle(names)
    return frozenset(names[: len(names) // 2])
