"""Why the best is best: its limiter, what its warps wait for, hit rates, beside the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplens.report.terminal import grid
from warplens.result import Number
from warplens.tune.rows import Row

L1, L2 = "l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct"
_STALL = "smsp__average_warp_latency_issue_stalled_{}.ratio"
_STATES = (
    "long_scoreboard", "short_scoreboard", "lg_throttle", "mio_throttle", "math_pipe_throttle",
    "barrier", "wait", "not_selected", "dispatch_stall", "no_instruction", "drain", "membar",
    "imc_miss", "branch_resolving",
)  # fmt: skip
NAMES = (L1, L2, *(_STALL.format(state) for state in _STATES))


def explained(value: Callable[[str], Number]) -> dict[str, float]:
    """The metrics behind the table, of a launch that ran in full."""
    found = {name: value(name) for name in NAMES}
    return {name: float(one) for name, one in found.items() if isinstance(one, int | float)}


def reasons(ranked: Sequence[Row]) -> list[str]:
    """The best confirmed row beside the next one; nothing if none was confirmed."""
    confirmed = [row for row in ranked if row.status == "confirmed"][:2]
    if not confirmed:
        return []
    cells = [
        (title, *(cell(row) for row in confirmed))
        for title, cell in (
            ("limited by", lambda row: row.limiter or "-"),
            ("warps wait most for", _stall),
            ("L1 hit rate", lambda row: _percent(row, L1)),
            ("L2 hit rate", lambda row: _percent(row, L2)),
            ("occupancy", lambda row: f"{100 * row.facts.get('occupancy', 0):.0f} %"),
            ("registers", lambda row: f"{row.facts.get('registers', 0):.0f}"),
        )
    ]
    return ["", *grid(("", *(row.name for row in confirmed)), cells)]


def _percent(row: Row, name: str) -> str:
    return f"{row.metrics[name]:.0f} %" if name in row.metrics else "-"


def _stall(row: Row) -> str:
    known = {s: row.metrics[n] for s in _STATES if (n := _STALL.format(s)) in row.metrics}
    if not known:
        return "-"
    state = max(known, key=lambda name: known[name])
    return f"{state.replace('_', ' ')} ({known[state]:.1f} cycles an instruction)"
