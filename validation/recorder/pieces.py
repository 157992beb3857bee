"""Measures DRAM's bandwidth for pieces of rows: how long, in which order, by how many blocks."""

from __future__ import annotations

import numpy as np
from session import Session

BYTES, THREADS, REPEATS = 1 << 30, 256, 5
PIECES = (32, 64, 128, 256, 512, 1024, 4096)
PITCHES = (16384, 65536)
SHAPES = ((4, 0), (1, 0), (1, 54_000), (4, 110_000))  # quads of a thread, shared bytes of a block
COLUMNS = (
    "what", "quads_per_thread", "blocks_per_sm", "pitch_bytes", "piece_bytes", "read_apart",
    "write_apart", "gigabytes_per_second",
)  # fmt: skip
APART = (1, 2, 4, 8, 16, 32, 64, 128, 0)  # blocks between neighbours in a row; 0: scattered


class Bench:
    """Buffers and launches."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.module = self.driver.load(session.cubin("pieces"))
        size = 4096 if session.dry_run else BYTES
        self.source, self.target = self.driver.alloc(size), self.driver.alloc(size)
        self.never = self.driver.alloc(16)
        for buffer in (self.source, self.target):
            self.driver.fill(buffer, 0, size)
        self.start, self.stop = self.driver.event(), self.driver.event()

    def run(self, what: str, shape: tuple[int, int], pitch: int, piece: int, read: int,
            write: int) -> tuple[str | int, ...]:  # fmt: skip
        """A row: gigabytes read and written per second, of the median launch."""
        driver, (each, shared) = self.driver, shape
        function = driver.function(self.module, f"pieces_{what}_{each}")
        driver.set_dynamic_shared(function, 200_000)
        numbers = (pitch, BYTES // pitch, piece, read, write)
        arguments = (self.source, self.target, *(np.uint32(n) for n in numbers), self.never)
        times = []
        for _ in range(REPEATS + 1):
            driver.record(self.start)
            grid = (BYTES // (THREADS * 16 * each),)
            driver.launch(function, grid, (THREADS,), arguments, shared)
            driver.record(self.stop)
            times.append(driver.elapsed_ms(self.start, self.stop))
        seconds = float(np.median(times[1:])) / 1000.0
        moved = BYTES * (2 if what == "copy" else 1)
        blocks = driver.occupancy(function, THREADS, shared)
        return what, each, blocks, pitch, piece, read, write, round(moved / seconds / 1e9)


def main() -> None:
    """Writes pieces_sm90.json."""
    session = Session.of_command_line(__doc__)
    bench = Bench(session)
    rows = [
        bench.run(what, shape, pitch, piece, read, write)
        for shape in SHAPES
        for pitch in PITCHES
        for piece in PIECES
        for apart in APART
        if apart * (16 * THREADS * shape[0] // piece) <= BYTES // pitch
        for what, read, write in (
            ("read", apart, 1), ("write", 1, apart), ("copy", apart, 1), ("copy", 1, apart),
            ("copy", apart, apart),
        )
    ]  # fmt: skip
    session.save_rows("pieces_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
