"""Products of matrices on an H200, from one thread for an element to warps that specialise.

    python examples/matmul.py [--step NAME ...] [--source NAME]

Every step's product is compared with NumPy's. The table holds what is counted and modelled here,
and beside the modelled time what an H200 took for the same kernel (`validation/data`). The kernels
are those of the recordings, in validation/recorder; `--source` prints one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "validation" / "recorder"))

from gemm_kernels import GEMMS, Gemm, gemm  # noqa: E402
from gemm_preamble import PREAMBLE  # noqa: E402

import warplens as wl  # noqa: E402

Array = npt.NDArray[Any]
CLOCK_MHZ = 1980.0  # that of the recordings
DATA = ROOT / "validation" / "data"
TIME = "gpu__time_duration.sum"


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel: where it comes from, its matrices, how it is launched."""

    name: str
    what: str
    source: Callable[[], str]
    kernel: str
    size: tuple[int, int, int]  # m, n, k
    launch: Callable[[Any, Step, Array, Array, Array], wl.Launch]
    measured_us: Callable[[], float]
    half: bool = False

    @property
    def operations(self) -> float:
        """Of the whole product."""
        m, n, k = self.size
        return 2.0 * m * n * k


@cache
def _recording(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text())


def _naive(kernel: Any, step: Step, a: Array, b: Array, out: Array) -> Any:
    """The recorded kernel multiplies a matrix by itself."""
    b[:] = a
    return kernel[(64, 64), (16, 16)](a, out, step.size[0], 0, 0, 0)


def _square(block: tuple[int, int], grid: tuple[int, int]) -> Any:
    """A launch of a kernel that takes three arrays and a size."""

    def launch(kernel: Any, step: Step, a: Array, b: Array, out: Array) -> Any:
        return kernel[grid, block](a, b, out, step.size[0])

    return launch


def _by_tensor_maps(g: Gemm) -> Any:
    """A launch of a kernel that copies boxes by tensor maps; B comes with k along its rows."""

    def launch(kernel: Any, step: Step, a: Array, b: Array, out: Array) -> Any:
        m, n, k = step.size
        maps = [wl.TensorMap(x, box=(rows, g.step), swizzle=f"{g.pitch}B")
                for x, rows in ((a, g.rows), (b, g.columns))]  # fmt: skip
        tiles = (m // g.rows) * (n // g.columns)
        return kernel[tiles, g.threads, 0, g.shared](
            *maps, k // g.step, tiles, n // g.columns, out, n
        )

    return launch


def _hopper(name: str, what: str, rows: int, columns: int, k: int) -> Step:
    """A step with TMA and wgmma: tiles of rows by columns."""
    g = GEMMS[name]
    return Step(
        name, what, lambda: PREAMBLE + gemm(g), name, (rows * g.rows, columns * g.columns, k),
        _by_tensor_maps(g), lambda: _recording("gemm_times_sm90")["rows"][f"{name}+"][TIME] / 1e3,
        half=True,
    )  # fmt: skip


def _file(path: str) -> Callable[[], str]:
    return lambda: (ROOT / path).read_text()


def _kind(name: str) -> Callable[[], float]:
    """The time of a case of kinds_sm90.json."""
    def found() -> float:
        cases = _recording("kinds_sm90")["cases"]
        return next(c for c in cases if c["name"] == name)["measured"][TIME] / 1e3

    return found


_KINDS = _file("validation/recorder/kernels/kinds.cu")
STEPS = (
    Step("naive", "an element per thread", _file("validation/recorder/kernels/counters.cu"),
         "sgemm_naive", (1024, 1024, 1024), _naive,
         lambda: median(_recording("times_sm90")["sgemm_naive/1024"]["cold_us"])),
    Step("tiled", "tiles in shared memory", _KINDS, "tiled32", (1024, 1024, 1024),
         _square((32, 32), (32, 32)), _kind("tiled32/1024")),
    Step("wmma", "tensor cores, one tile per warp", _KINDS, "wmma_tf32", (2048, 2048, 2048),
         _square((256, 1), (2048, 1)), _kind("wmma_tf32/2048")),
    Step("wmma tiled", "tensor cores, tiles shared", _KINDS, "wmma_smem", (2048, 2048, 2048),
         _square((256, 1), (32, 32)), _kind("wmma_smem/2048")),
    _hopper("gemm_f16_128", "TMA and wgmma, one warpgroup", 11, 12, 1024),
    _hopper("gemm_producer", "a warpgroup copies, one multiplies", 11, 12, 1024),
    _hopper("gemm_cooperative", "two multiply a tile of 128 rows", 11, 12, 1024),
)  # fmt: skip
COLUMNS = {  # heading -> metric, what it is divided by
    "1000 inst.": ("smsp__inst_executed.sum", 1e3),
    "from L2, MB": ("l1tex__m_xbar2l1tex_read_sectors.sum", 1e6 / 32),
}


def _operands(step: Step) -> tuple[Array, Array]:
    """A and B; B of halves with k along its rows."""
    rng = np.random.default_rng(1)
    m, n, k = step.size
    if step.half:
        a, b = (rng.standard_normal((r, k)).astype(np.float16) for r in (m, n))
        return a, b
    return rng.random((m, k), np.float32), rng.random((k, n), np.float32)


def measure(step: Step) -> tuple[list[str], float]:
    """A step's cells and how far its product is from NumPy's, relative to the largest element."""
    device = wl.Device("H200", clock=CLOCK_MHZ)
    kernel = device.compile(step.source(), options=["-arch=sm_90a"])[step.kernel]
    a, b = _operands(step)
    out = np.zeros(step.size[:2], np.float32)
    run = step.launch(kernel, step, a, b, out)
    exact = a.astype(np.float32) @ (b.astype(np.float32).T if step.half else b)
    error = float(np.abs(out - exact).max() / np.abs(exact).max())
    cells = [f"{run.metric(name) / by:,.1f}" for name, by in COLUMNS.values()]
    cells.insert(1, f"{step.operations / run.metric('smsp__inst_executed.sum'):,.0f}")
    modelled, measured = float(run.metric(TIME)) / 1e3, step.measured_us()
    cells += [f"{modelled:,.1f}", f"{measured:,.1f}", f"{100 * (modelled / measured - 1):+.0f}"]
    cells.append(f"{step.operations / measured / 1e6:,.1f}")
    return cells, error


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", action="append", choices=[s.name for s in STEPS])
    parser.add_argument("--source", choices=[s.name for s in STEPS])
    given = parser.parse_args()
    if given.source:
        print(next(s for s in STEPS if s.name == given.source).source())
        return
    first, *others = COLUMNS
    headings = [first, "FLOP/inst.", *others, "model us", "H200 us", "%", "TFLOP/s"]
    print("step".ljust(18) + "".join(h.rjust(14) for h in headings))
    for step in STEPS:
        if given.step and step.name not in given.step:
            continue
        cells, error = measure(step)
        wrong = "" if error < 2e-3 else f"  WRONG by {error:.1e}"
        line = step.name.ljust(18) + "".join(c.rjust(14) for c in cells)
        print(line + f"  {step.what}{wrong}", flush=True)


if __name__ == "__main__":
    main()
