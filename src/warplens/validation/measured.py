"""Predicted against measured times: case files, the comparison, and its summary.

A case file is JSON: `gpu`, `clock_mhz`, `source` (CUDA file, relative), `metrics` (the names that
`measured` gives), `origin` (who measured) and `cases`, each with `name`, `part` ("tuning" or
"validation"), `kernel`, `grid`, `block`, `arguments` (as for `--arg`) and `measured`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError, WarplensError
from warplens.session.device import Device
from warplens.session.kernel import Kernel

DURATION, ACTIVE = "gpu__time_duration.sum", "sm__cycles_active.avg"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
STALL = "stall"  # the measured top stall reason, a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One case: what the model says and what was measured, by metric; or why it could not run."""

    file: str
    name: str
    part: str
    predicted: dict[str, float | str]
    measured: dict[str, float | str]
    problem: str = ""

    def error(self, metric: str = DURATION) -> float | None:
        """The relative error of a metric; None where one side lacks it."""
        left, right = self.predicted.get(metric), self.measured.get(metric)
        if isinstance(left, str) or isinstance(right, str) or left is None or not right:
            return None
        return left / right - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Errors of many cases."""

    count: int
    mean: float
    median: float
    p90: float
    worst: float
    rank: float  # Kendall's tau between predicted and measured


def read_cases(path: Path) -> dict[str, Any]:
    """A case file.

    Raises:
        InputError: it cannot be read or is no case file.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from error
    if not isinstance(found, dict) or not {"gpu", "clock_mhz", "source", "cases"} <= found.keys():
        raise InputError(f"{path} is not a file of timing cases")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Cases of a file that one worker predicts: those of one kernel, on a device of their own, so
    that the figures do not depend on who else is at work."""

    path: Path
    gpu: str
    clock: float
    source: Path
    cases: tuple[dict[str, Any], ...]
    argument: Callable[[str], Any]


def batches_of(
    path: Path, argument: Callable[[str], Any], *, part: str = "all", pattern: str = ""
) -> list[Batch]:
    """The cases of a file, by kernel; `argument` makes an argument from its text.

    Raises:
        InputError: as `read_cases`.
    """
    document = read_cases(path)
    kernels: dict[str, list[dict[str, Any]]] = {}
    for case in document["cases"]:
        if part in ("all", case["part"]) and pattern in case["name"]:
            kernels.setdefault(case["kernel"], []).append(case)
    return [
        Batch(path=path, gpu=document["gpu"], clock=document["clock_mhz"], argument=argument,
              source=path.parent / document["source"], cases=tuple(cases))
        for cases in kernels.values()
    ]  # fmt: skip


def compare(batch: Batch) -> list[Comparison]:
    """Predicts the cases of a batch."""
    device = Device(batch.gpu, clock=batch.clock)
    name = batch.cases[0]["kernel"]
    module = device.compile(batch.source, name_expressions=[name] if "<" in name else [])
    buffers: dict[str, Any] = {}

    def made(text: str) -> Any:
        if "[" not in text:
            return batch.argument(text)
        if text not in buffers:
            buffers[text] = device.to_device(batch.argument(text))
        return buffers[text]

    found = []
    for case in batch.cases:
        predicted: dict[str, float | str] = {}
        problem = ""
        try:
            kernel = module[case["kernel"]]
            predicted = _predict(kernel, case, [made(text) for text in case["arguments"]])
        except WarplensError as error:
            problem = str(error).splitlines()[0]
        found.append(Comparison(
            file=batch.path.stem, name=case["name"], part=case["part"], predicted=predicted,
            measured=case["measured"], problem=problem,
        ))  # fmt: skip
    return found


def lost(batch: Batch, problem: str) -> list[Comparison]:
    """What a batch gives whose worker died."""
    return [
        Comparison(file=batch.path.stem, name=case["name"], part=case["part"], predicted={},
                   measured=case["measured"], problem=problem)
        for case in batch.cases
    ]  # fmt: skip


def compare_file(
    path: Path, argument: Callable[[str], Any], *, part: str = "all", pattern: str = ""
) -> Iterable[Comparison]:
    """Predicts the cases of a file, here; arguments as of `batches_of`."""
    for batch in batches_of(path, argument, part=part, pattern=pattern):
        yield from compare(batch)


def _predict(kernel: Kernel, case: dict[str, Any], arguments: list[Any]) -> dict[str, float | str]:
    shape = tuple(case["grid"]), tuple(case["block"]), 0, case.get("shared", 0)
    launch = kernel.predict[shape](*arguments)
    found: dict[str, float | str] = {}
    for metric in case["measured"]:
        if metric == STALL:
            stalls = launch.timing.answers.stalls
            found[metric] = max((s for s in stalls if s != "selected"), key=lambda s: stalls[s])
        else:
            number = launch.metric(metric)
            if isinstance(number, int | float):
                found[metric] = float(number)
    return found


def summarise(comparisons: Iterable[Comparison], metric: str = DURATION) -> Summary | None:
    """Mean, median, 90th percentile and maximum of the errors, and rank correlation."""
    mine = [c for c in comparisons if c.error(metric) is not None]
    if not mine:
        return None
    errors = np.array([abs(c.error(metric) or 0.0) for c in mine])
    left = np.array([c.predicted[metric] for c in mine], float)
    right = np.array([c.measured[metric] for c in mine], float)
    return Summary(
        count=len(mine), mean=float(errors.mean()), median=float(np.median(errors)),
        p90=float(np.percentile(errors, 90)), worst=float(errors.max()), rank=kendall(left, right),
    )  # fmt: skip


def kendall(left: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """Kendall's rank correlation (tau-b)."""
    x, y = np.asarray(left, float), np.asarray(right, float)
    a = np.sign(x[:, None] - x[None, :])
    b = np.sign(y[:, None] - y[None, :])
    both = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / both if both else 0.0


def spearman(left: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """Spearman's rank correlation; equal values share their mean rank."""
    a, b = _ranks(left), _ranks(right)
    spread = float(a.std() * b.std())
    return float(((a - a.mean()) * (b - b.mean())).mean()) / spread if spread else 0.0


def alike(values: npt.ArrayLike, share: float) -> npt.NDArray[np.float64]:
    """The values with those that lie within a share of the next smaller one made equal to it."""
    array = np.asarray(values, float)
    order = np.argsort(array, kind="stable")
    starts = np.concatenate(([True], np.diff(array[order]) > share * array[order][:-1]))
    found = np.empty_like(array)
    found[order] = array[order][starts][np.cumsum(starts) - 1]
    return found


def _ranks(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, float)
    below = (array[None, :] < array[:, None]).sum(axis=1)
    equal = (array[None, :] == array[:, None]).sum(axis=1)
    return np.asarray(below + (equal - 1) / 2.0, float)


def stall_agreement(comparisons: Iterable[Comparison]) -> tuple[int, int]:
    """How many top stall reasons agree, and of how many."""
    mine = [c for c in comparisons if STALL in c.measured and STALL in c.predicted]
    return sum(c.measured[STALL] == c.predicted[STALL] for c in mine), len(mine)


def occupancy_agreement(comparisons: Iterable[Comparison]) -> tuple[int, int]:
    """How many achieved occupancies are within five points, and of how many."""
    pairs = [(c.predicted.get(OCCUPANCY), c.measured.get(OCCUPANCY)) for c in comparisons]
    mine = [(a, b) for a, b in pairs if isinstance(a, float) and isinstance(b, int | float)]
    return sum(abs(a - b) <= 5.0 for a, b in mine), len(mine)
