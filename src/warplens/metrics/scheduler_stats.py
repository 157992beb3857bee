"""Scheduler statistics: how many warps were there, could issue, did issue."""

from __future__ import annotations

from warplens.metrics.registry import SectionSpec, rows, section

section(
    SectionSpec(
        identifier="SchedulerStats",
        title="Scheduler Statistics",
        order=40,
        sets=frozenset({"full"}),
        rows=rows(
            ("Active Warps Per Scheduler", "smsp__warps_active.avg.per_cycle_active"),
            ("No Eligible", "smsp__issue_inst0.avg.pct_of_peak_sustained_active"),
            ("Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active"),
            ("One or More Eligible", "smsp__issue_active.avg.pct_of_peak_sustained_active"),
            ("Issued Warp Per Scheduler", "smsp__issue_active.avg.per_cycle_active"),
        ),
        extra=rows(("Theoretical Warps", "smsp__maximum_warps_avg_per_active_cycle")),
    )
)
