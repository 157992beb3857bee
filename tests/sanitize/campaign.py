"""Every tool over every correct kernel of the project, on any architecture: nothing may be found.

    python -m tests.sanitize.campaign sm_75 sm_90 [--done FILE] [--seconds 160] [--only NAME]

The kernels are those of tests/kernels, tests/breadth and tests/cub. `--done` names a file with
a line per finished kernel: what is in it is not run again, so a long campaign can go on in pieces.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import tests.breadth.every
import tests.kernels.every  # noqa: F401
import warplens as wl
from tests.breadth.model import FEATURES
from tests.breadth.model import FOLDER as BREADTH
from tests.kernels.model import ARCHITECTURES, CASES, FOLDER, Case
from warplens.api import LaunchOptions
from warplens.errors import WarplensError

# Shortens paths while others follow them, on purpose; locks by volatile accesses without an acquire
# fence; a sum that starts with what nobody has written.
RACY = frozenset(
    {"components_flatten", "ticket_lock", "lane_lock", "lane_lock_naive", "counted"}
)


def every_case(gpu: str) -> Iterator[tuple[Path, Case]]:
    """The correct kernels that exist on an architecture."""
    yield from ((FOLDER / case.source, case) for case in CASES)
    for feature in FEATURES:
        if gpu in feature.architectures:
            yield BREADTH / feature.case.source, feature.case


def errors_of(path: Path, case: Case, gpu: str) -> str:
    """The report of a case if it has errors."""
    options = LaunchOptions(max_seconds=60, timing=False)
    kernel = wl.Device(gpu, options=options).compile(path, options=case.options)[case.kernel]
    arguments, _ = case.problem()
    report = kernel.sanitize[case.grid, case.block, 0, case.shared](*arguments)
    return str(report) if report.errors else ""


def _outcome(path: Path, case: Case, gpu: str) -> tuple[str, str]:
    try:
        text = errors_of(path, case, gpu)
    except WarplensError as error:
        return "refused", str(error)
    if not text:
        return "clean", ""
    return ("expected" if case.name in RACY else "FOUND"), text


def main() -> int:
    """Runs what is not done yet; prints what was found and the counts per architecture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gpus", nargs="*", default=list(ARCHITECTURES))
    parser.add_argument("--done", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    done = given.done.read_text().splitlines() if given.done and given.done.exists() else []
    seen = {row.split()[1] + " " + row.split()[2] for row in done}
    begin, is_whole = time.perf_counter(), True
    for gpu in given.gpus:
        for path, case in every_case(gpu):
            key = f"{gpu} {path.name}:{case.name}"
            if key in seen or given.only not in key:
                continue
            if time.perf_counter() - begin > given.seconds:
                is_whole = False
                break
            started = time.perf_counter()
            outcome, text = _outcome(path, case, gpu)
            row = f"{outcome} {key} {time.perf_counter() - started:.1f}"
            done.append(row)
            if given.done:
                with given.done.open("a") as file:
                    file.write(row + "\n")
            if outcome != "clean":
                print(row, text, sep="\n", flush=True)
    for gpu in given.gpus:
        outcomes = [row.split()[0] for row in done if row.split()[1] == gpu]
        counts = {name: outcomes.count(name) for name in sorted(set(outcomes))}
        print(gpu, len(outcomes), counts, "" if is_whole else "(not all yet)")
    return 1 if any(row.startswith("FOUND") for row in done) else 0


if __name__ == "__main__":
    sys.exit(main())
