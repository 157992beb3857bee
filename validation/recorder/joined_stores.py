"""Measures which stores of a warp L1 sends on together, that write structures member by member, and
how long words take that many warps of the chip write."""

from __future__ import annotations

from functools import partial

import numpy as np
from session import Session

from counters import counter_of

MEMBERS = (4, 1), (4, 2), (4, 3), (4, 4), (4, 8), (8, 1), (8, 2), (8, 3), (8, 4), (16, 1), (16, 2)
PITCHES = 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 80, 96, 128, 256
WARPS = 1, 8, 32, 64  # of an SM
ROUNDS, SMS, SIZE = 16, 132, 1 << 30
METRICS = (
    "sm__cycles_active.avg", "gpu__time_duration.sum", "lts__t_requests_srcunit_tex_op_write.sum",
    "lts__t_sectors_srcunit_tex_op_write.sum", "l1tex__data_pipe_lsu_wavefronts.sum",
    "dram__bytes_read.sum",
)  # fmt: skip
COLUMNS = ("kernel", "pitch", "warps", *METRICS)
WORDS = (1, 4), (2, 4), (8, 4), (32, 4), (2, 128), (8, 128), (32, 128), (128, 128), (1024, 128)


def main() -> None:
    """Writes joined_stores_sm90.json and same_words_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("joined_stores"))
    data = driver.alloc(4096 if session.dry_run else SIZE)
    counted = counter_of(session, METRICS)
    rows = []
    for (size, members), pitch, warps in (
        (one, pitch, warps) for one in MEMBERS for pitch in PITCHES for warps in WARPS
    ):  # fmt: skip
        if pitch < size * members or pitch % size or (pitch > 96 and warps == 8):
            continue
        name = f"members_{size}_{members}"
        shape = (SMS * max(1, warps // 32),), (32 * min(32, warps),)
        given = data, np.uint32(pitch), np.uint32(ROUNDS)
        launch = partial(driver.launch, driver.function(module, name), *shape, given)
        rows.append((name, pitch, warps, *counted(launch)))
    session.save_rows("joined_stores_sm90", COLUMNS, rows)
    rows = []
    for name in ("same_words", "same_words_all"):
        for (words, apart), sms, warps in (
            (one, sms, warps) for one in WORDS for sms in (1, 12, 132) for warps in (1, 32, 64)
        ):
            shape = (sms * max(1, warps // 32),), (32 * min(32, warps),)
            given = data, np.uint32(words), np.uint32(apart), np.uint32(4 * ROUNDS)
            launch = partial(driver.launch, driver.function(module, name), *shape, given)
            rows.append((name, words, apart, sms, warps, *counted(launch)))
    session.save_rows("same_words_sm90", ("kernel", "words", "apart", "sms", "warps", *METRICS),
                      rows)  # fmt: skip


if __name__ == "__main__":
    main()
