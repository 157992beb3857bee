"""Measures which blocks an SM holds while warps leave, where they go, how soon, who goes first."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
from session import Session

SMS = 132
EARLY, LATE, STEP = 20_000, 200_000, 30_000  # cycles
TURNS = {"xu": 64, "issue": 512, "load": 64}
# blocks of an SM, warps of a block
SHAPES = ((1, 16), (1, 32), (16, 1), (32, 1), (8, 4), (8, 8), (100, 1))
TURNED = ((1, 1), (1, 4), (1, 8), (1, 16), (1, 32), (2, 16), (2, 32), (8, 8), (16, 4), (32, 2))
# cycles that blocks stay; that all but their first warp stay less; stores of a lane, words apart
ENDS = (
    (20_000, 0, 0, 1), (20_000, 5_000, 0, 1), (2_000, 1_000, 0, 1), (20_000, 5_000, 4, 1),
    (20_000, 5_000, 1, 32), (20_000, 5_000, 4, 32), (20_000, 0, 4, 1), (20_000, 0, 4, 32),
)  # fmt: skip
SCRATCH_BYTES = 128 << 20
Clocks = npt.NDArray[np.int64]


class Bench:
    """Buffers and launches."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.module = self.driver.load(session.cubin("residency"))
        self.out = self.driver.alloc(4096 if session.dry_run else 64 << 20)
        self.zeros = self.driver.alloc(SCRATCH_BYTES)
        self.driver.fill(self.zeros, 0, SCRATCH_BYTES)

    def run(self, name: str, blocks: int, warps: int, args: tuple[int, ...],
            shared: int = 0) -> Clocks:  # fmt: skip
        """(block, warp, SM then slot then clocks)."""
        driver = self.driver
        function = driver.function(self.module, name)
        arguments = (self.out, self.zeros, *(np.uint32(a) for a in args))
        driver.launch(function, (blocks,), (32 * warps,), arguments, shared)
        driver.synchronize()
        words = driver.download(self.out, blocks * warps * 20, np.uint32).astype(np.int64)
        rows = words.reshape(blocks, warps, 20)
        found: Clocks = np.concatenate(
            [rows[:, :, :2], rows[:, :, 2::2] | rows[:, :, 3::2] << 32], axis=2
        )
        return found

    def attributes(self, name: str, warps: int, shared: int) -> tuple[int, int]:
        """Registers of a thread, blocks that the driver says an SM holds."""
        function = self.driver.function(self.module, name)
        self.driver.set_dynamic_shared(function, 200_000)
        occupancy = self.driver.occupancy(function, 32 * warps, shared)
        return self.driver.function_attribute(function, 4), occupancy


def living(rows: Clocks) -> dict[str, float]:
    """The most blocks and warps that lived on an SM at once, and the mean of blocks."""
    blocks, warps, means = [], [], []
    for sm in range(0, SMS, 6):
        begin, end = (rows[rows[:, 0, 0] == sm][:, :, i] for i in (2, 3))
        if not len(begin):
            continue
        first, last = begin.min(axis=1), end.max(axis=1)
        blocks.append(max(int(((first <= t) & (last > t)).sum()) for t in first))
        warps.append(max(int(((begin <= t) & (end > t)).sum()) for t in first))
        times = np.linspace(first.min(), last.max(), 60)[10:40]
        means.append(float(np.mean([((first <= t) & (last > t)).sum() for t in times])))
    return {"most_blocks": max(blocks), "most_warps": max(warps),
            "mean_blocks": round(float(np.mean(means)), 2)}  # fmt: skip


def record_leaving(bench: Bench) -> list[dict[str, float]]:
    """Blocks of which only the first warp stays, by registers, warps and shared memory."""
    found = []
    for held in (2, 22, 46, 110):
        for warps, shared in ((2, 0), (4, 0), (7, 0), (8, 0), (15, 0), (8, 25_000)):
            name = f"leave_{held}"
            registers, occupancy = bench.attributes(name, warps, shared)
            rows = bench.run(name, SMS * occupancy * 8, warps, (EARLY, LATE, STEP), shared)
            found.append({"registers": registers, "warps": warps, "shared": shared,
                          "occupancy": occupancy, **living(rows)})  # fmt: skip
    return found


def record_turnaround(bench: Bench) -> list[dict[str, float]]:
    """Cycles from a block's last instructions to the first one of the block that takes its place,
    and from there to the first one of its last warp; by shape and by what its warps store."""
    found = []
    for resident, warps in TURNED:
        shared = 200_000 // resident if resident * warps < 64 and resident < 32 else 0
        bench.attributes("turn", warps, shared)
        for stay, less, stores, apart in ENDS:
            args = (stay, stay // 2, less, stores, apart)
            rows = bench.run("turn", SMS * resident * 12, warps, args, shared)
            turns, skews = [], []
            for sm in range(0, SMS, 6):
                begin, end = (rows[rows[:, 0, 0] == sm][:, :, i] for i in (2, 3))
                starts, ends = np.sort(begin.min(axis=1)), np.sort(end.max(axis=1))
                turns.append(starts[resident:] - ends[: max(0, len(starts) - resident)])
                skews.append(begin.max(axis=1) - begin.min(axis=1))
            turn, skew = np.concatenate(turns), np.concatenate(skews)
            found.append({
                "resident": resident, "warps": warps, "stay": stay, "less": less,
                "stores": stores, "words_apart": apart, "turn": float(np.median(turn)),
                "turn_p10": float(np.percentile(turn, 10)),
                "turn_p90": float(np.percentile(turn, 90)), "last_warp": float(np.median(skew)),
            })  # fmt: skip
    return found


def record_steps(bench: Bench) -> dict[str, list[int]]:
    """By warps of a block: how far one block's first sub-partition is from the one before's."""
    found = {}
    for warps in (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14, 15, 16, 29):
        rows = bench.run("leave_2", SMS * (64 // warps), warps, (EARLY, EARLY, 0))
        steps: set[int] = set()
        for sm in range(SMS):
            first = rows[rows[:, 0, 0] == sm][:, 0, 1] % 4
            steps |= set((np.diff(first) % 4).tolist())
        found[str(warps)] = sorted(steps)
    return found


def record_order(bench: Bench) -> dict[str, Any]:
    """When the warps of one sub-partition ended each eighth of their work, by block and warp."""
    found = {}
    for unit, turns in TURNS.items():
        for blocks, warps in SHAPES:
            rows = bench.run(f"compete_{unit}", SMS * blocks, warps, (turns, 0, 0))
            mine = rows[rows[:, 0, 0] == rows[0, 0, 0]]
            start = int(mine[:, :, 2].min())
            wanted = mine[:, :, 1] % 4 == mine[0, 0, 1] % 4
            found[f"{unit}/{blocks}x{warps}"] = [
                {"block": int(b), "warp": int(w), "clocks": (mine[b, w, 2:11] - start).tolist()}
                for b, w in np.argwhere(wanted)[:40]
            ]  # fmt: skip
    return found


def main() -> None:
    """Writes residency_sm90.json."""
    session = Session.of_command_line(__doc__)
    bench = Bench(session)
    found = {
        "metadata": session.metadata(),
        "leaving": record_leaving(bench),
        "turnaround": record_turnaround(bench),
        "first_sub_partition_steps": record_steps(bench),
        "order": record_order(bench),
    }
    (session.out / "residency_sm90.json").write_text(json.dumps(found, separators=(",", ":")))
    print(len(found["leaving"]), "shapes,", len(found["order"]), "competitions")


if __name__ == "__main__":
    main()
