"""Times the configurations of `examples/tune.py` on the GPU of this machine, beside predicted ones.

    PYTHONPATH=src python validation/tuning/example.py OUT.json [--predicted FILE]

Records the median of nine launches by events, less what events add. `--predicted` names what
`warplens tune --json examples/tune.py` printed, and prints, for each kernel, Kendall's tau and how
much slower the configuration that is predicted best is than the best.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "recorder"), str(HERE.parents[1] / "examples")]

from compare import EVENTS_NS, kendall  # noqa: E402

import warplens as wl  # noqa: E402
from warplens.tune import Problem, Space  # noqa: E402
from warplens.tune.space import name_of  # noqa: E402


def _problem(told: dict[str, Any], kernel: str) -> Problem:
    space = Space(told["space"], tuple(told.get("restrictions", ())))
    return Problem(source=told["source"], kernel=kernel, space=space, grid=told["grid"],
                   block=told["block"], args=told["args"])  # fmt: skip


def _times(driver: Any, device: Any, problem: Problem) -> dict[str, float]:
    """Median ns of every configuration by its name."""
    from record import _launch_ns

    found: dict[str, float] = {}
    for one in problem.space:
        job = problem.job(one)
        module = device.compile(job.source, options=job.options)
        arguments = [
            driver.upload(v) if isinstance(v, np.ndarray) else np.int32(v)
            for v in problem.arguments(one)
        ]
        loaded = driver.load(module.unit.compiled(()).cubin)
        symbol = next(iter(module.images[0].cubin.kernels))
        function = driver.function(loaded, symbol)
        times = _launch_ns(driver, function, job.grid, job.block, tuple(arguments), job.shared)
        found[name_of(one)] = float(np.median(times))
        driver.unload(loaded)
    return found


def _record(out: Path) -> dict[str, Any]:
    from cuda_driver import Driver

    from tune import searches

    driver, device = Driver(), wl.Device("H200", clock="boost")
    found = {
        "gpu": driver.describe()["gpu"],
        "kernels": {
            name: _times(driver, device, _problem(told, name)) for name, told in searches().items()
        },
    }  # fmt: skip
    out.write_text(json.dumps(found, indent=1))
    return found


def _compare(recorded: dict[str, Any], text: str) -> None:
    """A line for each kernel; the output holds one JSON document after the other."""
    decoder, documents = json.JSONDecoder(), []
    while text.strip():
        document, end = decoder.raw_decode(text.strip())
        documents.append(document)
        text = text.strip()[end:]
    for (kernel, times), document in zip(recorded["kernels"].items(), documents, strict=True):
        rows = [r for r in document["rows"] if r["gpu"] == document["gpus"][0] and r["time_ns"]]
        names = [name_of(row["configuration"]) for row in rows]
        true = np.array([times[n] for n in names]) - EVENTS_NS
        predicted = np.array([row["time_ns"] for row in rows])
        best = int(predicted.argmin())
        print(f"{kernel}: {len(rows)} configurations, tau {kendall(true, predicted):.2f}, "
              f"mean error {100 * np.abs(predicted / true - 1).mean():.1f} %, predicted best "
              f"{names[best]} is {100 * (true[best] / true.min() - 1):.1f} % slower than "
              f"{names[int(true.argmin())]}")  # fmt: skip


def main() -> None:
    """Records, or compares with what is recorded."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--predicted", type=Path)
    options = parser.parse_args()
    recorded = json.loads(options.out.read_text()) if options.out.exists() else _record(options.out)
    if options.predicted is not None:
        _compare(recorded, options.predicted.read_text())


if __name__ == "__main__":
    main()
