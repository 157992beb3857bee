"""The long run: `python -m tests.fuzz --family half --programs 10000 --seed 1 --workers 2`."""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import Tally, run, shrink
from tests.fuzz.families import FAMILIES
from tests.kernels.model import ARCHITECTURES


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--family", choices=sorted(FAMILIES), default="numeric")
    parser.add_argument("--programs", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed")
    parser.add_argument("--archs", default=",".join(ARCHITECTURES), help="comma-separated")
    parser.add_argument("--batch", type=int, default=100, help="programs per source file")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, help="start no batch after this time")
    parser.add_argument("--json", type=Path, help="file for the results, rewritten as they come")
    parser.add_argument("--stop-after", type=int, default=1000, help="failures to stop at")
    parser.add_argument("--shrink", action="store_true", help="make failing programs smaller")
    return parser.parse_args()


def _start_worker() -> None:
    """Entries of the cache are never asked for twice: only compiled functions are worth a disk."""
    os.environ["WARPLENS_CACHE_DIR"] = "off"


class _Campaign:
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

    def batches(self) -> Iterator[range]:
        """Seeds of one batch after another, while there is time."""
        options = self.options
        end = options.seed + options.programs
        for first in range(options.seed, end, options.batch):
            late = options.seconds is not None and self.seconds() > options.seconds
            if late or len(self.total.failures) >= options.stop_after:
                return
            yield range(first, min(first + options.batch, end))

    def run(self) -> None:
        """All batches; at most one more than there are workers is under way."""
        options = self.options
        # Spawned once everything is compiled and loaded: the children share it.
        run([options.seed], self.architectures[:1], options.family)
        with ProcessPoolExecutor(
            options.workers, mp_context=get_context("fork"), initializer=_start_worker
        ) as pool:
            running: set[Future[Tally]] = set()
            for seeds in self.batches():
                running.add(pool.submit(run, seeds, self.architectures, options.family))
                if len(running) > options.workers:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    self.add(done)
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                self.add(done)

    def add(self, done: set[Future[Tally]]) -> None:
        """Takes results and says how far the campaign is."""
        for job in done:
            part = job.result()
            self.total.programs += part.programs
            self.total.runs += part.runs
            self.total.failures += part.failures
            self.kinds.update(failure.kind for failure in part.failures)
            for failure in part.failures:
                print((shrink(failure) if self.options.shrink else failure).report(), flush=True)
        print(self.line(), flush=True)
        if self.options.json is not None:
            self.options.json.write_text(json.dumps(self.result(), indent=1))

    def line(self) -> str:
        """The state in one line."""
        found = ", ".join(f"{self.kinds[k]} {k}" for k in ("mismatch", "refused", "error"))
        return (
            f"{self.options.family}: {self.total.programs} programs on {len(self.architectures)} "
            f"architectures, {self.total.runs} runs: {found}; {self.seconds():.0f} s"
        )

    def result(self) -> dict[str, Any]:
        """The state for a JSON file."""
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return {
            "family": self.options.family,
            "first_seed": self.options.seed,
            "programs": self.total.programs,
            "architectures": self.architectures,
            "runs": self.total.runs,
            "mismatches": self.kinds["mismatch"],
            "refusals": self.kinds["refused"],
            "errors": self.kinds["error"],
            "seconds": round(self.seconds(), 1),
            "workers": self.options.workers,
            "core_seconds_of_ended_processes": round(sum(u.ru_utime + u.ru_stime for u in used), 1),
            "failures": [failure.row() for failure in self.total.failures],
        }


def main() -> int:
    """Runs the campaign; exit code 1 if a program failed."""
    campaign = _Campaign(_arguments())
    campaign.run()
    campaign.add(set())
    return int(bool(campaign.total.failures))


if __name__ == "__main__":
    sys.exit(main())
