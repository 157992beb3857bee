"""Predicts whole Hopper kernels (`recorder/gemm_cases.py`, `further_cases.py`, `held_cases.py`,
`fresh_cases.py`), beside an H200 or an H100.

    python validation/hopper_times.py [--gpu H100] [--out FILE] [--counters] [--part I/N] [NAME ...]

NAME is a kernel's, or what a set of them begins with (`held`, `fresh`). Of a GPU without recordings
(`data/hopper_times_*.json`, by `recorder/hopper_again.py`) predictions alone are printed.

Of each kernel the duration, the active cycles and the recorded counters that do not depend on time.
Which kernels were for tuning stands in `gemm_cases.py`; the rest is validation, those of
`held_cases.py` and `fresh_cases.py` were held back, the latter predicted only when the model had
been changed for the former.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "recorder"))

import fresh_cases  # noqa: E402
import further_cases  # noqa: E402
import further_kernels  # noqa: E402
import gemm_cases  # noqa: E402
import gemm_kernels  # noqa: E402
import held_cases  # noqa: E402
from cuda_driver import Driver  # noqa: E402
from hopper_cases import Case  # noqa: E402

import warplens as wl  # noqa: E402
from hopper import arguments_of  # noqa: E402
from warplens.errors import WarplensError  # noqa: E402
from warplens.toolchain.nvrtc import compile_source  # noqa: E402

CLOCK_MHZ = 1980.0  # that of the recordings
TIME, ACTIVE = "gpu__time_duration.sum", "sm__cycles_active.avg"
H200 = ("gemm_times_sm90", "further_times_sm90", "held_times_sm90", "fresh_times_sm90")


def recorded(gpu: str) -> dict[str, Any]:
    """The rows recorded on a GPU, by kernel."""
    names = H200 if gpu == "H200" else (f"hopper_times_{gpu.lower()}",)
    files = [HERE / "data" / f"{name}.json" for name in names]
    return {k: row for file in files if file.exists()
            for k, row in json.loads(file.read_text())["rows"].items()}  # fmt: skip


def predict(case: Case, text: str, metrics: list[str], gpu: str = "H200") -> dict[str, Any]:
    """The recorded metrics of one launch, as far as they are known here, and what it cost."""
    started = time.perf_counter()
    found: dict[str, Any] = {}
    with wl.cuda(gpu, clock=CLOCK_MHZ) as card:
        driver = Driver()
        function = driver.function(driver.load(compile_source(text, sm=90).cubin), case.kernel)
        driver.set_dynamic_shared(function, max(case.shared, 1024))
        arguments, _ = arguments_of(driver, case)
        driver.launch(function, case.blocks, (case.block,), tuple(arguments), case.shared)
        driver.synchronize()
        ran = time.perf_counter()
        for name in metrics:
            try:
                found[name] = float(card.launches[-1].metric(name))
            except (WarplensError, ValueError, TypeError) as error:
                found[name] = f"{type(error).__name__}: {error}"[:80]
        driver.free_all()
    found["ran_s"], found["timed_s"] = ran - started, time.perf_counter() - ran
    return found


def part_of(name: str) -> str:
    """What a kernel is for."""
    if name[:-1] in gemm_cases.TUNING:
        return "tuning"
    parts = {"held": "held back", "fresh": "held again"}
    return parts.get(name.partition("_")[0], "validation")


def row(name: str, known: dict[str, Any], found: dict[str, Any], counters: bool) -> str:
    """One line: times beside each other, and counters that differ."""
    cells = [f"{name:24}", f"{part_of(name):10}"]
    for metric, unit in ((TIME, 1000.0), (ACTIVE, 1.0)):
        cells.append(f"{float(found[metric]) / unit:10.1f}")
        if metric in known:
            b = float(known[metric])
            cells.append(f"{b / unit:10.1f} {100 * (float(found[metric]) / b - 1):+6.1f} %")
    for metric, value in known.items() if counters else ():
        mine = found.get(metric)
        same = isinstance(mine, float) and isinstance(value, float) and mine == value
        if isinstance(value, float) and "cycles" not in metric and metric != TIME and not same:
            cells.append(f"\n    {metric} {mine} {value}")
    return " ".join(cells)


def main() -> None:
    """Every kernel, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", default="H200", help="H200 or H100")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--counters", action="store_true", help="list counters that differ")
    parser.add_argument("--part", default="0/1", help="every N-th kernel, from the I-th on")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    first, step = map(int, given.part.split("/"))
    rows = recorded(given.gpu)
    texts = gemm_kernels.sources() | further_kernels.sources()
    texts |= held_cases.sources() | fresh_cases.sources()
    kept, errors = {}, {}
    cases = gemm_cases.large() + further_cases.large() + held_cases.cases() + fresh_cases.cases()
    for case in cases[first::step]:
        if given.names and not {case.name, case.name.partition("_")[0]} & set(given.names):
            continue
        known = {k: v for k, v in rows.get(case.name, {}).items() if isinstance(v, float)}
        found = predict(case, texts[case.unit], list(known) or [TIME, ACTIVE], given.gpu)
        kept[case.name] = found
        if known:
            errors[case.name] = found[TIME] / known[TIME] - 1
        line = row(case.name, known, found, given.counters)
        print(line, f"({found['ran_s']:.0f} + {found['timed_s']:.0f} s)", flush=True)
        if given.out:
            given.out.write_text(json.dumps(kept))
    for kind in ("tuning", "validation", "held back", "held again"):
        part = [abs(e) for n, e in errors.items() if part_of(n) == kind]
        if part:
            beyond = sum(e > 0.25 for e in part)
            print(f"{kind}: {len(part)} kernels, mean {100 * mean(part):.1f} %, largest"
                  f" {100 * max(part):.1f} %, {beyond} beyond 25 %")  # fmt: skip


if __name__ == "__main__":
    main()
