"""Hand-made results for the report tests."""

from __future__ import annotations

from typing import Any

from warplens.result import (
    Body,
    LaunchResult,
    LineTable,
    MetricRow,
    Result,
    Rule,
    Section,
    SourceColumn,
    SourceTable,
    Value,
)


def row(name: str, label: str, number: int | float | str | None, unit: str = "",
        basis: str = "exact") -> MetricRow:  # fmt: skip
    """One metric row."""
    return MetricRow(name=name, label=label, value=Value(number, unit, basis))


SPEED = Section(
    identifier="SpeedOfLight",
    title="GPU Speed Of Light Throughput",
    order=10,
    rows=(
        row("sm__cycles_active.avg", "SM Active Cycles", 47_121.2, "cycle", "model"),
        row("dram__cycles_elapsed.avg.per_second", "DRAM Frequency", 4_963_609_951.19, "hz",
            "model"),
        row("gpu__time_duration.sum", "Duration", 86_464, "ns", "model"),
        row("gpc__cycles_elapsed.max", "Elapsed Cycles", 51_058, "cycle", "model"),
        row("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "DRAM Throughput", None, "%",
            "model"),
    ),
    rules=(
        Rule(identifier="SOLBottleneck", tag="OPT", text="Look at \"DRAM\" first.",
             speedup_type="global", speedup=98.8634),
        Rule(identifier="LaunchConfiguration", tag="INF", text="Nothing to do."),
    ),
)  # fmt: skip
LAUNCH_STATS = Section(
    identifier="LaunchStats",
    title="Launch Statistics",
    order=70,
    rows=(
        row("launch__grid_size", "Grid Size", 3_125_000),
        row("launch__registers_per_thread", "Registers Per Thread", 16, "register/thread"),
        row("launch__shared_mem_per_block_driver", "Driver Shared Memory Per Block", 1024,
            "byte/block", "spec"),
        row("launch__func_cache_config", "Function Cache Configuration", "CachePreferNone"),
        row("launch__waves_per_multiprocessor", "Waves Per SM", 6.4),
    ),
    extra=(row("launch__sm_count", "# SMs", 24, "SM", "spec"),),
    bodies=(Body(title="Blocks", columns=("Axis", "Size"), rows=(("x", Value(32, "", "exact")),)),),
)  # fmt: skip
SOURCE = SourceTable(
    addresses=(0, 16),
    sass=("LDG.E R2, [R2.64]", "EXIT"),
    files=("k.cu", None),
    lines=(4, None),
    columns=(
        SourceColumn(heading="Instructions Executed", metric="inst_executed", unit="inst",
                     basis="exact", values=(12_500_000, 3)),
        SourceColumn(heading="Address Space", metric="memory_type", unit="", basis="exact",
                     values=("Global", None)),
        SourceColumn(heading="Avg. Threads Executed", metric="x.ratio", unit="", basis="exact",
                     values=(31.5, 32.0)),
    ),
    sources={"k.cu": "<b>&\n"},
)  # fmt: skip
BY_LINE = LineTable(
    files=("k.cu", "k.cu"),
    lines=(1, 4),
    columns=(
        SourceColumn(heading="Instructions Executed", metric="inst_executed", unit="inst",
                     basis="exact", values=(7, 12_500_000)),
        SourceColumn(heading="Divergent Branches", metric="x", unit="", basis="exact",
                     values=(0, 0)),
    ),
)  # fmt: skip


def launch(identifier: int = 0, gpu: str = "RTX 4060", **changes: Any) -> LaunchResult:
    """One launch of `void k<float>(T1 *, int)`."""
    values: dict[str, Any] = {
        "id": identifier,
        "kernel_name": "void k<float>(T1 *, int)",
        "function_name": "k",
        "mangled": "_Z1kIfEvPT_i",
        "grid": (3_125_000, 1, 1),
        "block": (32, 1, 1),
        "gpu": gpu,
        "compute_capability": (8, 9),
        "process_id": 1234,
        "process_name": "k.cu",
        "sections": (SPEED, LAUNCH_STATS),
        "metrics": {r.name: r.value for s in (SPEED, LAUNCH_STATS) for r in s.rows},
        "source": SOURCE,
        "by_line": BY_LINE,
        "notes": ("Blocks ran in order.",),
    }
    return LaunchResult(**{**values, **changes})


RESULT = Result(launches=(launch(),), writer="0.1.0")
