"""Measures when the warps of streaming kernels have their data: one by one, or many together."""

from __future__ import annotations

from typing import Any

import numpy as np
from session import Session

SMS = 132
WINDOWS = (16, 32, 64, 128, 256, 512, 1024, 2048)
SHARES = (5, 25, 50, 75, 95, 99)
# loads of a warp, whether it writes, MiB of each array, steps, rounds of a warp, warps of a block,
# blocks of an SM in all, whether a barrier stands behind the loads
CASES = tuple(
    (loads, writes, size, steps, rounds, warps, -(-(1 << 11) // (loads * warps * rounds)), barrier)
    for loads in (1, 2, 4) for writes in (0, 1)
    for size in (8, 1024)
    for warps, barrier in ((1, 0), (4, 0), (8, 1), (16, 0), (16, 1))
    for steps, rounds in ((0, 1), (16, 1), (64, 1), (0, 32))
    if rounds == 1 or warps == 16
)  # fmt: skip


def spread(times: Any, window: int) -> float:
    """The variance of how many of the times lie in a window, over their mean (random ones: 1)."""
    middle = times[(times > np.percentile(times, 25)) & (times < np.percentile(times, 90))]
    counts = np.bincount(((middle - middle.min()) // window).astype(int))[:-1]
    return float(counts.var() / counts.mean()) if counts.size > 3 and counts.mean() else 0.0


def summed(notes: Any) -> dict[str, Any]:
    """Means over SMs: cycles from begin to data and to the end, spread of begins and of data."""
    found: dict[str, list[Any]] = {"begins": [], "data": [], "pace": []}
    for number in np.unique(notes[:, 0]):
        mine = notes[notes[:, 0] == number].astype(np.int64)
        base = mine[:, 1:].min()
        begin, data = mine[:, 1] - base, mine[:, 2] - base
        found["begins"].append([spread(begin, one) for one in WINDOWS])
        found["data"].append([spread(data, one) for one in WINDOWS])
        found["pace"].append((data.max() - begin.min()) / len(mine))
    took = (notes[:, 2] - notes[:, 1]).astype(float)
    rest = (notes[:, 3] - notes[:, 2]).astype(float)
    return {
        **{name: np.round(np.mean(rows, 0), 3).tolist() for name, rows in found.items()},
        "took": [round(float(took.mean()), 1), *np.percentile(took, SHARES).round(0).tolist()],
        "rest": [round(float(rest.mean()), 1), *np.percentile(rest, SHARES).round(0).tolist()],
    }  # fmt: skip


def main() -> None:
    """Writes arrivals_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver, u32 = session.driver, np.uint32
    module = driver.load(session.cubin("arrivals"))
    size = 4096 if session.dry_run else 1 << 30
    most = 132 * 2100
    from_, to, notes = driver.alloc(size), driver.alloc(size), driver.alloc(16 * most)
    for array in (from_, to):
        driver.fill(array, 0, size)
    rows, raw = [], {}
    for case in CASES:
        loads, writes, mib, steps, rounds, warps, blocks, barrier = case
        function = driver.function(module, f"arrivals_{loads}_{writes}")
        count = SMS * blocks * warps * rounds
        assert count <= most, case
        numbers = ((mib << 16) - 1, steps, rounds, barrier)
        for _ in range(2):
            driver.launch(function, (SMS * blocks,), (32 * warps,),
                          (notes, from_, to, *map(u32, numbers)))  # fmt: skip
        found = driver.download(notes, count * 4, np.uint32).reshape(-1, 4)
        if session.dry_run:
            found = np.random.default_rng(0).integers(0, 4000, found.shape, np.uint32)
            found[:, 0] %= 2
        rows.append({"case": case, **summed(found)})
        if rounds == 1 and loads in (1, 4) and warps in (1, 16) and steps in (0, 16):
            raw["_".join(map(str, case))] = found[np.isin(found[:, 0], [0, 57])]
    session.save_rows("arrivals_sm90", ("windows", *map(str, WINDOWS)), rows)
    np.savez_compressed(session.out / "arrivals_raw.npz", **raw)


if __name__ == "__main__":
    main()
