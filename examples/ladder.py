"""The reduction ladder: one hundred million ints, summed in nine ways, profiled with no GPU.

    python examples/ladder.py [--n 100000000] [--gpu "RTX 4060" --gpu H200] [--block 256]

Every step's sum is checked. The table shows what each step changes: requests and sectors of the
loads, passes and bank conflicts of shared memory, divergence, instructions.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import warplens as wl

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
COLUMNS = {
    "requests": f"l1tex__t_requests_{LOADS}.sum",
    "sectors": f"l1tex__t_sectors_{LOADS}.sum",
    "sectors/req": f"l1tex__average_t_sectors_per_request_{LOADS}.ratio",
    "shared passes": "memory_l1_wavefronts_shared",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "uniform branches %": "smsp__sass_average_branch_targets_threads_uniform.pct",
    "warp instructions": "smsp__inst_executed.sum",
    "occupancy %": "sm__maximum_warps_per_active_cycle_pct",
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Profile the reduction ladder.")
    parser.add_argument("--n", type=int, default=100_000_000, help="how many ints")
    parser.add_argument("--gpu", action="append", help="a GPU; may be given more than once")
    parser.add_argument("--block", type=int, default=256, help="threads per block")
    return parser.parse_args()


def _row(kernel: wl.Kernel, per_thread: int, block: int, data: np.ndarray) -> tuple[list[str], str]:
    """One step's cells, and its details page."""
    blocks = -(-len(data) // (block * per_thread))
    out = np.zeros(1, np.int32)
    begin = time.perf_counter()
    run = kernel[blocks, block](data, out, len(data))
    seconds = time.perf_counter() - begin
    right = int(out[0]) == int(data.sum(dtype=np.int64))
    cells = [f"{block}", f"{blocks:,}", "right" if right else f"WRONG ({out[0]})"]
    for name in COLUMNS.values():
        value = run.metric(name)
        cells.append(f"{value:,.2f}" if name.endswith((".ratio", "pct")) else f"{value:,}")
    return [*cells, f"{seconds:.1f}"], str(run)


def ladder(gpu: str, data: np.ndarray, block: int, console: Console) -> str:
    """Prints the ladder's table for a GPU; returns the last step's details page."""
    device = wl.Device(gpu)
    runs = [*((name, b) for name, b in SMALL_BLOCKS), *((name, block) for name in STEPS)]
    module = device.compile(SOURCE, name_expressions=[f"{name}<{b}>" for name, b in runs])
    table = Table(title=f"{device.name}: sum of {len(data):,} ints")
    for heading in ("step", "block", "blocks", "sum", *COLUMNS, "CPU s"):
        table.add_column(heading, justify="left" if heading == "step" else "right")
    details = ""
    for name, b in runs:
        cells, details = _row(module[f"{name}<{b}>"], STEPS[name], b, data)
        table.add_row(name, *cells)
    console.print(table)
    return details


def main() -> int:
    """Runs the ladder on each GPU."""
    options = _arguments()
    console = Console(width=None if sys.stdout.isatty() else 170)
    data = np.random.default_rng(1).integers(0, 10, options.n, dtype=np.int32)
    for gpu in options.gpu or ["RTX 4060", "H200"]:
        details = ladder(gpu, data, options.block, console)
        console.print(details, highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
