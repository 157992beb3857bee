"""Workload distribution: how evenly the units were busy."""

from __future__ import annotations

from warplens.metrics.registry import SectionSpec, Table, rows, section

_UNITS = (("SM", "sm"), ("L1", "l1tex"), ("L2", "lts"), ("SMSP", "smsp"), ("DRAM", "dram"))

section(
    SectionSpec(
        identifier="WorkloadDistribution",
        title="GPU and Memory Workload Distribution",
        order=100,
        sets=frozenset({"basic", "detailed", "full", "roofline"}),
        rows=rows(
            *((f"Average {label} Active Cycles", f"{unit}__cycles_active.avg")
              for label, unit in _UNITS),
            *((f"Total {label} Elapsed Cycles", f"{unit}__cycles_elapsed.sum")
              for label, unit in _UNITS),
        ),
        tables=(
            Table(
                title="Active Cycles",
                columns=("Unit", "Average", "Minimum", "Maximum", "Sum"),
                rows=tuple(
                    (label, *(f"{unit}__cycles_active.{r}" for r in ("avg", "min", "max", "sum")))
                    for label, unit in _UNITS
                ),
            ),
        ),
    )
)  # fmt: skip
