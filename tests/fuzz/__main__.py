"""The long run: `python -m tests.fuzz --family half --programs 10000 --seed 1 --workers 2`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import Batch, Tally, run_batch_of, shrink
from tests.fuzz.families import FAMILIES
from tests.kernels.model import ARCHITECTURES
from warplens.workers import Lost, Runner, in_order, runner_of
from warplens.workers.processes import Processes

KINDS = ("mismatch", "refused", "error", "crash")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--family", choices=sorted(FAMILIES), default="numeric")
    parser.add_argument("--programs", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed")
    parser.add_argument("--archs", default=",".join(ARCHITECTURES), help="comma-separated")
    parser.add_argument("--batch", type=int, default=100, help="programs per source file")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--scheduler", help="address of a Dask scheduler, or local")
    parser.add_argument("--seconds", type=float, help="start no batch after this time")
    parser.add_argument("--json", type=Path, help="file for the results, rewritten as they come")
    parser.add_argument("--stop-after", type=int, default=1000, help="failures to stop at")
    parser.add_argument("--shrink", action="store_true", help="make failing programs smaller")
    return parser.parse_args()


class Campaign:
    """Hands batches to processes and adds up what they found."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.architectures = options.archs.split(",")
        self.begin = time.monotonic()
        self.total = Tally()
        self.kinds: Counter[str] = Counter()

    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.begin

    def is_over(self) -> bool:
        """Whether no further batch is asked for."""
        options = self.options
        late = options.seconds is not None and self.seconds() > options.seconds
        return late or len(self.total.failures) >= options.stop_after

    def batches(self) -> list[Batch]:
        """All programs, in parts."""
        options = self.options
        seeds = range(options.seed, options.seed + options.programs)
        parts = (seeds[first : first + options.batch]
                 for first in range(0, len(seeds), options.batch))  # fmt: skip
        return [Batch(part, tuple(self.architectures), options.family) for part in parts]

    def run(self) -> None:
        """All batches; one at which workers died is halved until the program is known."""
        runner = self.runner()
        batches = self.batches()
        try:
            while batches and not self.is_over():
                batches = self.round(runner, batches)
        finally:
            runner.close()

    def runner(self) -> Runner:
        """Processes even for one worker, so that a crash is known by its seeds."""
        if self.options.scheduler is not None or self.options.workers > 1:
            return runner_of(self.options.scheduler, self.options.workers)
        return Processes(1)

    def round(self, runner: Runner, batches: list[Batch]) -> list[Batch]:
        """Takes the results in the order of the seeds; gives the halves of what crashed."""
        halves: list[Batch] = []
        done = in_order(runner.results(run_batch_of, batches))
        for batch, found in zip(batches, done, strict=False):
            if not isinstance(found, Lost):
                self.add(found)
            elif len(batch.seeds) == 1:
                self.add(batch.crash())
            else:
                print(f"a process died on seeds {batch.seeds.start} to {batch.seeds.stop - 1}",
                      flush=True)  # fmt: skip
                halves += batch.halves()
            if self.is_over():
                break
        done.close()
        return halves

    def add(self, part: Tally) -> None:
        """Takes a batch's results and says how far the campaign is."""
        self.total.programs += part.programs
        self.total.runs += part.runs
        self.total.failures += part.failures
        self.total.core_seconds += part.core_seconds
        self.kinds.update(failure.kind for failure in part.failures)
        for failure in part.failures:
            can_shrink = self.options.shrink and failure.kind != "crash"
            print((shrink(failure) if can_shrink else failure).report(), flush=True)
        print(self.line(), flush=True)
        if self.options.json is not None:
            self.options.json.write_text(json.dumps(self.result(), indent=1))

    def line(self) -> str:
        """The state in one line."""
        found = ", ".join(f"{self.kinds[k]} {k}" for k in KINDS)
        return (
            f"{self.options.family}: {self.total.programs} programs on {len(self.architectures)} "
            f"architectures, {self.total.runs} runs: {found}; {self.seconds():.0f} s"
        )

    def result(self) -> dict[str, Any]:
        """The state for a JSON file."""
        return {
            "family": self.options.family,
            "first_seed": self.options.seed,
            "programs": self.total.programs,
            "architectures": self.architectures,
            "runs": self.total.runs,
            "mismatches": self.kinds["mismatch"],
            "refusals": self.kinds["refused"],
            "errors": self.kinds["error"],
            "crashes": self.kinds["crash"],
            "seconds": round(self.seconds(), 1),
            "workers": self.options.workers,
            "core_seconds": round(self.total.core_seconds, 1),
            "failures": [failure.row() for failure in self.total.failures],
        }


def main() -> int:
    """Runs the campaign; exit code 1 if a program failed."""
    campaign = Campaign(_arguments())
    campaign.run()
    campaign.add(Tally())
    return int(bool(campaign.total.failures))


if __name__ == "__main__":
    sys.exit(main())
