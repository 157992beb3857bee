"""Measures times and counters of small kernels of many kinds, caches filled before each launch."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from kind_cases import CASES, Case
from launches import REASONS, STATES
from session import Session

from counters import Counters
from warplens.cli._launch_arguments import parse

TIMES = (
    "gpu__time_duration.sum", "sm__cycles_active.avg", "sm__cycles_active.max",
    "sm__cycles_elapsed.max", "sm__warps_active.avg.pct_of_peak_sustained_active",
)  # fmt: skip
COUNTS = (
    "sm__cycles_active.min", "l1tex__data_pipe_lsu_wavefronts.sum", "l1tex__t_sector_hit_rate.pct",
    "lts__t_sectors_srcunit_tex.sum", "lts__t_sectors_srcunit_tex_lookup_miss.sum",
    "dram__bytes_read.sum", "dram__bytes_write.sum", "smsp__inst_executed.sum",
    "lts__t_sectors_op_red.sum", "lts__t_sectors_op_atom.sum",
)  # fmt: skip
FLUSHED_BYTES, REPEATS = 256 << 20, 3


class Bench:
    """The kernels, and what fills L2 before they run."""

    def __init__(self, session: Session, cubin: str = "kinds") -> None:
        self.driver = session.driver
        self.filler = self.driver.function(self.driver.load(session.cubin("rounds")), "rounds1")
        self.module = self.driver.load(session.cubin(cubin))
        self.flushed = self.driver.alloc(4096 if session.dry_run else FLUSHED_BYTES)
        self.out = self.driver.alloc(1 << 20)
        self.counters = None if session.dry_run else Counters(self.driver.context)

    def flush(self) -> None:
        """Reads an array that no case uses."""
        words = np.uint32(0), np.uint32(FLUSHED_BYTES // 4)
        arrays = self.out, self.flushed, self.flushed
        self.driver.launch(self.filler, (1056,), (256,), (*arrays, *words))
        self.driver.synchronize()

    def measured(self, case: Case, metrics: tuple[str, ...], repeats: int, *,
                 again: bool = False) -> dict[str, float]:  # fmt: skip
        """The middle one of some launches, by the first metric; `again`: each finds zeros."""
        function = self.driver.function(self.module, case["kernel"])
        given = [parse(text, seed=index) for index, text in enumerate(case["arguments"])]
        passed = [self.driver.upload(one) if isinstance(one, np.ndarray) else one for one in given]
        shape = tuple(case["grid"]), tuple(case["block"]), tuple(passed), case.get("shared", 0)

        def launch() -> None:
            self.driver.launch(function, *shape)

        def emptied() -> None:
            for one, place in zip(given, passed, strict=True):
                if isinstance(one, np.ndarray):
                    self.driver.fill(place, 0, one.nbytes)
            self.flush()

        launch()
        return self.middle(launch, emptied if again else self.flush, metrics, repeats)

    def middle(self, launch: Callable[[], None], before: Callable[[], None],
               metrics: tuple[str, ...], repeats: int) -> dict[str, float]:  # fmt: skip
        """The middle one of some runs of a launch, by the first metric; zeros in a dry run.
        `before` runs in front of each."""
        if self.counters is None:
            return dict.fromkeys(metrics, 0.0)
        self.counters.configure(metrics)
        runs = [
            self.counters.measure(launch, before, self.driver.synchronize) for _ in range(repeats)
        ]
        return sorted(runs, key=lambda run: run[metrics[0]])[repeats // 2]


def record(session: Session, name: str, launches: list[Case], *, cubin: str = "",
           again: bool = False, further: tuple[str, ...] = ()) -> None:  # fmt: skip
    """Writes what the launches of a cubin's kernels take to NAME_sm90.json; `further`: counters
    besides COUNTS."""
    counts = (*COUNTS, *further)
    bench = Bench(session, cubin or name)
    cases: list[dict[str, Any]] = []
    for case in launches:
        found = bench.measured(case, TIMES, REPEATS, again=again)
        more = bench.measured(case, (*STATES, *counts), 1, again=again)
        top = max(REASONS, key=lambda name: more[f"smsp__warps_issue_stalled_{name}.sum"])
        found |= {name: more[name] for name in counts}
        measured = {name: round(value, 3) for name, value in found.items()} | {"stall": top}
        cases.append({**case, "measured": measured})
    found_all = {"metadata": session.metadata(), "clocks": session.clocks(), "cases": cases}
    (session.out / f"{name}_sm90.json").write_text(json.dumps(found_all))
    print(len(cases), "launches")


def main() -> None:
    """Writes kinds_sm90.json."""
    record(Session.of_command_line(__doc__), "kinds", CASES)


if __name__ == "__main__":
    main()
