"""Records the times of every configuration of the four spaces on the GPU of this machine.

    PYTHONPATH=src python validation/tuning/record.py OUT [--gpu H100] [--predict SECONDS]

Compiles in processes, times each cubin with events (median of nine launches behind a warm-up that
keeps the queue full), and compares what it computed with the host. With `--predict` the processes
predict the configurations afterwards, in random order, until the time is over. A GPU of another
name than the one asked for is refused.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import itertools
import json
import multiprocessing
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "recorder")]

from cuda_driver import CudaError, Driver  # noqa: E402
from spaces import SPACES, Recorded  # noqa: E402

import warplens as wl  # noqa: E402

REPEATS = 9
STATE = "driver_version,clocks.sm,clocks.mem"


@lru_cache(maxsize=2)
def _device(gpu: str = "H200") -> Any:
    return wl.Device(gpu, clock="boost")


@lru_cache(maxsize=3)
def _arguments(name: str) -> list[Any]:
    return SPACES[name].arguments()


def compiled(name: str, configuration: dict[str, Any]) -> dict[str, Any]:
    """The cubin of a configuration, or why there is none."""
    begin = time.process_time()
    job = SPACES[name].problem.job(configuration)
    try:
        module = _device().compile(job.source, options=job.options)
        kernel = module[job.kernel]
    except wl.WarplensError as error:
        return {"problem": str(error).splitlines()[0]}
    return {
        "cubin": module.unit.compiled(()).cubin, "symbol": kernel.name,
        "registers": kernel.registers, "local": kernel.local_bytes,
        "compile_s": round(time.process_time() - begin, 3),
    }  # fmt: skip


def predicted(name: str, configuration: dict[str, Any], gpu: str = "H200") -> dict[str, Any]:
    """The predicted time of a configuration on one GPU."""
    begin, cpu = time.perf_counter(), time.process_time()
    job = SPACES[name].problem.job(configuration)
    try:
        kernel = _device(gpu).compile(job.source, options=job.options)[job.kernel]
        launch = kernel.predict[job.grid, job.block, 0, job.shared](*_arguments(name))
        told = launch.prediction()
    except wl.WarplensError as error:
        return {"problem": str(error).splitlines()[0]}
    return {"predicted_ns": told.nanoseconds, "limiter": told.limiter,
            "wall_s": round(time.perf_counter() - begin, 3),
            "cpu_s": round(time.process_time() - cpu, 3)}  # fmt: skip


class Bench:
    """A space's arguments on the GPU."""

    def __init__(self, driver: Driver, space: Recorded) -> None:
        self.driver, self.space = driver, space
        self.host = space.arguments()
        self.cells = [
            driver.upload(one) if isinstance(one, np.ndarray) else one for one in self.host
        ]
        self.index, self.expected = space.expected(self.host)

    def times(self, answer: dict[str, Any], job: Any) -> dict[str, Any]:
        """Median, least and largest time in ns; whether the result is right."""
        module = self.driver.load(answer["cubin"])
        try:
            function = self.driver.function(module, answer["symbol"])
            self._constants(module)
            right = self._is_right(function, job)
            found = _launch_ns(
                self.driver, function, job.grid, job.block, tuple(self.cells), job.shared
            )
        finally:
            self.driver.unload(module)
        return {"ns": float(np.median(found)), "least_ns": min(found), "most_ns": max(found),
                "right": right}  # fmt: skip

    def _constants(self, module: Any) -> None:
        for name, value in self.space.constants.items():
            self.driver.write(self.driver.variable(module, name), value)

    def _is_right(self, function: Any, job: Any) -> bool:
        output = self.host[self.space.output]
        self.driver.fill(self.cells[self.space.output], 0, output.nbytes)
        self.driver.launch(function, job.grid, job.block, tuple(self.cells), job.shared)
        found = self.driver.download(self.cells[self.space.output], output.size, output.dtype)
        near = np.allclose(found[self.index], self.expected, rtol=self.space.rtol, atol=1e-2)
        return bool(near)


def _launch_ns(
    driver: Driver, function: Any, grid: Any, block: Any, arguments: tuple[Any, ...], shared: int
) -> list[float]:
    """All launches are queued behind a first one, so that the host's pace does not count."""
    events = [driver.event() for _ in range(REPEATS + 1)]
    driver.launch(function, grid, block, arguments, shared)
    for event in events[:-1]:
        driver.record(event)
        driver.launch(function, grid, block, arguments, shared)
    driver.record(events[-1])
    pairs = itertools.pairwise(events)
    return [round(1e6 * driver.elapsed_ms(*pair), 1) for pair in pairs]


