"""Writes h200.json from the recorded counters, and rtx4060.json from the published ladder.

    python validation/timing/make_cases.py

What the H200 measured stands in validation/data/counters_sm90.npz: CUPTI's counters, caches flushed
before each launch, SM clock 1980 MHz. The RTX 4060's figures were published by others under Nsight
Compute's names; its clock follows from active cycles over duration.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from suite import CASES, is_pattern, validation_kernels

HERE = Path(__file__).parent
DURATION, ACTIVE = "gpu__time_duration.sum", "sm__cycles_active.avg"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "not_selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip


def h200() -> dict[str, Any]:
    """Every recorded kernel that is more than one access."""
    data = np.load(HERE.parent / "data" / "counters_sm90.npz", allow_pickle=False)
    rows = {str(name): row for row, name in enumerate(data["cases"])}
    columns = {str(name): column for column, name in enumerate(data["metrics"])}
    held = validation_kernels()
    cases = []
    for name, case in CASES.items():
        if is_pattern(name) or name not in rows:
            continue
        values = data["cold"][rows[name]]
        stalls = {r: values[columns[f"smsp__warps_issue_stalled_{r}.sum"]] for r in REASONS}
        measured: dict[str, Any] = {
            m: round(float(values[columns[m]]), 3) for m in (DURATION, ACTIVE, OCCUPANCY)
        }
        measured["stall"] = max(stalls, key=lambda reason: float(stalls[reason]))
        arguments = ["u32[1<<24]=arange", "u32[1<<24]=0", *(f"u32={v}" for v in case.args)]
        cases.append({
            "name": name, "part": "validation" if case.kernel in held else "tuning",
            "kernel": case.kernel, "grid": list(case.grid), "block": list(case.block),
            "shared": case.shared, "arguments": arguments, "measured": measured,
        })  # fmt: skip
    return {
        "gpu": "H200", "clock_mhz": 1980, "source": "../recorder/kernels/counters.cu",
        "origin": "CUPTI on an H200, validation/data/counters_sm90.npz", "cases": cases,
    }  # fmt: skip


def rtx4060() -> dict[str, Any]:
    """The published ladder of 100 million ints."""
    rows = (
        ("one_int<8>", 12_500_000, 8, 14.39, 30287486.94, 10.69),
        ("int4_shared<32>", 3_125_000, 32, 4.59, 9211841.03, 32.71),
        ("int4_registers<32>", 781_250, 32, 1.46, 3380794.09, 98.05),
        ("int4_shuffle<128>", 195_313, 128, 1.52, 3365834.97, 98.04),
    )
    cases = [
        {
            "name": kernel, "part": "tuning", "kernel": kernel, "grid": [grid], "block": [block],
            "arguments": ["i32[100000000]=1", "i32[1]=0", "i32=100000000"],
            "measured": {DURATION: ms * 1e6, ACTIVE: active, DRAM: dram},
        }
        for kernel, grid, block, ms, active, dram in rows
    ]  # fmt: skip
    return {
        "gpu": "RTX 4060", "clock_mhz": 2105, "source": "kernels/block_sums.cu",
        "origin": "a published reduction ladder, Nsight Compute, clocks not locked",
        "cases": cases,
    }  # fmt: skip


def main() -> None:
    """Writes both files."""
    for name, document in (("h200", h200()), ("rtx4060", rtx4060())):
        text = json.dumps(document, indent=1)
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(name, len(document["cases"]))


if __name__ == "__main__":
    main()
