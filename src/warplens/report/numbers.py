"""Units and number formats, as ncu prints them."""

from __future__ import annotations

from warplens.result import Value

NOT_AVAILABLE = "n/a"

_PREFIXES = ("", "K", "M", "G", "T", "P")
_TIMES = ("ns", "us", "ms", "s")


def scaled(number: float, unit: str) -> tuple[float, str]:
    """The number in the largest unit that keeps it at 1 or above; bytes too scale by 1000."""
    if unit == "ns":
        steps = _steps(number, len(_TIMES) - 1)
        return (number if not steps else number / 1000**steps), _TIMES[steps]
    head, slash, tail = unit.partition("/")
    if head not in ("byte", "hz", "FLOP") or tail == "byte":
        return number, unit
    steps = _steps(number, len(_PREFIXES) - 1)
    if not steps:
        return number, unit
    return number / 1000**steps, f"{_PREFIXES[steps]}{head}{slash}{tail}"


def _steps(number: float, most: int) -> int:
    steps = 0
    while steps < most and abs(number) >= 1000 ** (steps + 1):
        steps += 1
    return steps


def number_text(number: float, *, separators: bool, always_float: bool = False) -> str:
    """An integer without decimals, anything else with two; an exact integer prints none."""
    comma = "," if separators else ""
    if always_float:
        return f"{float(number):{comma}.2f}"
    if isinstance(number, int) or float(number).is_integer():
        return f"{int(number):{comma}d}"
    return f"{number:{comma}.2f}"


def cell(
    value: Value, *, units: str = "auto", separators: bool = True, always_float: bool = False
) -> tuple[str, str]:
    """The unit and value columns of one row. `units` is "auto" or "base"."""
    if value.number is None:
        return value.unit, NOT_AVAILABLE
    if isinstance(value.number, str):
        return value.unit, value.number
    number, unit = value.number, value.unit
    if units == "auto":
        number, unit = scaled(number, unit)
    return unit, number_text(number, separators=separators, always_float=always_float)
