"""What a report reads: launches with sections, metric values and source tables, as plain data."""

from __future__ import annotations

from warplens.result.file import (
    FORMAT,
    SUFFIX,
    VERSION,
    load,
    save,
)
from warplens.result.launch import (
    Change,
    Comparison,
    LaunchComparison,
    LaunchResult,
    Result,
)
from warplens.result.pictures import (
    STATE_LETTERS,
    Charts,
    OccupancyCurve,
    OccupancyStep,
    Roof,
    ScheduleWindow,
    WarpAccess,
    WarpStep,
    WarpTrace,
)
from warplens.result.plain import (
    from_plain,
    to_plain,
)
from warplens.result.values import (
    Body,
    LineTable,
    MetricRow,
    Number,
    Rule,
    Section,
    SourceColumn,
    SourceTable,
    Value,
)

__all__ = [
    "FORMAT",
    "STATE_LETTERS",
    "SUFFIX",
    "VERSION",
    "Body",
    "Change",
    "Charts",
    "Comparison",
    "LaunchComparison",
    "LaunchResult",
    "LineTable",
    "MetricRow",
    "Number",
    "OccupancyCurve",
    "OccupancyStep",
    "Result",
    "Roof",
    "Rule",
    "ScheduleWindow",
    "Section",
    "SourceColumn",
    "SourceTable",
    "Value",
    "WarpAccess",
    "WarpStep",
    "WarpTrace",
    "from_plain",
    "load",
    "save",
    "to_plain",
]
