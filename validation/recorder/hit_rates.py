"""Times loads, stores and additions of rows that L2 has or has not, by how lanes lie, in which
order warps go through them, and how many SMs do: of these those alone in their TPC, and others.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import numpy.typing as npt
from session import Session

from counters import counter_of

METRICS = (
    "sm__cycles_active.avg", "sm__cycles_active.max", "gpc__cycles_elapsed.max",
    "lts__t_sectors_srcunit_tex.sum", "lts__t_requests_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum", "lts__t_sectors.sum",
)  # fmt: skip
KERNELS = {  # bytes of a piece, turns of a warp
    "load_lines": (512, 128), "load_line": (128, 512), "load_sector": (32, 64),
    "store_lines": (512, 128), "store_line": (128, 512), "store_sector": (32, 64),
    "add_line": (128, 512), "add_sector": (32, 64), "float_line": (128, 512),
    "float_sector": (32, 64), "halves_line": (128, 512), "halves_sector": (32, 64),
    "double_lines": (256, 256), "double_sector": (32, 64), "ask_line": (128, 512),
    "ask_sector": (32, 64),
}  # fmt: skip
MIB = (1, 8, 128)  # the last is more than L2 has
BLOCKS = (8, 16, 33, 50, 66, 82, 98, 115, 132, 264)  # the last: two for each SM
THREADS = 1024
COLUMNS = ("kernel", "mib", "in_order", "blocks", *METRICS, "alone", "alone_cycles",
           "paired_cycles", "least_cycles", "most_cycles")  # fmt: skip


def _by_tpcs(noted: npt.NDArray[np.int64]) -> list[float]:
    """How many SMs have a TPC to themselves, mean cycles of blocks on them and on others (0: there
    are none), least and most, from each block's SM and clocks."""
    sms, cycles = noted[:, 0], noted[:, 2] - noted[:, 1]
    works = np.zeros(2 * 66, np.bool_)
    works[sms] = True
    alone = ~works[sms ^ 1]
    means = [float(cycles[some].mean()) if some.any() else 0.0 for some in (alone, ~alone)]
    found = len(np.unique(sms[alone])), *means, float(cycles.min()), float(cycles.max())
    return [round(one, 1) for one in found]


def main() -> None:
    """Writes hit_rates_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("hit_rates"))
    marks, data = session.zeros(24 * max(BLOCKS)), session.zeros(max(MIB) << 20)
    counted = counter_of(session, METRICS)
    rows = []
    for name, mib, in_order, blocks in itertools.product(KERNELS, MIB, (1, 0), BLOCKS):
        function = driver.function(module, f"hit_rates_{name}")
        size, turns = KERNELS[name]
        given = marks, data, *(np.uint32(one) for one in ((mib << 20) // size, turns, in_order))
        launch = partial(driver.launch, function, (blocks,), (THREADS,), given)
        for _ in range(2):  # all of it in both parts of L2
            launch()
        found = counted(launch)
        noted = driver.download(marks, 3 * blocks, np.uint64).reshape(-1, 3).astype(np.int64)
        rows.append((name, mib, in_order, blocks, *found, *_by_tpcs(noted)))
    session.save_rows("hit_rates_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
