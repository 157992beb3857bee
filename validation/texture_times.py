"""Predicts the launches of `recorder/texture_times.py` beside an H100.

    python validation/texture_times.py [--out FILE] [NAME ...]

NAME is a part of a launch's name; without one, all are predicted: walks over what L1, L2 and DRAM
hold, which the model is fitted to, by active cycles, and whole kernels, which are for validation,
by duration and active cycles. Behind each the sectors that L2 returns to SMs, sends and looks up.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "recorder"))

import texture_time_cases  # noqa: E402
from texture_times import Bench  # noqa: E402

import warplens as wl  # noqa: E402
from warplens.timing.launch_timing import LaunchTiming  # noqa: E402
from warplens.timing.ranges import Range  # noqa: E402
from warplens.toolchain.nvrtc import compile_source  # noqa: E402

TIME, ACTIVE = "gpu__time_duration.sum", "sm__cycles_active.avg"
OTHERS = (
    "l1tex__m_xbar2l1tex_read_sectors.sum", "l1tex__m_l1tex2xbar_write_sectors.sum",
    "lts__t_sectors_op_read.sum", "dram__bytes_read.sum",
)  # fmt: skip


def warm(timing: LaunchTiming) -> LaunchTiming:
    """The timing of a launch whose lines L2 holds."""
    question = replace(timing.question, held=(Range(0, 1 << 62, near=True),))
    return LaunchTiming(question, timing.sample, timing._unlimited_blocks)


def compared(name: str, kind: str, true: dict[str, float], timing: LaunchTiming,
             metric: str) -> float:  # fmt: skip
    """Prints a line; the error of a metric."""
    found = {one: float(timing.value(one) or 0.0) for one in (TIME, ACTIVE, *OTHERS)}
    errors = {one: found[one] / true[one] - 1 for one in (TIME, ACTIVE)}
    cells = [f"{one.split('__')[1].split('.')[0]} {found[one]:.0f}/{true[one]:.0f}"
             for one in OTHERS if true[one] > 1000]  # fmt: skip
    print(f"{name:45} {kind:10} {true[ACTIVE]:9.0f} cycles {100 * errors[ACTIVE]:+6.1f} %"
          f" {true[TIME]:8.0f} ns {100 * errors[TIME]:+6.1f} % {' '.join(cells)}", flush=True)
    return errors[metric]


def predict(names: list[str]) -> dict[str, list[float]]:
    """Errors by kind of launch."""
    files = {name: json.loads((HERE / "data" / f"{name}_sm90.json").read_text())
             for name in ("texture_times", "texture_programs")}  # fmt: skip
    known = {one: dict(zip(found["metrics"], row, strict=True))
             for found in files.values() for one, row in found["values"].items()}  # fmt: skip
    texts = [(HERE / "recorder" / "kernels" / f"{name}.cu").read_text() for name in files]
    errors: dict[str, list[float]] = defaultdict(list)
    with wl.cuda("H100 SXM5", clock=1980) as card:
        bench = Bench(*(compile_source(text, sm=90).cubin for text in texts))

        def is_asked(one: Any) -> bool:
            return not names or any(part in one.name for part in names)

        for case in filter(is_asked, texture_time_cases.programs()):
            launch, end = bench.program(case)
            launch()
            end()
            timing = card.launches[-1].timing
            error = compared(case.name, "validation", known[case.name], timing, TIME)
            errors["whole kernels"].append(error)
        cases = sorted(texture_time_cases.walks(), key=lambda one: repr(one.image))
        for case in filter(is_asked, cases):
            bench.walk(case)()
            timing = card.launches[-1].timing
            timing = timing if case.is_cold else warm(timing)
            error = compared(case.name, "tuning", known[case.name], timing, ACTIVE)
            parts = case.name.split("/")
            errors[f"{parts[0].split('_')[0]} {_action(parts[0])} {parts[5]}"].append(error)
    return errors


def _action(kernel: str) -> str:
    name = kernel.split("_")[1]
    known = ("read", "write", "add", "most", "turns", "b")
    return next((one for one in known if name.startswith(one)), "texture")


def main() -> None:
    """All of them, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    errors = predict(given.names)
    for kind, found in errors.items():
        size = [abs(one) for one in found]
        beyond = sum(one > 0.25 for one in size)
        print(f"{kind}: {len(size)} launches, mean {100 * mean(size):.1f} %, largest"
              f" {100 * max(size):.1f} %, {beyond} beyond 25 %")  # fmt: skip
    if given.out:
        given.out.write_text(json.dumps(errors))


if __name__ == "__main__":
    main()
