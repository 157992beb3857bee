"""Records which warps of a scheduler go on while all could issue: clocks of their turns."""

from __future__ import annotations

import itertools

import numpy as np
from session import Session

KERNELS = ("four_chains", "one_chain", "two_chains", "four_logic", "mixed")
# blocks of an SM, warps of a block
SHAPES = (
    (1, 8), (1, 16), (1, 32), (2, 4), (2, 8), (2, 16), (4, 4), (4, 8), (8, 4), (16, 1), (32, 1),
)  # fmt: skip
SMS, TURNS, STEP = 132, 96, 8
# Of one scheduler of one SM: block, warp, clocks at the end of every eighth turn.
COLUMNS = ("kernel", "resident", "warps", "clocks")


def main() -> None:
    """Writes turn_order_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("turn_order"))
    out = driver.alloc(8 << 20)
    rows = []
    for kernel, (resident, warps) in itertools.product(KERNELS, SHAPES):
        function = driver.function(module, kernel)
        shared = max((220 << 10) // resident - 1024, warps * TURNS * 4)
        driver.set_dynamic_shared(function, shared)
        blocks = SMS * resident
        for _ in range(2):
            given = out, np.float32(1.5), np.int32(7)
            driver.launch(function, (blocks,), (32 * warps,), given, shared)
        driver.synchronize()
        words = driver.download(out, blocks * warps * (TURNS + 2), np.uint32).astype(np.int64)
        found = words.reshape(blocks, warps, TURNS + 2)
        mine = (found[:, :, 0] == found[0, 0, 0]) & (found[:, :, 1] % 4 == found[0, 0, 1] % 4)
        begun = int(found[mine][:, 2].min())
        rows.append((kernel, resident, warps, [
            [int(b), int(w), *(found[b, w, 1 + STEP :: STEP] - begun).tolist()]
            for b, w in np.argwhere(mine)
        ]))  # fmt: skip
    session.save_rows("turn_order_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
