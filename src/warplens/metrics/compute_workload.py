"""Compute workload: instructions per cycle and the busy pipes."""

from __future__ import annotations

from warplens.metrics.registry import SectionSpec, Table, rows, section

_ACTIVE = ("alu", "fma", "fp64", "shared", "tensor")
_PEAK = "avg.pct_of_peak_sustained_active"
_EXECUTED = ("adu", "alu", "cbu", "fma", "fp16", "fp64", "lsu", "tensor", "tex", "uniform", "xu")

section(
    SectionSpec(
        identifier="ComputeWorkloadAnalysis",
        title="Compute Workload Analysis",
        order=20,
        sets=frozenset({"detailed", "full"}),
        rows=rows(
            ("Executed Ipc Elapsed", "sm__inst_executed.avg.per_cycle_elapsed"),
            ("SM Busy", "sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed"),
            ("Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active"),
            ("Issue Slots Busy", "sm__inst_issued.avg.pct_of_peak_sustained_elapsed"),
            ("Issued Ipc Active", "sm__inst_issued.avg.per_cycle_active"),
        ),
        tables=(
            Table(
                title="Pipe Utilization (% of active cycles)",
                columns=("Pipe", "Utilization"),
                rows=tuple(
                    (name.upper(), f"sm__pipe_{name}_cycles_active.{_PEAK}")
                    for name in _ACTIVE
                ),
            ),
            Table(
                title="Pipe Instructions",
                columns=("Pipe", "Instructions", "% of peak"),
                rows=tuple(
                    (
                        name.upper(),
                        f"sm__inst_executed_pipe_{name}.sum",
                        f"sm__inst_executed_pipe_{name}.{_PEAK}",
                    )
                    for name in _EXECUTED
                ),
            ),
        ),
    )
)
