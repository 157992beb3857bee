"""Times loads of lines that another SM, or the same one, has changed: how, and which SM."""

from __future__ import annotations

import ctypes as ct
import itertools
from collections.abc import Iterator

import numpy as np
from session import Session

LINES, PASSES, ROUNDS = 256, 3, 3
PITCH = 32 * 33  # words from line to line: over all slices
ALONE_BYTES = 200 << 10  # of shared memory: one block on an SM
KINDS = ("none", "word", "line", "atomic", "stored_apart", "loaded")
READERS = (0, 1, 65)
WRITERS = (0, 1, 2, 3, 16, 33, 64, 65, 66, 99, 131)
REGIONS, STEPS = (1 << 10, 1 << 13, 1 << 16, 1 << 18), 512
PERCENT = (5, 25, 50, 75, 95)
CHANGING = "lines", "warps", "every", "kind", "mean", "max"
COLUMNS = ("kind", "reader", "writer", "pass", "mean", *(f"at_{p}" for p in PERCENT))


def cases() -> Iterator[tuple[str, int, int]]:
    """What the writer does, which block reads, and which changes lines."""
    for kind in KINDS:
        for reader in READERS:
            for writer in (reader, *(one for one in WRITERS if one != reader)):
                yield kind, reader, writer


def main() -> None:
    """Writes written_lines_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("written_lines"))
    function = driver.function(module, "written_lines")
    driver.set_dynamic_shared(function, ALONE_BYTES)
    out, a = session.zeros(4 * LINES * PASSES), session.zeros(4 * LINES * PITCH)
    rows = []
    for kind, reader, writer in cases():
        flags = session.zeros(256)
        numbers = (LINES, PITCH, reader, writer, KINDS.index(kind), ROUNDS, PASSES)
        given = out, a, flags, *(np.uint32(n) for n in numbers)
        driver.launch(function, (132,), (32,), given, shared=ALONE_BYTES)
        driver.synchronize()
        found = driver.download(out, LINES * PASSES, np.uint32).reshape(PASSES, LINES)
        for number, one in enumerate(found):
            percentiles = (float(value) for value in np.percentile(one, PERCENT))
            rows.append((kind, reader, writer, number, float(one.mean()), *percentiles))
    session.save_rows("written_lines_sm90", COLUMNS, rows)
    session.save_rows("changing_lines_sm90", CHANGING, _changing(session, module, out))


def _changing(session: Session, module: ct.c_void_p, out: ct.c_uint64) -> list[tuple[object, ...]]:
    """Cycles of a step of warps that load and change lines of a region."""
    driver, rows = session.driver, []
    function = driver.function(module, "changing_lines")
    a = session.zeros(128 * max(REGIONS))
    for region, warps, every in itertools.product(REGIONS, (1, 4, 16, 32), (1, 4, 16)):
        for kind in ("none", "word", "line", "atomic", "loaded"):
            numbers = (region, 32, STEPS, every, KINDS.index(kind))
            given = out, a, *(np.uint32(n) for n in numbers)
            for _ in range(2):
                driver.launch(function, (132,), (32 * warps,), given)
            driver.synchronize()
            found = driver.download(out, 132, np.uint32) / STEPS
            rows.append((region, warps, every, kind, float(found.mean()), float(found.max())))
    return rows


if __name__ == "__main__":
    main()
