"""The reduction ladder: one hundred million ints, summed in nine ways, profiled without a GPU.

    python examples/ladder.py [--n 100000000] [--gpu "RTX 4060" --gpu H200] [--block 256]

Every step's sum is checked. The first table shows what each step changes: requests and sectors of
the loads, shared memory wavefronts and bank conflicts, predicated-on threads, instructions. The
second table is modelled: duration, cycles, throughputs, and the copies to the device and back.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import warplens as wl

Ints = npt.NDArray[np.int32]
SOURCE = Path(__file__).parent.parent / "tests" / "kernels" / "ladder.cu"
STEPS = {
    "interleaved_divergent": 1,
    "interleaved_strided": 1,
    "sequential": 1,
    "add_during_load": 2,
    "unrolled_last_warp": 2,
    "warp_shuffle": 2,
    "vector_shared": 4,
    "vector_registers": 4,
    "vector_shuffle": 4,
}
SMALL_BLOCKS = (("sequential", 8), ("sequential", 32))
LOADS = "pipe_lsu_mem_global_op_ld"
# Heading -> metric and format.
COLUMNS = {
    "requests": (f"l1tex__t_requests_{LOADS}.sum", ",d"),
    "sectors": (f"l1tex__t_sectors_{LOADS}.sum", ",d"),
    "per req": (f"l1tex__average_t_sectors_per_request_{LOADS}.ratio", ".1f"),
    "wavefronts": ("memory_l1_wavefronts_shared", ",d"),
    "conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", ",d"),
    "threads/inst": ("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", ".1f"),
    "warp inst": ("smsp__inst_executed.sum", ",d"),
    "occup. %": ("sm__maximum_warps_per_active_cycle_pct", ".0f"),
}
WIDTHS = (22, 6, 6, 11, 11, 8, 14, 12, 13, 14, 9, 7)
# Heading -> metric, what to divide it by, format.
TIMES = {
    "duration ms": ("gpu__time_duration.sum", 1e6, ",.3f"),
    "SM active cycles": ("sm__cycles_active.avg", 1, ",.0f"),
    "DRAM %": ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", 1, ".1f"),
    "memory %": ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 1, ".1f"),
    "compute %": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", 1, ".1f"),
}
TIME_WIDTHS = (22, 6, 13, 18, 8, 10, 11, 14, 14, 14)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Profile the reduction ladder.")
    parser.add_argument("--n", type=int, default=100_000_000, help="number of ints")
    parser.add_argument("--gpu", action="append", help="GPU to simulate (repeatable)")
    parser.add_argument("--block", type=int, default=256, help="threads per block")
    return parser.parse_args()


def _line(cells: list[str], widths: tuple[int, ...] = WIDTHS) -> str:
    """One row of a table: the first cell to the left, the others to the right."""
    first, *others = zip(cells, widths, strict=True)
    return first[0].ljust(first[1]) + "".join(cell.rjust(width) for cell, width in others)


def _times(run: wl.Launch) -> list[str]:
    """A step's cells of the second table."""
    cells = [format(run.metric(name) / part, form) for name, part, form in TIMES.values()]
    copies, pinned = run.transfers(), run.transfers("pinned")
    cells.append(f"{float(copies.host_to_device) / 1e6:,.1f}")
    cells.append(f"{float(pinned.host_to_device) / 1e6:,.1f}")
    return [*cells, f"{float(copies.device_to_host) / 1e3:,.2f}"]


def _step(
    kernel: wl.Kernel, per_thread: int, block: int, data: Ints, total: int
) -> tuple[list[str], wl.Launch]:
    """One step's cells, and its launch, which must find the `total`."""
    blocks = -(-len(data) // (block * per_thread))
    out = np.zeros(1, np.int32)
    begin = time.perf_counter()
    run = kernel[blocks, block](data, out, len(data))
    seconds = time.perf_counter() - begin
    right = int(out[0]) == total
    cells = [str(block), "right" if right else "WRONG"]
    cells += [format(run.metric(name), form) for name, form in COLUMNS.values()]
    return [*cells, f"{seconds:.1f}"], run


def ladder(gpu: str, data: Ints, block: int, small: bool) -> str:
    """Prints the ladder's table for a GPU; returns the last step's details page."""
    device = wl.Device(gpu)
    runs = [*((name, block) for name in STEPS), *(SMALL_BLOCKS if small else ())]
    module = device.compile(SOURCE, name_expressions=[f"{name}<{b}>" for name, b in runs])
    print(f"\n{device.name}: the sum of {len(data):,} ints\n")
    print(_line(["step", "block", "sum", *COLUMNS, "CPU s"]))
    details, rows, total = "", [], int(data.sum(dtype=np.int64))
    for name, b in runs:
        cells, run = _step(module[f"{name}<{b}>"], STEPS[name], b, data, total)
        print(_line([name, *cells]), flush=True)
        rows.append([name, str(b), *_times(run)])
        details = str(run) if name == list(STEPS)[-1] else details
    print(f"\nmodelled at {device.clock_mhz:,.0f} MHz; copies over {run.transfers().link}\n")
    heads = ["step", "block", *TIMES, "to device ms", "if pinned ms", "to host us"]
    print("\n".join(_line(row, TIME_WIDTHS) for row in (heads, *rows)))
    return details


def main() -> int:
    """Runs the ladder on each GPU."""
    options = _arguments()
    data = np.random.default_rng(1).integers(0, 10, options.n, dtype=np.int32)
    for number, gpu in enumerate(options.gpu or ["RTX 4060", "H200"]):
        print(f"\n{ladder(gpu, data, options.block, small=number == 0)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
