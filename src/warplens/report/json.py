"""Results as JSON: raw numbers in base units, with unit and basis beside each."""

from __future__ import annotations

import json
from typing import Any

from warplens.report.options import PrintOptions
from warplens.report.rows import section_rows
from warplens.result import LaunchResult, MetricRow, Result, Section, Value, to_plain

_ALL = PrintOptions(details="all")


def json_page(result: Result, *, page: str = "details") -> str:
    """The whole result as one JSON document; `page` adds the raw metrics or the source table."""
    document = {
        "format": "warplens",
        "version": 1,
        "writer": result.writer,
        "launches": [_launch(launch, page) for launch in result.launches],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _value(value: Value) -> dict[str, Any]:
    plain = {"value": to_plain(value.number), "unit": value.unit, "basis": value.basis}
    if value.instances:
        plain["instances"] = [list(pair) for pair in value.instances]
    return plain


def _row(row: MetricRow) -> dict[str, Any]:
    return {"name": row.name, "label": row.label, **_value(row.value)}


def _section(section: Section) -> dict[str, Any]:
    return {
        "identifier": section.identifier,
        "title": section.title,
        "metrics": [_row(row) for row in section_rows(section, _ALL)],
        "tables": [
            {
                "title": body.title,
                "columns": list(body.columns),
                "rows": [
                    [cell if isinstance(cell, str) else _value(cell) for cell in row]
                    for row in body.rows
                ],
            }
            for body in section.bodies
        ],
        "rules": [to_plain(rule) for rule in section.rules],
    }


def _launch(launch: LaunchResult, page: str) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "id": launch.id,
        "kernel": launch.kernel_name,
        "function": launch.function_name,
        "mangled": launch.mangled,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "gpu": launch.gpu,
        "compute_capability": ".".join(map(str, launch.compute_capability)),
        "process": {
            "id": launch.process_id,
            "name": launch.process_name,
            "host": launch.host,
        },
        "context": launch.context,
        "stream": launch.stream,
        "device": launch.device,
        "notes": list(launch.notes),
        "output": launch.output,
        "properties": dict(launch.properties),
        "sections": [_section(section) for section in launch.sections],
    }
    if page in ("raw", "all"):
        plain["metrics"] = {name: _value(v) for name, v in sorted(launch.metrics.items())}
    if page in ("source", "all") and launch.source is not None:
        plain["source"] = to_plain(launch.source)
        plain["by_line"] = to_plain(launch.by_line)
    return plain
