"""Counts what warps find in L1 of rows that they have just loaded, by the ways they load them."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from session import Session

from counters import counter_of

WAYS = "0_0", "0_1", "0_2", "3_3", "3_1", "3_2", "1_1", "1_0", "1_3"  # 0 plain, 1 cs, 2 lu, 3 nc
SIZES = {"words": 4, "quads": 16}
WARPS, ROWS = (1, 8, 32), (1, 2, 4)
ROW_BYTES = 512, 1536, 3072
METRICS = (
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum",
)  # fmt: skip
COLUMNS = ("kernel", "warps", "rows", "row_bytes", *METRICS)


def main() -> None:
    """Writes loaded_again_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("loaded_again"))
    out, a = driver.alloc(1 << 20), session.zeros(1 << 20)
    counted = counter_of(session, METRICS)
    rows = []
    for (name, bytes_of), way, warps, n, row in itertools.product(
        SIZES.items(), WAYS, WARPS, ROWS, ROW_BYTES
    ):
        function = driver.function(module, f"{name}_{way}")
        given = out, a, np.uint32(row // bytes_of), np.uint32(n)
        launch = partial(driver.launch, function, (1,), (32 * warps,), given)
        rows.append((f"{name}_{way}", warps, n, row, *counted(launch)))
    session.save_rows("loaded_again_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
