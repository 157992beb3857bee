"""Measures what the warps of a block wait for that load pieces of rows of two matrices, half of
them those of its rows, half those of its columns, by how far the rows lie apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from session import Session

SMS, ROUNDS, SKIPPED = 132, 32, 4
KERNELS = (2, 8), (8, 8), (16, 16)  # loads of a warp, lanes of a row
PITCHES = tuple(16 * n for n in (512, 520, 1024, 1032, 2048, 2056))  # bytes
WIDTHS = 1, 4, 11, 33, 132
WORK = 0, 256  # multiply-adds behind the loads of a round, each of 4 cycles
TABLE = 1 << 30  # bytes of a matrix
COLUMNS = ("loads", "lanes", "pitch", "width", "work", "of_dram", "round", "row_warps",
           "column_warps", "first", "last", "quarters")  # fmt: skip


def cases() -> Iterator[tuple[int, ...]]:
    """Loads, lanes of a row, pitch, width, work, whether from DRAM."""
    for (loads, lanes), pitch, width, work in (
        (kernel, pitch, width, work)
        for kernel in KERNELS for pitch in PITCHES for width in WIDTHS for work in WORK
    ):  # fmt: skip
        yield loads, lanes, pitch, width, work, 1
        if width in (11, 33):
            yield loads, lanes, pitch, width, work, 0


def record(session: Session, module: Any, places: tuple[Any, ...],
           case: tuple[int, ...]) -> list[Any]:  # fmt: skip
    """Of a round: its cycles, what the warps of rows and those of columns wait for their loads, the
    first warp and the last, quartiles of the last."""
    loads, lanes, pitch, width, work, of_dram = case
    out, data, other, third = places
    driver = session.driver
    if of_dram:  # L2 is full of clean lines of something else
        numbers = np.uint32(512), np.uint32(1), np.uint32(ROUNDS), np.uint32(0)
        flush = driver.function(module, "pitches_16_16")
        driver.launch(flush, (SMS,), (256,), (out, third, third, *numbers))
    function = driver.function(module, f"pitches_{loads}_{lanes}")
    numbers = np.uint32(pitch // 16), np.uint32(width), np.uint32(ROUNDS), np.uint32(work)
    for _ in range(1 if of_dram else 2):
        driver.launch(function, (SMS,), (256,), (out, data, other, *numbers))
    found = driver.download(out, SMS * (ROUNDS * 8 + 1), np.uint32)
    found = found.reshape(SMS, ROUNDS * 8 + 1).astype(float)
    took = found[:, :-1].reshape(SMS, ROUNDS, 8)[:, SKIPPED:]
    last = took.max(2)
    numbers = (found[:, -1].mean() / ROUNDS, took[:, :, :4].mean(), took[:, :, 4:].mean(),
               took.min(2).mean(), last.mean())  # fmt: skip
    quarters = [round(float(np.percentile(last, share)), 1) for share in (5, 25, 50, 75, 95)]
    return [*case, *(round(float(one), 1) for one in numbers), quarters]


def main() -> None:
    """Writes pitches_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("pitches"))
    size = 4096 if session.dry_run else TABLE
    out = driver.alloc(4 * SMS * (ROUNDS * 8 + 1))
    places = (out, *(driver.alloc(size) for _ in range(3)))
    for place in places[1:]:
        driver.fill(place, 0, size)
    listed = list(cases())[: 1 if session.dry_run else None]
    record(session, module, places, listed[0])  # the clocks rise
    session.save_rows("pitches_sm90", COLUMNS, [
        record(session, module, places, case) for case in listed
    ])  # fmt: skip


if __name__ == "__main__":
    main()
