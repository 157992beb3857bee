"""The source view's data: sources, SASS and values, each stored once, compact, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from warplens.report.states import colour_of, letter_of
from warplens.report.timeline import timeline_data, timeline_of
from warplens.result import (
    LaunchResult,
    LineTable,
    Number,
    Result,
    ScheduleWindow,
    SourceColumn,
    SourceTable,
    WarpTrace,
)

_WHOLE_FILE_LINES = 3000  # a larger file, such as one of CUDA's headers, is cut to what was run
_AROUND = 12
_SPARSE = 0.6  # a column with more zeros than this is stored as pairs

SHORT = {
    "Instructions Executed": "Inst",
    "Thread Instructions Executed": "Thread inst",
    "Predicated-On Thread Instructions Executed": "Thread inst on",
    "Avg. Threads Executed": "Threads",
    "Avg. Predicated-On Threads Executed": "Threads on",
    "Divergent Branches": "Divergent",
    "Address Space": "Space",
    "Access Operation": "Access",
    "Access Size": "Bits",
    "L1 Tag Requests Global": "Tags",
    "L1 Conflicts Shared N-Way": "N-way",
    "L1 Wavefronts Shared Excessive": "Shared excess",
    "L1 Wavefronts Shared": "Shared wavefronts",
    "L1 Wavefronts Shared Ideal": "Shared ideal",
    "L2 Theoretical Sectors Global Excessive": "Sector excess",
    "L2 Theoretical Sectors Global": "Sectors",
    "L2 Theoretical Sectors Global Ideal": "Sectors ideal",
    "L2 Theoretical Sectors Local": "Local sectors",
    "Warp Stall Cycles": "Stall ~",
}


def source_view(result: Result) -> dict[str, Any]:
    """Everything the source view needs; launches of one kernel share its text."""
    files: dict[str, dict[str, Any]] = {}
    kernels: dict[tuple[Any, ...], int] = {}
    listings: list[dict[str, Any]] = []
    launches: list[dict[str, Any] | None] = []
    used = _used_lines(result)
    for launch in result.launches:
        table = launch.source
        if table is None:
            launches.append(None)
            continue
        for name, text in table.sources.items():
            if name not in files:
                files[name] = {"name": name, "lines": _excerpt(text, used.get(name, set()))}
        key = (launch.mangled, table.sass, table.lines, table.files, table.ptx, table.callers)
        if key not in kernels:
            kernels[key] = len(listings)
            listings.append(_listing(table))
        launches.append(
            {
                "kernel": kernels[key],
                "columns": _columns(table.columns),
                "lines": _line_columns(launch.by_line),
                "warp": _warp(launch.warp),
                "timeline": timeline_data(timeline_of(launch)),
                "schedule": _schedule(launch.schedule),
            }
        )
    return {"files": list(files.values()), "kernels": listings, "launches": launches}


def _warp(trace: WarpTrace | None) -> dict[str, Any] | None:
    """One row per step: instruction, lanes, lanes that execute, changed registers, accesses."""
    if trace is None:
        return None
    rows = [
        [
            step.instruction, step.mask, step.executing,
            [[register, list(values)] for register, values in step.changed],
            [[a.space, a.what, a.size, a.lanes, [list(p) for p in a.pieces]]
             for a in step.accesses],
        ]
        for step in trace.steps
    ]  # fmt: skip
    return {"block": trace.block, "warp": trace.warp, "total": trace.total, "steps": rows}


def _schedule(window: ScheduleWindow | None) -> dict[str, Any] | None:
    """Per warp, the lengths of its states one after another; state -1 is none."""
    if window is None:
        return None
    rows: dict[int, list[list[int]]] = {}
    reached: dict[int, int] = {}
    for warp, begin, end, which, instruction in window.spans:
        spans = rows.setdefault(warp, [])
        at = reached.get(warp, window.first)
        if begin > at:
            spans.append([-1, begin - at, 0])
        if end > max(begin, at):
            spans.append([which, end - max(begin, at), instruction])
            reached[warp] = end
    return {
        "sm": window.sm, "first": window.first, "cycles": window.cycles,
        "subs": window.sub_partitions, "states": window.states,
        "letters": [letter_of(name) for name in window.states],
        "colours": [colour_of(name) for name in window.states],
        "rows": [[warp, rows[warp]] for warp in sorted(rows)],
        "blocks": window.blocks,
    }  # fmt: skip


def _used_lines(result: Result) -> dict[str, set[int]]:
    used: dict[str, set[int]] = {}
    for launch in result.launches:
        if launch.source is not None:
            for file, number in zip(launch.source.files, launch.source.lines, strict=True):
                if file and number:
                    used.setdefault(file, set()).add(number)
            for file, number in {place for calls in launch.source.callers for place in calls}:
                used.setdefault(file, set()).add(number)
    return used


def _excerpt(text: str, used: set[int]) -> list[list[Any]]:
    """Runs of [first line number, [texts]]: the whole file, or what surrounds executed lines."""
    lines = text.splitlines()
    if len(lines) <= _WHOLE_FILE_LINES:
        return [[1, lines]]
    kept = sorted(
        {n for line in used for n in range(line - _AROUND, line + _AROUND + 1)}
        & set(range(1, len(lines) + 1))
    )
    runs: list[list[Any]] = []
    for number in kept:
        if runs and runs[-1][0] + len(runs[-1][1]) == number:
            runs[-1][1].append(lines[number - 1])
        else:
            runs.append([number, [lines[number - 1]]])
    return runs


def _listing(table: SourceTable) -> dict[str, Any]:
    calling = {file for calls in table.callers for file, _ in calls}
    names = sorted(calling | {file for file in (*table.files, *table.ptx_files) if file})
    position = {name: index for index, name in enumerate(names)}
    ptx = zip(table.ptx, table.ptx_files, table.ptx_lines, strict=True)
    return {
        "addresses": list(table.addresses),
        "sass": list(table.sass),
        "names": names,
        "files": [-1 if file is None else position[file] for file in table.files],
        "lines": [line or 0 for line in table.lines],
        "callers": {str(i): [[position[file], line] for file, line in calls]
                    for i, calls in enumerate(table.callers) if calls},
        "ptx": [[text, -1 if file is None else position[file], line or 0]
                for text, file, line in ptx],
    }  # fmt: skip


def _line_columns(table: LineTable | None) -> dict[str, Any] | None:
    if table is None:
        return None
    names = sorted(set(table.files))
    position = {name: index for index, name in enumerate(names)}
    return {
        "names": names,
        "files": [position[file] for file in table.files],
        "lines": list(table.lines),
        "columns": _columns(table.columns),
    }


def _columns(columns: Iterable[SourceColumn]) -> list[dict[str, Any]]:
    """Columns in which something happened."""
    return [
        {
            "short": SHORT.get(column.heading, column.heading.removeprefix("stall_")),
            "heading": column.heading,
            "unit": column.unit,
            "basis": column.basis,
            "text": any(isinstance(value, str) for value in column.values),
            "values": packed(column.values),
        }
        for column in columns
        if any(value not in (None, 0, 0.0, "") for value in column.values)
    ]


def packed(values: Sequence[Number]) -> Any:
    """A list, or [[positions], [values]] under "at" and "is" where most are zero."""
    rounded = [_rounded(value) for value in values]
    zeros = sum(value in (None, 0) for value in rounded)
    if zeros <= _SPARSE * len(rounded):
        return rounded
    kept = [index for index, value in enumerate(rounded) if value not in (None, 0)]
    return {"at": kept, "is": [rounded[index] for index in kept], "n": len(rounded)}


def _rounded(value: Number) -> Number:
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 3)
    return value


def script_json(document: Any) -> str:
    """JSON that may stand inside a script element, whatever text it holds."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "replace").decode("utf-8")


def has_source(launch: LaunchResult) -> bool:
    """Whether the launch has a source page."""
    return launch.source is not None and bool(launch.source.sass)
