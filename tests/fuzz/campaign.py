"""Runs programs through warplens and compares, and shrinks those that differ."""

from __future__ import annotations

import faulthandler
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import warplens as wl
from tests.fuzz.families import FAMILIES
from tests.fuzz.generate import generate
from tests.fuzz.machine import Known, Outcome, run_batch
from tests.fuzz.program import Program
from tests.fuzz.values import Array


@dataclass(frozen=True, slots=True)
class Failure:
    """A program whose outputs differ ("mismatch"), or that was not run ("refused", "error")."""

    program: Program
    architecture: str
    kind: str
    message: str

    def __reduce__(self) -> tuple[Any, ...]:
        """Crosses processes as a seed, since operations are functions without names."""
        program = self.program
        return _again, (program.family, program.seed, self.architecture, self.kind, self.message)

    def report(self) -> str:
        """Family, seed, architecture, difference and source."""
        program = self.program
        head = f"{self.kind}: family {program.family}, seed {program.seed}, {self.architecture}"
        return f"{head}\n{self.message}\n{program.cuda('p0')}"

    def row(self) -> dict[str, str | int]:
        """The same for a JSON file."""
        return {
            "family": self.program.family, "seed": self.program.seed,
            "architecture": self.architecture, "kind": self.kind, "message": self.message,
            "source": self.program.cuda("p0"),
        }  # fmt: skip


def _again(family: str, seed: int, architecture: str, kind: str, message: str) -> Failure:
    return Failure(generate(seed, family), architecture, kind, message)


@dataclass(slots=True)
class Tally:
    """What a part of a campaign found."""

    programs: int = 0
    runs: int = 0
    failures: list[Failure] = field(default_factory=list)
    core_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """Seeds of a family that one worker runs on some architectures."""

    seeds: range
    architectures: tuple[str, ...]
    family: str

    def halves(self) -> list[Batch]:
        """Two smaller ones, or nothing if it is a single program."""
        middle = len(self.seeds) // 2
        parts = (self.seeds[:middle], self.seeds[middle:]) if middle else ()
        return [Batch(part, self.architectures, self.family) for part in parts]

    def crash(self) -> Tally:
        """The report of a single program whose process died."""
        program = generate(self.seeds[0], self.family)
        told = Failure(program, ",".join(self.architectures), "crash", "the process died")
        return Tally(1, len(self.architectures), [told])


def _failed(program: Program, architecture: str, error: Exception) -> Failure:
    kind = "refused" if isinstance(error, wl.Unsupported) else "error"
    return Failure(program, architecture, kind, f"{type(error).__name__}: {error}")


def _judged(
    program: Program, architecture: str, outcome: Outcome, expected: dict[str, Array]
) -> Failure | None:
    if outcome.error is not None:
        return _failed(program, architecture, outcome.error)
    assert outcome.output is not None
    message = program.difference(expected, outcome.output)
    return None if message is None else Failure(program, architecture, "mismatch", message)


def check(
    programs: Sequence[Program],
    architecture: str,
    expected: Sequence[dict[str, Array]],
    known: Known | None = None,
) -> Iterator[Failure]:
    """Runs the programs as one source and yields the failures.

    When the batch as a whole fails, each of its programs is run alone.
    """
    known = known or Known()
    try:
        outcomes = run_batch(FAMILIES[programs[0].family], programs, architecture, known)
    except Exception as error:  # anything: a fault of one program must not lose the others
        if len(programs) == 1:
            yield _failed(programs[0], architecture, error)
            return
        middle = len(programs) // 2
        for part in (slice(None, middle), slice(middle, None)):
            yield from check(programs[part], architecture, expected[part])
        return
    for program, outcome, wanted in zip(programs, outcomes, expected, strict=True):
        failure = _judged(program, architecture, outcome, wanted)
        if failure is not None:
            yield failure


def run(seeds: Iterable[int], architectures: Sequence[str], family: str = "numeric") -> Tally:
    """Runs the programs of some seeds on every architecture."""
    programs = [generate(seed, family) for seed in seeds]
    expected = [program.expected() for program in programs]
    known = Known()
    failures = [f for a in architectures for f in check(programs, a, expected, known)]
    return Tally(len(programs), len(programs) * len(architectures), failures)


def run_batch_of(batch: Batch) -> Tally:
    """`run` as a worker does it: entries of the cache are never asked for twice, only compiled
    functions are worth a disk."""
    faulthandler.enable()
    before, begin = os.environ.get("WARPLENS_CACHE_DIR"), time.process_time()
    os.environ["WARPLENS_CACHE_DIR"] = "off"
    try:
        found = run(batch.seeds, batch.architectures, batch.family)
    finally:
        if before is None:
            del os.environ["WARPLENS_CACHE_DIR"]
        else:
            os.environ["WARPLENS_CACHE_DIR"] = before
    found.core_seconds = time.process_time() - begin
    return found


def shrink(failure: Failure, attempts: int = 60) -> Failure:
    """A smaller program that still fails in the same way on the same architecture."""
    while attempts > 0:
        for program in failure.program.smaller():
            attempts -= 1
            found = next(check([program], failure.architecture, [program.expected()]), None)
            if found is not None and found.kind == failure.kind:
                failure = found
                break
            if attempts <= 0:
                return failure
        else:
            return failure
    return failure
