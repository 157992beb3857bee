"""Records when warps of an SM's blocks are where, whose blocks load, meet, work and meet again."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

KERNELS = ("columns", "rows", "products", "shuffles", "special")
SHAPES = ((4, 16), (8, 8), (2, 16), (2, 32))  # blocks of an SM, warps of a block
SMS, WAVES, FEWER = 132, 6, 2
# Of one SM: block, warp, its slot, clocks as it begins, when its loads are there, behind the first
# barrier, behind its work, behind the second one.
COLUMNS = ("kernel", "resident", "warps", "clocks")


def main() -> None:
    """Writes block_phases_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("block_phases"))
    most = SMS * WAVES * 2048 * 2 * 4
    source, target, out = driver.alloc(most), driver.alloc(most), driver.alloc(most)
    rows = []
    for kernel, (resident, warps) in itertools.product(KERNELS, SHAPES):
        function = driver.function(module, kernel)
        shared = max((220 << 10) // resident - 1024, 256 * warps)
        driver.set_dynamic_shared(function, shared)
        blocks = SMS * resident * WAVES
        for _ in range(2):
            given = out, source, target, np.int32(7)
            driver.launch(function, (blocks,), (32 * warps,), given, shared)
        driver.synchronize()
        words = driver.download(out, blocks * warps * 8, np.uint32).astype(np.int64)
        found = words.reshape(blocks, warps, 8)
        mine = found[:, 0, 0] == found[FEWER, 0, 0]
        begun = int(found[mine][:, :, 2].min())
        rows.append((kernel, resident, warps, [
            [int(b), w, int(found[b, w, 1]), *(found[b, w, 2:7] - begun).tolist()]
            for b in np.flatnonzero(mine) for w in range(warps)
        ]))  # fmt: skip
    session.save_rows("block_phases_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
