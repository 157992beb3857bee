"""Measures bodies that attract each other, with L2 emptied before and with what it has."""

from __future__ import annotations

from typing import Any

import numpy as np
from session import Session

SHAPES = (  # bodies, threads of a block
    (2048, 128), (4096, 32), (8192, 64), (16384, 128), (16896, 128), (33792, 256), (65536, 128),
    (65536, 512), (131072, 256),
)  # fmt: skip
FLUSHED = 1 << 28  # bytes
REPEATS = 11
COLUMNS = "kernel", "bodies", "threads", "l2", "ns"  # by events, beyond an empty kernel's; median


def main() -> None:
    """Writes begun_h100.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("begun"))
    functions = {name: driver.function(module, name) for name in
                 ("of_all", "apart", "flush", "nothing")}  # fmt: skip
    bodies, own, out = (driver.alloc(1 << 22) for _ in range(3))
    spare = driver.alloc(FLUSHED)
    for array, size in ((bodies, 1 << 22), (own, 1 << 22), (spare, FLUSHED)):
        driver.fill(array, 0, size)

    def measured(name: str, grid: int, block: int, given: tuple[Any, ...], is_cold: bool) -> float:
        found = []
        for _ in range(REPEATS + 1):  # the first time the kernel is brought to the card
            if is_cold:
                vectors = np.uint32(FLUSHED // 16)
                driver.launch(functions["flush"], (1024,), (256,), (spare, spare, vectors))
            begin, end = driver.event(), driver.event()
            driver.record(begin)
            driver.launch(functions[name], (grid,), (block,), given)
            driver.record(end)
            driver.synchronize()
            found.append(1e6 * driver.elapsed_ms(begin, end))
        return float(np.median(found[1:]))

    rows = []
    empty = measured("nothing", 1, 32, (), True)
    for n, threads in SHAPES:
        for name, arrays in (("of_all", (bodies,)), ("apart", (bodies, own))):
            for l2 in ("cold", "warm"):
                given = (out, *arrays, np.uint32(n))
                time = measured(name, n // threads, threads, given, l2 == "cold") - empty
                rows.append((name, n, threads, l2, round(time, 1)))
    session.save_rows("begun_h100", COLUMNS, rows)


if __name__ == "__main__":
    main()
