"""Runs, steps, predicts, sanitizes and compares: what a worker does with a launch."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from warplens.analysis.compare import compare
from warplens.errors import InputError, WarplensError
from warplens.report.comparison_html import comparison_html
from warplens.report.html import html_page
from warplens.result import LaunchResult, Result, load, save
from warplens.sanitize.finding import Finding
from warplens.session.kernel_arguments import check_count, elsewhere, resolved
from warplens.session.launch import Launch
from warplens.session.written_arguments import parse
from warplens.studio.checking import checked
from warplens.studio.compiling import module_of, placed_arguments, source_name
from warplens.studio.gallery import find_exercise
from warplens.studio.requests import LaunchRequest
from warplens.studio.scripts import code_of
from warplens.version import __version__

_SECTIONS = ("PmSampling", "PmSampling_WarpStates")
_ELEMENTS = 1 << 28  # of all arrays of a launch together


class Runner:
    """Does a worker's launches; the last one is kept for steps through it."""

    def __init__(self, results: Path, folder: Path | None) -> None:
        self._results = results
        self._folder = folder
        self._last: tuple[str, Launch, LaunchRequest] | None = None

    def run(
        self, request: LaunchRequest, identifier: str, exercise: str = ""
    ) -> dict[str, Any]:
        """Runs a launch and keeps its result and its report under an identifier."""
        if request.file.endswith(".py"):
            return self._script(request, identifier)
        kernel, configuration, values = self._prepared(request)
        launch = kernel[configuration](*values)
        self._last = (identifier, launch, request)
        result = self._result(launch, request, request.warp)
        told = {**self._keep(result, identifier), "output": launch.output[:20_000],
                "arrays": _heads(values)}  # fmt: skip
        if exercise:
            told["exercise"] = checked(find_exercise(exercise), request, launch, kernel, values)
        return told

    def step(self, request: LaunchRequest, identifier: str) -> dict[str, Any]:
        """Records another warp of a launch; runs it again if another one came meanwhile."""
        if self._last is None or self._last[0] != identifier:
            self.run(request, identifier)
        assert self._last is not None
        result = self._result(self._last[1], request, request.warp)
        return self._keep(result, identifier)

    def predict(self, request: LaunchRequest) -> dict[str, Any]:
        """The modelled time of a launch, from sampled blocks."""
        kernel, configuration, values = self._prepared(request)
        launch = kernel.predict[configuration](*values)
        told = launch.prediction()
        return {"nanoseconds": told.nanoseconds, "limiter": told.limiter, "gpu": told.gpu,
                "error_percent": told.error_percent, "registers": kernel.registers}  # fmt: skip

    def sanitize(self, request: LaunchRequest) -> dict[str, Any]:
        """Every finding of all checks, with its lines in the source."""
        kernel, configuration, values = self._prepared(request)
        report = kernel.sanitize[configuration](*values, tools="all")
        name = source_name(request, self._folder)
        return {"findings": [_finding(one, name) for one in report.findings]}

    def compare(self, before: str, after: str) -> dict[str, Any]:
        """Writes the page that compares two results."""
        old, new = (load(self._results / f"{name}.wlens") for name in (before, after))
        page = comparison_html(compare(old, new))
        (self._results / f"{before}-{after}.html").write_text(page, encoding="utf-8")
        return {"page": f"{before}-{after}"}

    def opened(self, path: str, identifier: str) -> dict[str, Any]:
        """Takes a result file into the history."""
        result = load(Path(path))
        if not result.launches:
            raise InputError(f"{Path(path).name} has no launches")
        table = result.launches[0].source
        text = "" if table is None else next(iter(table.sources.values()), "")
        return {**self._keep(result, identifier), "source": text}

    def _prepared(self, request: LaunchRequest) -> tuple[Any, tuple[Any, ...], list[Any]]:
        if request.file.endswith(".py"):
            raise InputError("scripts are run as a whole", hint="Use Run; in a terminal, "
                             f"`warplens sanitize {request.file}` checks them.")  # fmt: skip
        module = module_of(request, self._folder)
        if not request.kernel and not module.names:
            raise InputError("the source has no kernel", hint="Templates need name<...>.")
        kernel = module[request.kernel or module.names[0].mangled]
        arguments = placed_arguments(request.arguments, self._folder)
        check_count(kernel, len(arguments))
        values = [elsewhere(text) or parse(text, seed=index)
                  for index, text in enumerate(arguments)]  # fmt: skip
        if sum(getattr(value, "size", 0) for value in values) > _ELEMENTS:
            raise InputError(f"the arrays have more than {_ELEMENTS:,} elements")
        configuration = (request.grid, request.block, 0, request.shared)
        return kernel, configuration, resolved(values, kernel.device)

    def _result(self, launch: Launch, request: LaunchRequest, warp: tuple[int, int]) -> Result:
        blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        if warp[0] >= blocks or warp[1] >= -(-threads // 32):
            warp = (0, 0)
        made = launch.result(section_set="full", sections=_SECTIONS, warp=warp)
        return Result(launches=(replace(made, process_name=request.file),), writer=__version__)

    def _keep(self, result: Result, identifier: str) -> dict[str, Any]:
        save(result, self._results / identifier, overwrite=True)
        page = html_page(result)
        (self._results / f"{identifier}.html").write_text(page, encoding="utf-8")
        return {"id": identifier, "launches": [summary(one) for one in result.launches]}

    def _script(self, request: LaunchRequest, identifier: str) -> dict[str, Any]:
        """Runs a Python script; its launches are those of `warplens profile`."""
        folder = self._folder or self._results
        place = self._results / identifier
        place.mkdir(exist_ok=True)
        script = place / Path(request.file).name
        script.write_text(request.source, encoding="utf-8")
        target = self._results / f"{identifier}.wlens"
        done = subprocess.run(
            [sys.executable, "-m", "warplens.cli.main", "profile", "--gpu", request.gpu,
             "--set", "full", "-f", "-o", str(target), str(script)],
            cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode or not target.exists():
            raise InputError(done.stderr.strip()[-4000:] or "the script launched no kernel")
        result = load(target)
        if not result.launches:
            raise InputError("the script launched no kernel")
        longest = max(result.launches, key=_nanoseconds)
        return {**self._keep(result, identifier), "output": done.stdout[:20_000], "arrays": [],
                "code": code_of(longest, str(script)),
                "lines": _line_values(longest, str(script))}  # fmt: skip


def summary(launch: LaunchResult) -> dict[str, Any]:
    """What the history and the sliders need of a launch."""
    def number(name: str) -> float | None:
        value = launch.metrics.get(name)
        found = None if value is None else value.number
        return float(found) if isinstance(found, int | float) else None

    advice = sorted((rule for section in launch.sections for rule in section.rules),
                    key=lambda rule: rule.rank)  # fmt: skip
    return {
        "kernel": launch.function_name,
        "gpu": launch.gpu,
        "grid": launch.grid,
        "block": launch.block,
        "nanoseconds": number("gpu__time_duration.sum"),
        "instructions": number("smsp__inst_executed.sum"),
        "dram_bytes": number("dram__bytes.sum"),
        "registers": number("launch__registers_per_thread"),
        "occupancy": number("sm__warps_active.avg.pct_of_peak_sustained_active"),
        "limiter": launch.properties.get("limiter", ""),
        "advice": [{"title": rule.title, "line": rule.line or 0} for rule in advice[:3]],
        "lines": _line_values(launch),
    }


def _nanoseconds(launch: LaunchResult) -> float:
    value = launch.metrics.get("gpu__time_duration.sum")
    return float(value.number) if value is not None and isinstance(value.number, int | float) \
        else 0.0  # fmt: skip


def _line_values(launch: LaunchResult, own: str = "") -> dict[str, dict[int, float]]:
    """Per source line of the kernel's own file: warp instructions and stall cycles."""
    table = launch.by_line
    if table is None or launch.source is None or not launch.source.sources:
        return {}
    own = own or next(iter(launch.source.sources))
    wanted = {"Instructions Executed": "instructions", "Warp Stall Cycles": "stalls",
              "L2 Theoretical Sectors Global": "sectors"}  # fmt: skip
    found: dict[str, dict[int, float]] = {}
    for column in table.columns:
        if column.heading in wanted:
            found[wanted[column.heading]] = {
                line: float(value)
                for file, line, value in zip(table.files, table.lines, column.values, strict=True)
                if file == own and isinstance(value, int | float) and value
            }
    return found


def _heads(values: list[Any]) -> list[str]:
    """The first elements of every array after the run."""
    told = []
    for value in values:
        if hasattr(value, "ravel"):
            flat = value.ravel()
            more = ", ..." if flat.size > 8 else ""
            told.append(f"{flat.dtype}[{flat.size}] {', '.join(map(str, flat[:8]))}{more}")
        else:
            told.append(str(value))
    return told


def _finding(one: Finding, name: str) -> dict[str, Any]:
    own = sorted({a.line for a in one.accesses if a.line and a.file == name})
    return {
        "tool": one.tool,
        "check": one.check,
        "severity": one.severity,
        "title": one.title,
        "details": list(one.details),
        "where": one.where,
        "lines": own,
        "advice": one.advice,
        "count": one.count,
    }


def error_of(error: WarplensError) -> dict[str, Any]:
    """An error as the page shows it."""
    notes = [*getattr(error, "__notes__", ())]
    return {"error": {"kind": "refused", "message": "\n".join([str(error), *notes])}}
