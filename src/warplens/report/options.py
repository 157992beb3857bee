"""How a page is printed; the names are those of the command line."""

from __future__ import annotations

from dataclasses import dataclass

from warplens.errors import InputError

PAGES = ("details", "raw", "source")
UNITS = ("auto", "base")
DETAILS = ("header", "body", "all")
INSTANCES = ("none", "values", "details")
METRIC_NAMES = ("label", "name", "label-name")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintOptions:
    """Print settings.

    Attributes:
        units: "auto" scales bytes, hertz and nanoseconds; "base" does not.
        details: header rows, tables, or all.
        metric_name: what the first column shows.
        always_float: print every number with decimals.
        separators: thousands separators.
        instances: after a metric's value those of its instances, alone or with their keys.
        lines: how many of the hottest source lines the details page lists, where it knows them.
    """

    units: str = "auto"
    details: str = "header"
    metric_name: str = "label"
    always_float: bool = False
    separators: bool = True
    instances: str = "none"
    lines: int = 5

    def __post_init__(self) -> None:
        checks = (
            ("units", self.units, UNITS),
            ("details", self.details, DETAILS),
            ("metric_name", self.metric_name, METRIC_NAMES),
            ("instances", self.instances, INSTANCES),
        )
        for name, value, allowed in checks:
            if value not in allowed:
                raise InputError(f"{name} {value!r} is not one of {', '.join(allowed)}")
