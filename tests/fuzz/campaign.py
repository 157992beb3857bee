"""Runs programs through warplens and compares, and shrinks those that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import warplens as wl
from tests.fuzz.generate import generate
from tests.fuzz.operations import TYPES, Array
from tests.fuzz.program import SLOTS, THREADS, Program

OPTIONS = ("-fmad=false", "-diag-suppress=186,39,68,61,177,550")


@dataclass(frozen=True, slots=True)
class Failure:
    """A program whose outputs differ, or that could not be run."""

    program: Program
    architecture: str
    message: str

    def report(self) -> str:
        """Seed, architecture, difference and source."""
        head = f"seed {self.program.seed} on {self.architecture}: {self.message}"
        return f"{head}\n{self.program.cuda('p0')}"


def difference(expected: Sequence[Array], actual: Sequence[Array]) -> str | None:
    """The first differing output, NaN equal to NaN, or None."""
    for t, want, got in zip(TYPES, expected, actual, strict=True):
        if t in "fd":
            bits = np.int32 if t == "f" else np.int64
            wrong = want.view(bits) != got.view(bits)
            wrong &= ~(np.isnan(want) & np.isnan(got))
        else:
            wrong = want != got
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            slot, lane = divmod(at, THREADS)
            name = f"{t}{slot}" if slot < SLOTS else f"cells[{slot - SLOTS}]"
            count = int(wrong.sum())
            return f"{name} of lane {lane}: expected {want[at]!r}, got {got[at]!r} ({count} differ)"
    return None


def check(
    programs: Sequence[Program], architecture: str, expected: Sequence[Sequence[Array]]
) -> Iterator[Failure]:
    """Compiles the programs as one source, runs each and yields the failures."""
    source = "\n".join(program.cuda(f"p{i}") for i, program in enumerate(programs))
    module = wl.Device(architecture).compile(source, options=OPTIONS)
    for i, program in enumerate(programs):
        arguments = program.arguments()
        try:
            module[f"p{i}"][1, THREADS](*arguments)
        except wl.WarplensError as error:
            yield Failure(program, architecture, f"{type(error).__name__}: {error}")
            continue
        message = difference(expected[i], arguments[len(TYPES) :])
        if message is not None:
            yield Failure(program, architecture, message)


def run(seeds: Iterable[int], architectures: Sequence[str]) -> list[Failure]:
    """All failures of the programs of some seeds."""
    programs = [generate(seed) for seed in seeds]
    expected = [program.expected() for program in programs]
    return [f for a in architectures for f in check(programs, a, expected)]


def found_in(seeds: Sequence[int], architectures: Sequence[str]) -> list[tuple[int, str, str]]:
    """As `run`, in a form that can pass between processes: seed, architecture, message."""
    return [(f.program.seed, f.architecture, f.message) for f in run(seeds, architectures)]


def shrink(failure: Failure, attempts: int = 300) -> Failure:
    """A smaller program that still fails on the same architecture."""
    for _ in range(attempts):
        for program in failure.program.smaller():
            attempts -= 1
            found = next(check([program], failure.architecture, [program.expected()]), None)
            if found is not None:
                failure = found
                break
            if attempts <= 0:
                return failure
        else:
            return failure
    return failure
