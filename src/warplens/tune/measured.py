"""Kernel Tuner's cache files and the T4 results of its benchmark hub: read, and written.

A cache file may have been cut off while it was written, as Kernel Tuner allows; anything else that
is broken is refused with its line.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warplens.errors import InputError
from warplens.tune.result import Tuned
from warplens.tune.rows import Row
from warplens.tune.space import Configuration, name_of

_UNITS = {"nanoseconds": 1.0, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9}
_ERRORS = {  # T4's word -> Kernel Tuner's
    "compile": "CompilationFailedConfig", "runtime": "RuntimeFailedConfig",
    "constraints": "InvalidConfig", "timeout": "RuntimeFailedConfig",
    "correctness": "RuntimeFailedConfig",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Times of configurations that somebody measured.

    Attributes:
        times: name of a configuration -> ns; problems: name -> why there is no time.
    """

    device: str
    kernel: str
    parameters: tuple[str, ...]
    times: Mapping[str, float]
    problems: Mapping[str, str]


def read_measured(path: Path) -> Measured:
    """Reads a cache file or T4 results (`.gz` too).

    Raises:
        InputError: naming file and line.
    """
    text = _text(path)
    try:
        document = json.loads(_closed(text))
    except json.JSONDecodeError as error:
        line, lines = error.lineno, text.splitlines()
        shown = lines[line - 1].strip()[:60] if line <= len(lines) else "the file ends"
        raise InputError(f"{path}:{line}: not JSON ({error.msg}): {shown}",
                         hint="Remove the line, or name another file.") from error  # fmt: skip
    if isinstance(document, dict) and isinstance(document.get("cache"), dict):
        return _of_cache(path, text, document)
    if isinstance(document, dict) and isinstance(document.get("results"), list):
        return _of_t4(path, text, document)
    raise InputError(f"{path}:1: neither a cache file of Kernel Tuner nor T4 results")


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error


def _closed(text: str) -> str:
    """Kernel Tuner leaves out the last two brackets of a cache while it may still append."""
    stripped = text.rstrip()
    if '"cache"' not in stripped or stripped.replace("\n", "").replace(" ", "").endswith("}}"):
        return text
    return stripped.removesuffix(",") + "}\n}"


def _line_of(text: str, key: str) -> int:
    at = text.find(key)
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


def _of_cache(path: Path, text: str, document: dict[str, Any]) -> Measured:
    names = document.get("tune_params_keys")
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise InputError(f"{path}:1: tune_params_keys is missing")
    times: dict[str, float] = {}
    problems: dict[str, str] = {}
    for key, row in document["cache"].items():
        where = f"{path}:{_line_of(text, json.dumps(key))}"
        if not isinstance(row, dict) or not set(names) <= set(row):
            raise InputError(f"{where}: {key!r} does not have every parameter")
        name = name_of({one: row[one] for one in names})
        time = row.get("time")
        if isinstance(time, int | float) and "__error__" not in row:
            times[name] = _checked(where, 1e6 * time)
        else:
            problems[name] = str(row.get("__error__", time))
    return Measured(
        device=str(document.get("device_name", "")), kernel=str(document.get("kernel_name", "")),
        parameters=tuple(names), times=times, problems=problems,
    )  # fmt: skip


def _checked(where: str, time: float) -> float:
    if not (math.isfinite(time) and time > 0):
        raise InputError(f"{where}: {time} is no time")
    return time


def _of_t4(path: Path, text: str, document: dict[str, Any]) -> Measured:
    metadata = document.get("metadata", {})
    metadata = metadata if isinstance(metadata, dict) else {}
    unit = str(metadata.get("timeunit", "milliseconds")).lower()
    if unit not in _UNITS:
        raise InputError(f"{path}:{_line_of(text, 'timeunit')}: time unit {unit!r} is not known")
    times: dict[str, float] = {}
    problems: dict[str, str] = {}
    names: tuple[str, ...] = ()
    lines = [text.count("\n", 0, m.start()) + 1 for m in re.finditer(r'"configuration"', text)]
    for number, row in enumerate(document["results"]):
        where = f"{path}:{lines[number] if number < len(lines) else 1}"
        if not isinstance(row, dict) or not isinstance(row.get("configuration"), dict):
            raise InputError(f"{where}: result {number} has no configuration")
        names = tuple(row["configuration"])
        name = name_of(row["configuration"])
        found = _times_of(row)
        if row.get("invalidity") == "correct" and found:
            if not isinstance(found[0], int | float):
                raise InputError(f"{where}: {found[0]!r} is no time")
            times[name] = _checked(where, found[0] * _UNITS[unit])
        else:
            problems[name] = str(row.get("invalidity", "no time"))
    return Measured(device="", kernel="", parameters=names, times=times, problems=problems)


def _times_of(row: Mapping[str, Any]) -> list[Any]:
    """What a result says of its times."""
    every = row.get("measurements")
    found = [one for one in every if isinstance(one, dict)] if isinstance(every, list) else []
    return [one.get("value") for one in found if one.get("name") == "time"]


