"""Why two launches differ: the counts that changed most, and advice that is new or gone."""

from __future__ import annotations

from collections.abc import Iterator

from warplens.result import LaunchResult, SourceTable
from warplens.wording import change, number

_TIME = "gpu__time_duration.sum"
# metric -> what it is, in a sentence; the order in which they are listed
_CAUSES = {
    "memory_l2_theoretical_sectors_global": "sectors of global accesses",
    "dram__bytes.sum": "bytes moved to and from DRAM",
    "memory_l1_wavefronts_shared": "shared memory wavefronts",
    "smsp__inst_executed.sum": "warp instructions",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "active threads per instruction",
    "launch__registers_per_thread": "registers per thread",
    "sm__maximum_warps_per_active_cycle_pct": "theoretical occupancy (%)",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved occupancy (%)",
    "launch__waves_per_multiprocessor": "waves per SM",
    "l1tex__t_sector_hit_rate.pct": "L1 hit rate (%)",
    "lts__t_sector_hit_rate.pct": "L2 hit rate (%)",
}
_LEAST = 2.0  # percent


def reasons(old: LaunchResult, new: LaunchResult) -> tuple[str, ...]:
    """Sentences about a pair of launches, the time first."""
    return tuple((*_time(old, new), *_causes(old, new), *_lines(old, new), *_advice(old, new)))


def _number(launch: LaunchResult, name: str) -> float | None:
    value = launch.metrics.get(name)
    number = None if value is None else value.number
    return float(number) if isinstance(number, int | float) else None


def _time(old: LaunchResult, new: LaunchResult) -> Iterator[str]:
    if old.gpu != new.gpu:
        yield f"Different GPUs: {old.gpu} -> {new.gpu}."
    before, after = _number(old, _TIME), _number(new, _TIME)
    if not before or not after:
        return
    times = before / after
    told = f"{before / 1000:,.2f} us -> {after / 1000:,.2f} us"
    if abs(times - 1) < _LEAST / 100:
        yield f"Modelled duration about equal: {told}."
    elif times > 1:
        yield f"{times:.2f} times as fast (modelled duration {told})."
    else:
        yield f"{1 / times:.2f} times as slow (modelled duration {told})."


def _causes(old: LaunchResult, new: LaunchResult) -> Iterator[str]:
    for name, what in _CAUSES.items():
        before, after = _number(old, name), _number(new, name)
        if before is None or after is None or before == after:
            continue
        told = f"{what}: {number(before)} -> {number(after)}"
        if not before:
            yield f"{told}."
        elif abs(after - before) >= _LEAST / 100 * abs(before):
            yield f"{told} ({change(100 * (after - before) / abs(before), 0)})."


def _excess(table: SourceTable | None) -> dict[str, tuple[float, str]]:
    """Heading of an excess -> its total and the source line with most of it."""
    found = {}
    for column in () if table is None else table.columns:
        if not column.heading.endswith("Excessive"):
            continue
        numbers = [n if isinstance(n, int | float) else 0 for n in column.values]
        if sum(numbers) and table is not None:
            at = max(range(len(numbers)), key=lambda i: numbers[i])
            file = (table.files[at] or "").rsplit("/", 1)[-1]
            found[column.heading] = (float(sum(numbers)), f"{file}:{table.lines[at]}")
    return found


def _lines(old: LaunchResult, new: LaunchResult) -> Iterator[str]:
    before, after = _excess(old.source), _excess(new.source)
    for heading in sorted(before.keys() | after.keys()):
        a, b = before.get(heading), after.get(heading)
        if a and not b:
            yield f"{heading}: {a[0]:,.0f} -> 0, mostly at {a[1]}."
        elif b and not a:
            yield f"{heading}: 0 -> {b[0]:,.0f}, mostly at {b[1]}."


def _advice(old: LaunchResult, new: LaunchResult) -> Iterator[str]:
    before = {r.identifier: r.title for s in old.sections for r in s.rules if r.tag == "OPT"}
    after = {r.identifier: r.title for s in new.sections for r in s.rules if r.tag == "OPT"}
    for identifier in sorted(before.keys() - after.keys()):
        yield f"Advice that no longer applies: {before[identifier] or identifier}."
    for identifier in sorted(after.keys() - before.keys()):
        yield f"New advice: {after[identifier] or identifier}."
