"""The long run: `python -m tests.fuzz --programs 10000 --seed 1 --workers 2`."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.fuzz.campaign import Failure, found_in, shrink
from tests.fuzz.generate import generate
from tests.kernels.model import ARCHITECTURES


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=700, help="how many (default 700)")
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed")
    parser.add_argument("--archs", default=",".join(ARCHITECTURES), help="comma-separated")
    parser.add_argument("--batch", type=int, default=25, help="programs per source file")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--stop-after", type=int, default=10, help="failures to stop at")
    return parser.parse_args()


def _show(failure: Failure) -> None:
    print(f"FAILED seed {failure.program.seed} on {failure.architecture}; shrinking", flush=True)
    print(shrink(failure).report(), flush=True)


def main() -> int:
    """Runs the campaign; exit code 1 if a program failed."""
    options = _arguments()
    architectures = options.archs.split(",")
    end = options.seed + options.programs
    starts = range(options.seed, end, options.batch)
    begin, done, failures = time.monotonic(), 0, 0
    with ProcessPoolExecutor(options.workers) as pool:
        jobs = {
            pool.submit(found_in, range(s, min(s + options.batch, end)), architectures): s
            for s in starts
        }
        for job in as_completed(jobs):
            done += min(options.batch, end - jobs[job])
            for seed, architecture, message in job.result():
                failures += 1
                if failures <= options.stop_after:
                    _show(Failure(generate(seed), architecture, message))
            if failures >= options.stop_after:
                pool.shutdown(cancel_futures=True)
                break
            seconds = time.monotonic() - begin
            print(f"{done} programs, {failures} failures, {seconds:.0f} s", flush=True)
    print(f"{done} programs on {len(architectures)} architectures: {failures} mismatches")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
