"""Compares modelled timelines of ten programs with those that CUPTI recorded on an H200.

    python validation/programs/timelines.py [NAME ...]

Limits: all kernels of a program together within 15 %, all its copies within 25 %. The edges of
kernels and the size of staging buffers (`gpus/host_link.toml`) were taken from `small` and
`products`; the other eight played no part in them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
RECORDED = HERE.parent / "data/timelines_sm90.json"
WARPLENS = [sys.executable, "-m", "warplens.cli.main"]


def measured(runs: list[list[list[object]]], kind: str) -> float:
    """The mean of the runs' totals in us."""
    totals = [sum(int(str(row[4])) for row in run if row[0] == kind) for run in runs]
    return sum(totals) / len(totals) / 1e3


def modelled(program: Path, name: str) -> tuple[float, float]:
    """Totals of kernels and of copies in us."""
    done = subprocess.run(
        [*WARPLENS, "profile", "--clock", "boost", "--stats", "--json", str(program), name],
        check=True, capture_output=True,
    )  # fmt: skip
    tables = json.loads(done.stdout)
    kernels = sum(row["Total Time (ns)"] for row in tables["cuda_gpu_kern_sum"])
    copies = sum(row["Total Time (ns)"] for row in tables["cuda_gpu_mem_time_sum"]
                 if "memcpy" in row["Operation"])  # fmt: skip
    return kernels / 1e3, copies / 1e3


def main() -> int:
    """Prints a line for each program; 1 if one is over a limit."""
    recorded = json.loads(RECORDED.read_text())["programs"]
    bad = 0
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "timelines"
        source = HERE.parent / "recorder/timelines/programs.cu"
        subprocess.run([*WARPLENS, "build", str(source), "-lineinfo", "-o", str(program)],
                       check=True)  # fmt: skip
        print(f"{'program':12}{'kernels us':>12}{'H200':>10}{'':>8}{'copies us':>12}{'H200':>10}")
        for name in sys.argv[1:] or recorded:
            ours, theirs = modelled(program, name), [
                measured(recorded[name], kind) for kind in ("kernel", "copy")
            ]  # fmt: skip
            off = [100 * (a / b - 1) for a, b in zip(ours, theirs, strict=True)]
            bad += abs(off[0]) > 15 or abs(off[1]) > 25
            print(f"{name:12}{ours[0]:12.1f}{theirs[0]:10.1f}{off[0]:+7.0f}%{ours[1]:12.1f}"
                  f"{theirs[1]:10.1f}{off[1]:+7.0f}%", flush=True)  # fmt: skip
    print(f"{bad} over a limit")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