def cache_text(found: Tuned, gpu: str, kernel: str, space: Mapping[str, Any]) -> str:
    """A cache file of Kernel Tuner's with the predicted times of a GPU, in ms."""
    head = {
        "device_name": f"NVIDIA {gpu} (warplens)", "kernel_name": kernel, "problem_size": "",
        "tune_params_keys": list(space), "objective": "time",
        "tune_params": {name: list(values) for name, values in space.items()}, "cache": {},
    }  # fmt: skip
    lines = [json.dumps(head, indent=0)[:-3]]
    rows = [row for row in found.rows if row.gpu == gpu and (row.time_ns or row.problem)]
    for number, row in enumerate(rows):
        key = ",".join(str(row.configuration[name]) for name in space)
        entry = json.dumps({key: _entry(row)})[1:-1]
        lines.append(entry + ("," if number < len(rows) - 1 else ""))
    return "\n".join(lines) + "}\n}\n"


def _entry(row: Row) -> Configuration:
    entry: Configuration = dict(row.configuration)
    if row.problem or row.time_ns is None:
        return entry | {"__error__": _error(row), "problem": row.problem}
    milliseconds = row.time_ns / 1e6
    return entry | {"time": milliseconds, "times": [milliseconds], "compile_time": 0,
                    "verification_time": 0, "benchmark_time": 0}  # fmt: skip


def _invalidity(row: Row) -> str:
    """T4's word for what became of a configuration."""
    if not row.problem:
        return "correct"
    if row.problem.startswith("wrong result"):
        return "correctness"
    if row.problem.startswith("LimitExceeded"):
        return "timeout"
    return "compile" if row.problem.startswith("CompileError") else "runtime"


def _error(row: Row) -> str:
    return _ERRORS[_invalidity(row)] if row.problem else "InvalidConfig"


def t4_text(found: Tuned, gpu: str) -> str:
    """T4 results of a GPU, by schema 1.0.0."""
    return json.dumps({
        "schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"},
        "results": list(_t4_rows(found, gpu)),
    }, indent=1) + "\n"  # fmt: skip


def _t4_rows(found: Tuned, gpu: str) -> Iterator[dict[str, Any]]:
    for row in found.rows:
        if row.gpu != gpu or not (row.time_ns or row.problem):
            continue
        invalid = _invalidity(row)
        time = (row.time_ns or 0.0) / 1e6
        values = [{"name": "time", "value": time, "unit": "ms"}] if row.time_ns else []
        yield {
            "configuration": row.configuration, "objectives": ["time"], "measurements": values,
            "times": {"compilation_time": 0, "framework": 0, "search_algorithm": 0,
                      "validation": 0, "runtimes": [time] if row.time_ns else []},
            "invalidity": invalid, "correctness": 0 if invalid == "correctness" else 1,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Predicted beside measured times.

    Attributes:
        tau: Kendall's; loss_percent: how much slower the predicted best is than the true best;
            error_percent: mean error after one common factor.
    """

    configurations: int
    tau: float
    loss_percent: float
    error_percent: float

    def __str__(self) -> str:
        return (f"{self.configurations:,} configurations beside measured ones: Kendall's tau "
                f"{self.tau:.2f}, the predicted best {self.loss_percent:.1f} % above the true "
                f"best, mean error {self.error_percent:.1f} % after a common factor")  # fmt: skip


def agreement(found: Tuned, measured: Measured, gpu: str | None = None) -> Agreement:
    """Compares a search with measured times, over the configurations that both have.

    Raises:
        InputError: they have fewer than two in common.
    """
    pairs = [
        (row.time_ns, measured.times[row.name])
        for row in found.of(gpu) if row.name in measured.times and row.time_ns is not None
    ]  # fmt: skip
    if len(pairs) < 2:
        raise InputError("the measured times are of other configurations",
                         hint=f"They are of {', '.join(measured.parameters)}.")  # fmt: skip
    logs = [math.log(predicted / true) for predicted, true in pairs]
    factor = math.exp(sorted(logs)[len(logs) // 2])
    best = min(pairs)[1] / min(true for _, true in pairs)
    errors = [abs(predicted / (factor * true) - 1) for predicted, true in pairs]
    return Agreement(
        configurations=len(pairs), tau=kendall(pairs), loss_percent=100 * (best - 1),
        error_percent=100 * sum(errors) / len(errors),
    )  # fmt: skip


def kendall(pairs: list[tuple[float, float]]) -> float:
    """Kendall's tau-b; 0 where one side is all alike."""
    agree = first = second = 0
    for i, (a, b) in enumerate(pairs):
        for c, d in pairs[:i]:
            x, y = int(a > c) - int(a < c), int(b > d) - int(b < d)
            agree, first, second = agree + x * y, first + abs(x), second + abs(y)
    return agree / math.sqrt(first * second) if first and second else 0.0
