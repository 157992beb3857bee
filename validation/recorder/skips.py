"""Measures code that jumps over code: loops of one to 32 warps, in step and out of step, and
launches of many short blocks."""

from __future__ import annotations

import re
from functools import partial

import build
import numpy as np
from session import Session

from counters import counter_of

TURNS, WARPS = 8, (1, 4, 16, 32)
BLOCKS, THREADS = 132 * 32, 64  # of the launches, which run everything once
METRICS = (
    "sm__cycles_active.avg", "smsp__inst_issued.sum",
    "smsp__warps_issue_stalled_no_instruction.sum", "smsp__warps_active.sum",
)  # fmt: skip
# `used` and `gap`: instructions of a segment that run, the jump included, and that do not;
# cycles of a turn, of the mean warp; in place of them, of launches, METRICS
COLUMNS = ("used", "gap", "segments", "warps", "delay", "cycles_of_a_turn", *METRICS)


def kernels() -> list[tuple[int, int, int]]:
    """The numbers of each kernel of skips.cu."""
    text = (build.KERNELS / "skips.cu").read_text()
    found = [
        (int(used), int(gap), segments)
        for used, gap in re.findall(r"^KERNELS\((\d+), (\d+)\)", text, re.M)
        for segments in (8, 16, 32, 64, 96)
    ]
    single = re.findall(r"^KERNEL\((\d+), (\d+), (\d+)\)", text, re.M)
    return [*found, *((int(a), int(b), int(c)) for a, b, c in single)]


def main() -> None:
    """Writes skips_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("skips"))
    data, clocks = session.zeros(1 << 16), driver.alloc(8 * 32)
    counted = counter_of(session, METRICS)
    rows = []
    for used, gap, segments in kernels():
        function = driver.function(module, f"skip_{used}_{gap}_{segments}")

        def given(turns: int, delay: int) -> tuple[object, ...]:
            return clocks, data, *(np.uint32(n) for n in (turns, delay, 0))

        for warps in WARPS:
            for delay in {0, used * segments * max(1, warps // 4) // warps if warps > 1 else 0}:
                for _ in range(2):
                    driver.launch(function, (1,), (32 * warps,), given(TURNS, delay))
                driver.synchronize()
                found = driver.download(clocks, 2 * warps, np.uint32).reshape(-1, 2)
                cycles = float((found[:, 1] - found[:, 0]).mean()) / TURNS
                rows.append((used, gap, segments, warps, delay, round(cycles, 1),
                             *[0.0] * len(METRICS)))  # fmt: skip
        launch = partial(driver.launch, function, (BLOCKS,), (THREADS,), given(1, 0))
        rows.append((used, gap, segments, 0, 0, 0.0, *counted(launch)))
    session.save_rows("skips_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
