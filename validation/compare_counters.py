"""Compares warplens' counters with the recorded ones and writes docs/counters.md.

    python validation/compare_counters.py [--metrics FILE]

Takes minutes. `--metrics` also writes the names of the counters that agreed in every launch.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import warplens as wl
from warplens.api import LaunchOptions
from warplens.errors import WarplensError
from warplens.metrics.registry import Metric, resolve, unit_of
from warplens.session.launch import Launch

HERE = Path(__file__).parent
# Too long for an emulator, or retrying for as long as other warps interfere
LARGE = ("/large", "sgemm_naive/1024", "sgemm_tiled/1024", "/2048", "/4096", "reduce_grid_stride",
         "mandelbrot")  # fmt: skip
RETRIES = ("atomic_shared_float",)

CAUSES = {
    r"data_(bank_conflicts|pipe_lsu_wavefronts).*op_ldgsts": "The write of an asynchronous copy "
    "through L1 collides with other traffic.",
    r"data_bank_conflicts": "The hardware adds wavefronts lost to arbitration between warps; the "
    "number differs from run to run.",
    r"wavefronts_mem_shared\.sum": "As for conflicts; also depends on how many barriers and "
    "fences coincide, and on the path of asynchronous copies.",
    r"data_pipe_lsu_wavefronts": "The hardware adds wavefronts lost to arbitration between warps.",
    r"t_requests_pipe_lsu_mem_lg": "Barriers and fences count too; their number depends on when "
    "the warps arrive.",
    r"t_(sectors|bytes)": "Some sectors are looked up again when requests collide; the number "
    "differs from run to run.",
    r"sm__inst_executed_pipe_adu": "The counter per SM, unlike that per sub-partition, counts "
    "constant loads again when they are replayed after a miss.",
    r"shared_ld_pred": "Some predicated-off loads count as predicated on while a copy or a barrier "
    "is pending; the number differs from run to run.",
}


def load_cases() -> ModuleType:
    """The module that lists the launches."""
    path = HERE / "recorder" / "counter_cases.py"
    spec = importlib.util.spec_from_file_location("validation_counter_cases", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def comparable(cases: ModuleType) -> list[str]:
    """Launches whose counts do not depend on time and that an emulator finishes soon."""
    return [n for n in cases.CASES if not any(part in n for part in (*LARGE, *RETRIES))]


def launches(cases: ModuleType, names: Iterable[str]) -> Iterator[tuple[str, Launch]]:
    """Runs the named launches as the recorder did."""
    device = wl.Device("H200", options=LaunchOptions(timing=False))
    module = device.compile(str(HERE / "recorder" / "kernels" / "counters.cu"))
    source = np.arange(cases.IN_WORDS, dtype=np.uint32)
    out = np.zeros(cases.OUT_WORDS + (1 << 18), np.uint32)
    for name in names:
        case = cases.CASES[name]
        out[:] = 0
        arguments = [np.uint32(a) for a in case.args]
        kernel = module[case.kernel]
        yield name, kernel[case.grid, case.block, None, case.shared](source, out, *arguments)


def counted(recorded: Iterable[str]) -> dict[str, Metric]:
    """The recorded counters that warplens gives without a timing model."""
    found = {}
    for name in recorded:
        try:
            declared, _ = resolve(name)
        except WarplensError:
            continue
        if declared.basis in ("exact", "definition") and declared.formula is not None:
            found[name] = declared
    return found


@dataclass
class Comparison:
    """What agreed and what did not."""

    metrics: dict[str, Metric]
    cases: list[str] = field(default_factory=list)
    different: dict[str, list[tuple[str, float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def equal(self) -> list[str]:
        """The counters that agree in all launches."""
        return sorted(set(self.metrics) - set(self.different))


def compare(step: int = 1) -> Comparison:
    """Runs every `step`-th launch and compares every counter."""
    cases = load_cases()
    with np.load(HERE / "data" / "counters_sm90.npz") as file:
        data: dict[str, Any] = dict(file)
    row = {name: i for i, name in enumerate(data["cases"])}
    column = {name: i for i, name in enumerate(data["metrics"])}
    result = Comparison(counted(column))
    for name, run in launches(cases, comparable(cases)[::step]):
        result.cases.append(name)
        for metric in result.metrics:
            expected, actual = data["cold"][row[name], column[metric]], run.metric(metric)
            if actual is None or not np.isclose(expected, float(actual), rtol=1e-12, atol=0):
                result.different[metric].append((name, float(expected), float(actual or 0)))
    return result


def cause(metric: str) -> str:
    """Why a counter differs."""
    return next((text for part, text in CAUSES.items() if re.search(part, metric)), "Not known.")


def _heading(*columns: str) -> list[str]:
    return ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]


def _counted_table(result: Comparison) -> list[str]:
    lines = _heading("counter", "basis", "unit", "meaning", "equal launches")
    total = len(result.cases)
    for name, declared in sorted(result.metrics.items()):
        same = total - len(result.different.get(name, ()))
        unit = unit_of(declared, name.removeprefix(declared.name).removeprefix("."))
        lines.append(f"| `{name}` | {declared.basis} | {unit} | {declared.doc} | {same}/{total} |")
    return lines


def _kernel_table(result: Comparison) -> list[str]:
    lines = _heading("kernel", "launches", "equal values", "differing counters")
    n_cases = Counter(name.split("/")[0] for name in result.cases)
    wrong: dict[str, Counter[str]] = defaultdict(Counter)
    for metric, found in result.different.items():
        for name, _, _ in found:
            wrong[name.split("/")[0]][metric] += 1
    for kernel, n in n_cases.items():
        values = n * len(result.metrics)
        names = ", ".join(f"`{m.removesuffix('.sum')}`" for m in sorted(wrong[kernel]))
        lines.append(f"| {kernel} | {n} | {values - wrong[kernel].total()}/{values} | {names} |")
    return lines


def _difference_table(result: Comparison) -> list[str]:
    lines = _heading("counter", "launches", "largest: hardware / warplens", "cause")
    for metric, found in sorted(result.different.items()):
        name, expected, actual = max(found, key=lambda f: abs(f[1] - f[2]) / max(f[1], 1))
        lines.append(
            f"| `{metric}` | {len(found)} | {name}: {expected:.0f} / {actual:.0f} | "
            f"{cause(metric)} |"
        )
    return lines


def document(result: Comparison) -> str:
    """The text of docs/counters.md."""
    n, m = len(result.cases), len(result.metrics)
    wrong = sum(len(found) for found in result.different.values())
    exact = [name for name, one in result.metrics.items() if one.basis == "exact"]
    exact_equal = [name for name in exact if name not in result.different]
    lines = [
        "# Counters", "",
        "What warplens' counters count, and how they compare with the counters of an H200. The",
        "hardware's values were recorded with CUPTI (`validation/README.md`).",
        "`python validation/compare_counters.py` writes this page.", "",
        f"Compared: {m} counters in {n} launches, {m * n:,} values. Equal: "
        f"{m * n - wrong:,} values ({100 * (1 - wrong / (m * n)):.2f} %);",
        f"{m - len(result.different)} counters agree in every launch. Of the {len(exact)} that "
        f"warplens calls exact, {len(exact_equal)} do.",
        "A counter of basis *definition* follows its documented definition; the hardware adds what",
        "depends on timing. Not compared are launches too long for an emulator, and",
        "compare-and-swap loops, which retry as long as other warps interfere.", "",
        "## By kernel", "", *_kernel_table(result), "",
        "## What differs", "", *_difference_table(result), "",
        "## What each counter counts", "", *_counted_table(result), "",
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metrics", type=Path, help="write the names of equal counters here")
    parser.add_argument("--step", type=int, default=1, help="take every n-th launch")
    options = parser.parse_args()
    result = compare(options.step)
    (HERE.parent / "docs" / "counters.md").write_text(document(result))
    if options.metrics is not None:
        options.metrics.write_text("\n".join(result.equal()) + "\n")
    print(f"{len(result.equal())} of {len(result.metrics)} counters equal in "
          f"{len(result.cases)} launches")  # fmt: skip


if __name__ == "__main__":
    main()
