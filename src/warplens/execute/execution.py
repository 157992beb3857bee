"""What one functional run counted: plain arrays, one row per SASS instruction."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from warplens.sass.model import SassKernel

Counts = npt.NDArray[np.int64]

# One column each; every column is an int64 array with one entry per instruction of the kernel.
COLUMNS: dict[str, str] = {
    "inst_executed": "warp-level executions, predicated-off ones included",
    "thread_inst_executed": "sum of active lanes over executions",
    "thread_inst_executed_true": "the same, predicated-on lanes only",
    "inst_repeated": "executions that a GPU adds: of WARPSYNC by lanes that have met there, of a "
    "jump for each further target",
    "thread_inst_repeated": "active lanes of those executions",
    "thread_inst_held": "predicated-on lanes that a second predicate (`@P0 EXIT P1`) keeps",
    "branch_uniform": "branches executed with all active lanes going the same way",
    "branch_divergent": "branches executed with active lanes going different ways",
    "global_requests": "executions with at least one lane that accessed global memory",
    "global_sectors": "distinct 32-byte sectors touched, summed over requests",
    "global_sectors_ideal": "min(sectors, ceil(lanes * size / 32)), summed over requests",
    "global_sectors_repeated": "sectors that an atomic touches again because lanes share an "
    "address",
    "global_sectors_split": "sectors that copies around L1 ask for again, since they go to several "
    "sectors of shared memory",
    "global_lines": "distinct 128-byte lines (tags) touched, summed over requests",
    "global_bytes": "distinct bytes accessed by the lanes of a warp, summed over requests",
    "local_executed": "executions with at least one lane that accessed local memory",
    "local_requests": "as global, for local memory; wide stores make a request per word",
    "local_sectors": "distinct 32-byte sectors of the interleaved local layout",
    "local_lines": "distinct 128-byte lines of the interleaved local layout",
    "local_bytes": "as global, for local memory: lanes with the same offset share",
    "shared_requests": "executions with at least one lane that accessed shared memory",
    "shared_wavefronts": "wavefronts: 32 banks of 4 bytes, one word per bank and wavefront",
    "shared_passes": "the same as the hardware counter counts them: wide loads merge differently",
    "shared_conflicts": "wavefronts added by bank conflicts, as the hardware counter counts them",
    "shared_wavefronts_ideal": "wavefronts without bank conflicts",
    "shared_bytes": "distinct bytes accessed by the lanes of a warp, summed over requests",
    "dshared_executed": "executions with a lane that accessed another block's shared memory",
    "dshared_requests": "the same, once for each block whose shared memory was accessed",
    "dshared_bytes": "distinct bytes accessed by the lanes of a warp, summed over requests",
    "tex_requests": "requests of texture and surface instructions: of four or eight lanes each",
    "tex_sectors": "sectors that these look at, summed over the turns in which filters take lanes",
    "tex_lines": "sets of tags that these look up, likewise",
    "tex_written": "sectors of surfaces that a warp writes",
    "tex_passes": "turns in which the units take the lanes of a sample, or give back wide texels",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The exact counts of one launch.

    Attributes:
        kernel: the executed kernel.
        grid, block: launch dimensions x, y, z.
        dynamic_shared: bytes per block.
        columns: name of COLUMNS -> int64 array, length = number of instructions.
        blocks: blocks launched; warps: warps launched.
        ordered: blocks ran one after another in index order; `ordered_reason` says why.
        workers: threads that executed blocks.
        spinning: blocks waited on each other (fair scheduling was needed).
        output: what device printf wrote.
        elapsed_seconds: wall time of the run.
        strays: what instructions did outside of all allocations where a GPU goes on.
    """

    kernel: SassKernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    columns: dict[str, Counts]
    blocks: int
    warps: int
    ordered: bool = False
    ordered_reason: str = ""
    workers: int = 1
    spinning: bool = False
    output: str = ""
    elapsed_seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())
    strays: tuple[str, ...] = ()
