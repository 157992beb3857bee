"""Speed of light: how near the launch came to what the GPU can sustain."""

from __future__ import annotations

from warplens.metrics.registry import SectionSpec, rows, section

section(
    SectionSpec(
        identifier="SpeedOfLight",
        title="GPU Speed Of Light Throughput",
        order=10,
        sets=frozenset({"basic", "detailed", "full", "roofline"}),
        rows=rows(
            ("Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
            ("Duration", "gpu__time_duration.sum"),
            (
                "Memory Throughput",
                "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
            ),
            ("Elapsed Cycles", "gpc__cycles_elapsed.max"),
            ("L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active"),
            ("SM Active Cycles", "sm__cycles_active.avg"),
            ("L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
            ("SM Frequency", "gpc__cycles_elapsed.avg.per_second"),
            ("DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
            ("DRAM Frequency", "dram__cycles_elapsed.avg.per_second"),
        ),
        extra=rows(("Waves Per SM", "launch__waves_per_multiprocessor")),
    )
)
