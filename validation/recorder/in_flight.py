"""Measures loads of lines that are on their way to L1, beside loads of lines that are there.

Once for each place: what the clocks of warps say of loads that ask for one line or two, of a shared
word behind them, and of the time when all are there. And on and on, on all SMs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from session import Session

from counters import Counters

# Bytes from a place to where each lane reads, for words of so many bytes
PATTERNS: dict[str, Callable[[Any, int], Any]] = {
    "word": lambda lane, size: 0 * lane,
    "row": lambda lane, size: size * lane,
    "half": lambda lane, size: size * (lane % 16),
    "shifted": lambda lane, size: size * lane + 4,
    "two_rows": lambda lane, size: 2 * size * lane,
}
# For each load of a warp. Steps of a line: the first load asks for the whole next line but
# a word, the others read so many words of it beside the line that is there; or each two words
# more of it. Steps of sixteen lines: half of each load's lanes read a line of the step before.
WORDS = 0, 1, 4, 8, 16, 24, 32
MIXED: dict[str, tuple[int, Callable[[int, Any], Any]]] = {
    **{f"behind_{n}": (128, lambda i, lane, n=n: 4 * (lane + (n if i else 31))) for n in WORDS},
    "growing": (128, lambda i, lane: 4 * (lane + 2 * i)),
    "beside": (2048, lambda i, lane: 128 * i + 4 * lane + 2048 * (lane > 15)),
    "fresh": (2048, lambda i, lane: 128 * i + 4 * lane + 2048),
}
FAR = "beside", "fresh"
PLACES = "there", "l2", "dram"
WARPS = 1, 4, 8, 16, 32
ONCE = {4: (1, 2, 4, 8, 16), 8: (2, 8), 16: (2, 8)}  # loads of a warp, by bytes of a lane
ROUNDS = ((4, 4, 0), (4, 8, 0), (4, 16, 0), (4, 8, 24), (8, 8, 0), (16, 4, 0))
MIXED_ROUNDS = {128: ((4, 16, 0), (4, 8, 24)), 2048: ((4, 16, 0),)}
STEP = {4: 256, 8: 256, 16: 512}  # bytes from one line to the next
LINES, SMS, REPEATS = 8, 132, 5
PAGE, REGION = 1 << 21, 1 << 15  # a page of 2 MB; what one launch of `once` reads of each half
DATA = 1 << 30
# Each: bytes of a lane, what lanes read, loads of a warp, loads from shared memory behind them (of
# one that goes on), warps, whether all read the same lines, where these are; then medians of
# launches. Once: cycles from the first clock to the last issue, the first and last shared word, the
# first and last warp that has all. On and on: cycles for each line of a warp.
CASE = "bytes", "pattern", "same", "more", "warps", "together", "place"
COLUMNS = (*CASE, "cycles")
# Counted in launches of all SMs that go on and on, for each line of a warp
METRICS = (
    "l1tex__data_pipe_lsu_wavefronts.sum", "l1tex__data_bank_reads.sum",
    "l1tex__data_bank_writes.sum", "l1tex__lsu_writeback_active.sum",
    "l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum",
    "l1tex__data_bank_conflicts_pipe_lsu.sum", "l1tex__m_xbar2l1tex_read_sectors.sum",
)  # fmt: skip
COUNTED_WARPS = 4, 32


def offsets(pattern: str, size: int, same: int) -> Any:
    """Where the lanes of each of a warp's loads read."""
    if pattern in MIXED:
        rows = [MIXED[pattern][1](i, np.arange(32)) for i in range(same)]
        return np.concatenate(rows).astype(np.uint32)
    return np.tile(PATTERNS[pattern](np.arange(32), size), same).astype(np.uint32)


def patterns_of(size: int) -> tuple[str, ...]:
    """What is measured with words of a size."""
    return tuple(PATTERNS) if size == 4 else ("word", "row")


