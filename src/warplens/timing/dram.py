"""DRAM: a bandwidth that all SMs share and a latency; a queue forms when it is asked for more."""

from __future__ import annotations

from warplens.timing.state import Record, stage

IDEAL_DRAM = 1


@stage
def read(sm: Record, spec: Record, sectors: int, begin: float) -> float:
    """When sectors asked for at `begin` are back at L1."""
    sm.dram_read += sectors
    if spec.ideal & IDEAL_DRAM:
        return float(begin + spec.l2_hit)
    cycles = sectors * 32 / spec.dram_rate
    _catch_up(sm, spec, begin)
    sm.dram_free = max(begin, sm.dram_free) + cycles
    sm.dram_busy += cycles
    # Requests of other SMs come at random times: on average they wait as u / (1 - u).
    load = min(0.95, sm.dram_busy / (begin + 1000.0))
    return float(sm.dram_free + spec.dram_latency + spec.dram_queue * load / (1.0 - load))


@stage
def write(sm: Record, spec: Record, sectors: float, begin: float) -> None:
    """Takes the bandwidth of sectors that L2 writes back."""
    sm.dram_write += sectors
    if not spec.ideal & IDEAL_DRAM:
        sm.dram_owed += sectors * 32 * spec.dram_write_cost / spec.dram_rate
        _catch_up(sm, spec, begin)


@stage
def _catch_up(sm: Record, spec: Record, now: float) -> None:
    """Writes in the gaps that reads left until now, and at once what is too much to keep."""
    idle = min(sm.dram_owed, max(0.0, now - sm.dram_free))
    sm.dram_free += idle
    forced = max(0.0, sm.dram_owed - idle - spec.dram_backlog)
    if forced > 0.0:
        sm.dram_free = max(now, sm.dram_free) + forced
    sm.dram_owed -= idle + forced
    sm.dram_busy += idle + forced