def _places() -> list[tuple[str, int, dict[str, Any]]]:
    """Every configuration, in random order."""
    every = [
        (name, index, one)
        for name, space in SPACES.items() for index, one in enumerate(space.problem.space)
    ]  # fmt: skip
    random.Random(0).shuffle(every)
    return every


def _record(pool: ProcessPoolExecutor, places: list[Any], gpu: str) -> dict[str, Any]:
    driver = Driver()
    if gpu not in driver.describe()["gpu"]:
        raise SystemExit(f"this machine has an {driver.describe()['gpu']}, not an {gpu}")
    benches = {name: Bench(driver, one) for name, one in SPACES.items()}
    rows: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in SPACES}
    empty = _device().compile('extern "C" __global__ void empty() {}')
    nothing = driver.load(empty.unit.compiled(()).cubin)
    overhead = _launch_ns(driver, driver.function(nothing, "empty"), (1,), (32,), (), 0)
    futures = {pool.submit(compiled, name, one): (name, index, one) for name, index, one in places}
    for future in as_completed(futures):
        name, index, one = futures[future]
        answer = future.result()
        row = {"configuration": one} | {k: v for k, v in answer.items() if k != "cubin"}
        if "cubin" in answer:
            row["sha256"] = hashlib.sha256(answer["cubin"]).hexdigest()[:16]
            try:
                row |= benches[name].times(answer, SPACES[name].problem.job(one))
            except CudaError as error:
                row["problem"] = str(error)
        rows[name][index] = row
    return {"device": driver.describe(), "state": _state(), "empty_ns": overhead, "rows": rows}


def _state() -> list[str]:
    """The driver's version and the clocks in MHz, while the GPU is still warm."""
    told = subprocess.run(
        ["nvidia-smi", f"--query-gpu={STATE}", "--format=csv,noheader,nounits"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [one.strip() for one in told.stdout.splitlines()[0].split(",")]


def _save(out: Path, name: str, document: Any) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / name).write_text(json.dumps(document))


def main() -> None:
    """Records, then predicts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpu", choices=("H200", "H100"), default="H200")
    parser.add_argument("--most", type=int, help="only so many configurations")
    parser.add_argument("--no-gpu", action="store_true", help="compile and predict only")
    parser.add_argument("--predict", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    begin, places = time.monotonic(), _places()[: options.most]
    context = multiprocessing.get_context("spawn")
    predicted(places[0][0], places[0][2], options.gpu)  # what is compiled once for a machine
    print(f"first prediction: {time.monotonic() - begin:.1f} s", flush=True)
    pool = ProcessPoolExecutor(options.processes, mp_context=context, initializer=_nice)
    if not options.no_gpu:
        found = _record(pool, places, options.gpu)
        found |= {"date": str(datetime.date.today()), "nvrtc": _nvrtc(), "repeats": REPEATS}
        _save(options.out, "spaces.json", found)
        print(f"recorded: {time.monotonic() - begin:.1f} s", flush=True)
    if options.predict:
        _predict(pool, places, begin + options.predict, options)
    for process in list((pool._processes or {}).values()):
        process.kill()  # what still runs
    sys.stdout.flush()
    os._exit(0)


def _nice() -> None:
    os.nice(10)


def _nvrtc() -> str:
    from build import Nvrtc

    return Nvrtc().version


def _predict(
    pool: ProcessPoolExecutor, places: list[Any], limit: float, options: argparse.Namespace
) -> None:
    """Rows as they come; saved every now and then."""
    rows: list[dict[str, Any]] = []
    out, gpu = options.out, options.gpu
    futures = {pool.submit(predicted, name, one, gpu): (name, index) for name, index, one in places}
    saved = time.monotonic()
    try:
        for future in as_completed(futures, timeout=max(1.0, limit - time.monotonic())):
            name, index = futures[future]
            rows.append({"space": name, "index": index} | future.result())
            if time.monotonic() - saved > 15:
                saved = time.monotonic()
                _save(out, "predicted.json", rows)
    except TimeoutError:
        pool.shutdown(wait=False, cancel_futures=True)
    _save(out, "predicted.json", rows)
    left = limit - time.monotonic()
    print(f"predicted {len(rows)} of {len(places)}, {left:.1f} s left", flush=True)


if __name__ == "__main__":
    main()