class Recorder:
    """The kernels, and places that no cache holds."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.module = self.driver.load(session.cubin("in_flight"))
        self.data = self.driver.alloc(DATA)
        self.driver.fill(self.data, 0, DATA)
        self.clocks = self.driver.alloc(8 * 32 * SMS + 16)
        self.fresh, self.far = 0, DATA // 2

    def place(self, where: str) -> int:
        """Bytes to a place for `once`; those of DRAM are asked for once only."""
        if where != "dram":
            return 0
        self.fresh += 1
        pages, part = divmod(self.fresh, PAGE // 2 // REGION)
        return (1 + pages) % (DATA // PAGE - 64) * PAGE + part * REGION

    def once(self, size: int, pattern: str, same: int, warps: int, together: bool,
             where: str) -> list[float]:  # fmt: skip
        """Clocks of one block's warps."""
        function = self.driver.function(self.module, f"once_{size}_{same}")
        given = self.driver.upload(offsets(pattern, size, same))
        of_a_warp = np.uint32(0 if together else STEP[size])
        apart = np.uint32(0 if where == "there" else PAGE // 2)
        found = []
        for _ in range(REPEATS + 1):
            at = type(self.data)(self.data.value + self.place(where))
            self.driver.launch(function, (1,), (32 * warps,),
                               (self.clocks, at, given, of_a_warp, apart))  # fmt: skip
            self.driver.synchronize()
            t = self.driver.download(self.clocks, 4 * warps, np.uint32).reshape(warps, 4)
            t = (t - t[:, 0].min()).astype(np.uint32)
            found.append((t[:, 1].max(), t[:, 2].min(), t[:, 2].max(), t[:, 3].min(),
                          t[:, 3].max()))  # fmt: skip
        return np.median(found[1:], axis=0).tolist()  # the first one brings L2 its lines

    def going(self, size: int, pattern: str, same: int, more: int, warps: int, together: bool,
              where: str) -> tuple[Callable[[], None], int]:  # fmt: skip
        """A launch of all SMs, and how many lines each of their warps goes through."""
        line = MIXED[pattern][0] if pattern in MIXED else STEP[size]
        function = self.driver.function(self.module, f"rounds_{size}_{same}_{line}_{more}")
        given = self.driver.upload(offsets(pattern, size, same))
        count = max(2, 64 // warps)
        step = LINES * line
        of_a_warp = 0 if together else count * step + line
        of_a_block = count * step + line if together else warps * of_a_warp
        reach = SMS * of_a_block

        def launch() -> None:
            if where == "dram":
                self.far = self.far if self.far + reach + step < DATA else 0
            at = type(self.data)(self.data.value + (self.far if where == "dram" else 0))
            self.far += reach
            self.driver.launch(function, (SMS,), (32 * warps,), (
                self.clocks, at, given, np.uint64(of_a_block), np.uint32(of_a_warp),
                np.uint32(0 if where == "there" else step), np.uint32(count),
            ))  # fmt: skip
            self.driver.synchronize()

        return launch, count * LINES

    def rounds(self, *case: Any) -> float:
        """Cycles for each line of a warp."""
        launch, lines = self.going(*case)
        warps, found = case[4], []
        for _ in range(REPEATS + 1):
            launch()
            t = self.driver.download(self.clocks, 2 * warps * SMS, np.uint32).reshape(SMS, warps, 2)
            spent = (t[:, :, 1].max(1) - t[:, :, 0].min(1)).astype(np.uint32)
            found.append(float(np.median(spent)) / lines)
        return round(float(np.median(found[1:])), 2)


def going_cases() -> list[tuple[Any, ...]]:
    """What goes on and on."""
    kinds = [(*kind, pattern) for kind in ROUNDS for pattern in patterns_of(kind[0])]
    kinds += [(*kind, pattern) for pattern, (step, _) in MIXED.items()
              for kind in MIXED_ROUNDS[step]]  # fmt: skip
    found = [
        (size, pattern, same, more, warps, together, place)
        for size, same, more, pattern in kinds
        for warps, together, place in itertools.product(WARPS, (False, True), PLACES)
    ]  # of steps of sixteen lines neither L1 nor L2 can hold more
    return [case for case in found if case[1] not in FAR or (case[4] <= 8 and case[6] != "l2")]


def count(session: Session, recorder: Recorder) -> None:
    """Writes in_flight_counts_sm90.json."""
    counters, rows = None, []
    if not session.dry_run:
        counters = Counters(session.driver.context)
        counters.configure(METRICS)
    for case in going_cases():
        if case[4] not in COUNTED_WARPS:
            continue
        launch, lines = recorder.going(*case)
        launch()
        found = dict.fromkeys(METRICS, 0.0)
        if counters is not None:
            found = counters.measure(launch, lambda: None, session.driver.synchronize)
        of_a_line = lines * case[4] * SMS
        rows.append((*case, *(round(found[name] / of_a_line, 3) for name in METRICS)))
    session.save_rows("in_flight_counts_sm90", (*CASE, *METRICS), rows)


def main() -> None:
    """Writes in_flight_sm90.json."""
    session = Session.of_command_line(__doc__)
    recorder, rows = Recorder(session), []
    for size, counts in ONCE.items():
        for case in itertools.product(patterns_of(size), counts, WARPS, (False, True), PLACES):
            pattern, same, warps, together, place = case
            cycles = recorder.once(size, pattern, same, warps, together, place)
            rows.append((size, pattern, same, -1, warps, together, place, cycles))
    rows += [(*case, recorder.rounds(*case)) for case in going_cases()]
    session.save_rows("in_flight_sm90", COLUMNS, rows)
    count(session, recorder)


if __name__ == "__main__":
    main()
