"""Which metrics say most about a launch, and whether more of them is better or worse."""

from __future__ import annotations

import re

# Metrics by what a reader asks first: how long, how much work, how much memory, how well filled.
_FIRST = (
    "gpu__time_duration.sum",
    "gpc__cycles_elapsed.max",
    "sm__cycles_active.avg",
    "smsp__inst_executed.sum",
    "memory_l2_theoretical_sectors_global",
    "dram__bytes.sum",
    "lts__t_sectors.sum",
    "memory_l1_wavefronts_shared",
    "derived__memory_l1_wavefronts_shared_excessive",
    "derived__memory_l2_theoretical_sectors_global_excessive",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "launch__registers_per_thread",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
)
_RANK = {name: rank for rank, name in enumerate(_FIRST)}
# How busy a pipe is says which one the kernel uses; settings say nothing about it at all.
_NEITHER = re.compile(r"^profiler__|pipe_\w+\.(avg|max|min)\.pct_of_peak|_op_\w+_pct$")
# Their names hold words of what is good: an issue that stalled, warps that were active meanwhile.
_WAITING = re.compile(r"issue_stalled|warp_latency|warps_active_per_inst")
_BETTER = re.compile(
    r"hit_rate|warps_active|maximum_warps|occupancy|per_inst_executed|threads_uniform|"
    r"branch_efficiency|bytes_per_sector|inst_(executed|issued).*per_cycle|ipc|"
    r"throughput|per_second|issue_active|_ideal_pct|warps_eligible",
)
_WORSE = re.compile(
    r"duration|cycles_elapsed|cycles_active\.(avg|max|sum)$|inst_executed|inst_issued|sectors|"
    r"requests|bytes|conflict|wavefront|excessive|divergent|stall|spill|local|misses|"
    r"registers_per_thread|shared_mem_per_block|not_selected|replay|tags?_",
)


def rank(metric: str, percent: float | None) -> tuple[int, float, str]:
    """Sorts changes: what is asked first, then by size; new and vanished values come last."""
    size = 0.0 if percent is None else abs(percent)
    return _RANK.get(metric, len(_FIRST)), -size, metric


def more_is_better(metric: str) -> bool | None:
    """Whether a growing value is a good sign; None where it depends."""
    if _NEITHER.search(metric):
        return None
    if _WAITING.search(metric):
        return False
    if _BETTER.search(metric):
        return True
    return False if _WORSE.search(metric) else None
