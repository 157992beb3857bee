"""What an SM holds: how many blocks at once, if all of their warps live or only few."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from warplens.execute.executable import ExecutableLaunch
from warplens.execute.trace import BlockTrace
from warplens.gpus.carveout import driver_carveout_bytes
from warplens.gpus.spec import GpuSpec
from warplens.occupancy_calculator.occupancy import Occupancy

_MOSTLY, _READ = 0.5, 1
_HARDLY = 0.05  # of the busiest sub-partition's work in a window: as good as none


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """Places of an SM for one kernel.

    A warp that ends gives back its place and its registers at once, its block the shared memory
    (measured, validation/data/residency_sm90.json). So where few warps of a block live on, more
    blocks come than the occupancy says.

    Attributes:
        blocks: that fit with all their warps; most: that fit however few of their warps live.
        warp_slots: of a sub-partition: warps for which it has places and registers.
    """

    blocks: int
    most: int
    warp_slots: int
    sub_partitions: int
    warps_per_block: int

    def with_living(self, warps: float) -> int:
        """Blocks that come to be there if so many warps of each live on average: at the end of one,
        another is started if it fits as a whole."""
        room = self.warp_slots * self.sub_partitions - self.warps_per_block
        return max(self.blocks, min(self.most, int(room / max(0.01, warps)) + 1))


def first_step(warps: int, sub_partitions: int) -> int:
    """Sub-partitions from a block's first warp to the next block's: to where the block ended or,
    with as many warps for all, one further on (measured, validation/data/residency_sm90.json)."""
    return max(1, warps % sub_partitions)


def imbalance(work: npt.NDArray[np.int64], living: npt.NDArray[np.int64],
              sub_partitions: int) -> float:  # fmt: skip
    """The work of the busiest sub-partition over the mean of those that have any in a window.

    Where blocks always begin at the same two, warps that do less leave the same ones idle. `work`:
    of a block's warps, to their end; `living`: what of it lies in the window.
    """
    parts, seen = np.zeros(sub_partitions), np.zeros(sub_partitions)
    step = first_step(len(work), sub_partitions)
    for block in range(sub_partitions):
        place = (block * step + np.arange(len(work))) % sub_partitions
        np.add.at(parts, place, work)
        np.add.at(seen, place, living)
    mean = parts.sum() / max(1, np.count_nonzero(seen > _HARDLY * seen.max()))
    return float(max(1.0, parts.max() / max(1.0, mean)))


def carveout_bytes(launch: ExecutableLaunch, occupancy: Occupancy) -> int:
    """The shared-memory setting that the driver picks for the resident blocks."""
    threads = prod(launch.config.block)
    return driver_carveout_bytes(launch.gpu, int(occupancy.blocks), threads, launch.shared_bytes)


def residency(launch: ExecutableLaunch, occupancy: Occupancy) -> Residency:
    """The places of an SM of the launch's GPU."""
    gpu, blocks = launch.gpu, max(1, int(occupancy.blocks))
    warps = -(-prod(launch.config.block) // gpu.warp_size)
    most = int(occupancy.limit_blocks)
    used = launch.shared_bytes
    if prod(launch.sass.cluster_shape) > 1:
        most = blocks
    elif used:
        unit = gpu.shared_unit_bytes
        each = -(-(used + gpu.shared_reserved_bytes) // unit) * unit
        most = min(most, carveout_bytes(launch, occupancy) // each)
    return Residency(
        blocks=blocks, most=max(blocks, most), sub_partitions=gpu.sub_partitions,
        warps_per_block=warps,
        warp_slots=warp_slots(gpu, launch.sass.registers, blocks * warps),
    )  # fmt: skip


def warp_slots(gpu: GpuSpec, registers: int, least: int) -> int:
    """Warps that a sub-partition holds; `least`: that the SM is known to hold."""
    parts, unit = gpu.sub_partitions, gpu.register_unit
    each = max(1, -(-registers * gpu.warp_size // unit)) * unit
    room = min(gpu.max_warps_per_sm // parts, gpu.registers_per_sm // parts // each)
    return max(room, -(-least // parts))


def load_the_same(trace: BlockTrace) -> bool:
    """Whether the warps of a block mostly read the same lines one after another: whoever is ahead
    has to wait for them, and they stay together."""
    warps, begins = trace.warps_per_block, trace.warp_accesses
    if warps < 2 or len(begins) <= warps or not len(trace.accesses):
        return False
    mine, last = (trace.accesses[begins[warp] : begins[warp + 1]] for warp in (0, warps - 1))
    n = min(len(mine), len(last))
    reads = (mine["kind"][:n] == _READ) & (mine["n_lines"][:n] > 0) & (last["n_lines"][:n] > 0)
    if not reads.any():
        return False
    lines = [trace.lines[one["first_line"][:n][reads]] >> 4 for one in (mine, last)]
    return bool((lines[0] == lines[1]).mean() > _MOSTLY)
