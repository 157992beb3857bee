"""The long run: `python -m tests.fuzz --family half --programs 10000 --seed 1 --workers 2`."""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import Failure, Tally, run, shrink
from tests.fuzz.families import FAMILIES
from tests.fuzz.generate import generate
from tests.kernels.model import ARCHITECTURES

KINDS = ("mismatch", "refused", "error", "crash")


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


def _work(sender: Connection, seeds: range, architectures: list[str], family: str) -> None:
    # Entries of the cache are never asked for twice: only compiled functions are worth a disk.
    os.environ["WARPLENS_CACHE_DIR"] = "off"
    faulthandler.enable()
    sender.send(run(seeds, architectures, family))


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
        """All batches, each in a process of its own, so that a crash is known by its seeds."""
        # Forked once everything is compiled and loaded: the children share it.
        run([self.options.seed], self.architectures[:1], self.options.family)
        batches, halves = self.batches(), list[range]()
        running: dict[Connection, range] = {}
        while True:
            while len(running) < self.options.workers:
                seeds = halves.pop() if halves else next(batches, None)
                if seeds is None:
                    break
                running[self.start(seeds)] = seeds
            if not running:
                return
            for end in wait(list(running)):
                assert isinstance(end, Connection)
                seeds = running.pop(end)
                with end:
                    try:
                        self.add(end.recv())
                    except EOFError:
                        halves += self.split(seeds)

    def start(self, seeds: range) -> Connection:
        """A process for a batch; its tally, or the end of the file, comes from the connection."""
        receiver, sender = Pipe(duplex=False)
        options = self.options
        arguments = (sender, seeds, self.architectures, options.family)
        get_context("fork").Process(target=_work, args=arguments, daemon=True).start()
        sender.close()
        return receiver

    def split(self, seeds: range) -> list[range]:
        """Halves of a batch whose process died, or of a single program its report."""
        if len(seeds) > 1:
            print(f"a process died on seeds {seeds.start} to {seeds.stop - 1}", flush=True)
            return [seeds[: len(seeds) // 2], seeds[len(seeds) // 2 :]]
        program = generate(seeds[0], self.options.family)
        crash = Failure(program, ",".join(self.architectures), "crash", "the process died")
        self.add(Tally(1, len(self.architectures), [crash]))
        return []

    def add(self, part: Tally) -> None:
        """Takes a batch's results and says how far the campaign is."""
        self.total.programs += part.programs
        self.total.runs += part.runs
        self.total.failures += part.failures
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
            "crashes": self.kinds["crash"],
            "seconds": round(self.seconds(), 1),
            "workers": self.options.workers,
            "core_seconds_of_ended_processes": round(sum(u.ru_utime + u.ru_stime for u in used), 1),
            "failures": [failure.row() for failure in self.total.failures],
        }


def main() -> int:
    """Runs the campaign; exit code 1 if a program failed."""
    campaign = _Campaign(_arguments())
    campaign.run()
    campaign.add(Tally())
    return int(bool(campaign.total.failures))


if __name__ == "__main__":
    sys.exit(main())
