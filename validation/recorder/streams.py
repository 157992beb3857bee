"""Times and counts threads that read a word of each of several arrays and write a word of each of
several others, by how many and by how far they lie off a line."""

from __future__ import annotations

from functools import partial

import numpy as np
from session import Session

from counters import counter_of

# arrays read and written
STREAMS = (
    (1, 0), (4, 0), (20, 0), (0, 1), (0, 4), (0, 20), (1, 1), (4, 4), (8, 8), (20, 20), (4, 1),
    (1, 4),
)  # fmt: skip
SHIFTS = (0, 0), (4, 0), (0, 4), (0, 32), (4, 4)  # bytes by which reads and writes lie off a line
THREADS = 128, 256
TOTAL, ROOM = 200 << 20, 512  # bytes of all arrays, and between them
METRICS = (
    "gpu__time_duration.sum", "sm__cycles_active.avg", "lts__t_sectors_srcunit_tex.sum",
    "lts__t_requests_srcunit_tex.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
)  # fmt: skip
COLUMNS = ("reads", "writes", "read_shift", "write_shift", "threads", "odd", "blocks", *METRICS)


def main() -> None:
    """Writes streams_sm90.json; `odd`: whether arrays begin at odd KiB instead of whole MiB."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("streams"))
    out, data = driver.alloc(4096), session.zeros(2 * TOTAL)
    counted = counter_of(session, METRICS)
    rows = []
    for (reads, writes), (read_shift, write_shift), threads, odd in (
        (streams, shifts, threads, odd)
        for streams in STREAMS for shifts in SHIFTS for threads in THREADS for odd in (0, 1)
    ):  # fmt: skip
        if (read_shift and not reads) or (write_shift and not writes):
            continue
        length = TOTAL // (reads + writes) >> 20 << 20
        pitch = length + (odd * 33 << 10)
        blocks = (length - ROOM) // (4 * threads)
        begin = int(data.value) + read_shift, int(data.value) + reads * pitch + write_shift
        given = out, *(np.uint64(one) for one in (*begin, pitch))
        function = driver.function(module, f"streams_{reads}_{writes}")
        launch = partial(driver.launch, function, (blocks,), (threads,), given)
        rows.append((reads, writes, read_shift, write_shift, threads, odd, blocks,
                     *counted(launch)))  # fmt: skip
    session.save_rows("streams_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
