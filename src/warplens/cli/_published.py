"""How `warplens validate` prints published cases: a line each, and two summaries."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from warplens.validation.measured import alike, kendall, spearman
from warplens.validation.published import Case, Outcome, judge, outcome, read_published

_ALIKE = 0.02  # times less apart than this are one step of a ladder
VERDICTS = ("equal", "noise", "explained", "differs")
Shown = tuple[str, float | None, float, str, str]  # metric, ours, published, verdict, cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is shown of a case; `predicted` and `published` in ns, 0 where there is none."""

    case: Case
    predicted: float
    published: float
    counts: tuple[Shown, ...]
    problem: str

    @classmethod
    def from_outcome(cls, one: Outcome) -> Row:
        """The row of a case just run."""
        return cls(
            case=one.case, predicted=one.time_ns or 0.0, published=one.case.time_ns or 0.0,
            problem=one.problem,
            counts=tuple(
                (c.metric, c.ours, float(c.published), c.verdict, c.cause) for c in one.counts
            ),
        )  # fmt: skip

    @classmethod
    def from_record(cls, case: Case, kept: dict[str, Any]) -> Row:
        """The row of a case whose outcome was kept."""
        ours = kept["counts"]
        outcome = Outcome(
            case=case, time_ns=kept["predicted_ns"], problem=kept["problem"],
            counts=tuple(
                judge(case, metric, ours[metric], published)
                for metric, published in case.counters.items() if metric in ours
            ),
        )  # fmt: skip
        return cls.from_outcome(outcome)

    @property
    def error(self) -> float | None:
        """The relative error of the time."""
        if not self.predicted or not self.published:
            return None
        return self.predicted / self.published - 1.0

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every count."""
        return [count[3] for count in self.counts]

    def record(self) -> dict[str, Any]:
        """What is kept of it."""
        return {
            "predicted_ns": round(self.predicted) or None, "problem": self.problem,
            "counts": {count[0]: count[1] for count in self.counts},
        }  # fmt: skip


def cases_of(files: Iterable[Path], *, part: str, pattern: str) -> list[Case]:
    """The cases that were asked for."""
    return [
        case for file in files for case in read_published(file)
        if part in ("all", case.part) and pattern in case.title
    ]  # fmt: skip


def outcome_of(case: Case) -> Outcome:
    """The outcome of a case with arguments as the command line writes them."""
    from warplens.cli._launch_arguments import parse

    return outcome(case, parse)


def line(row: Row) -> str:
    """Predicted and published time, and the counts that are equal."""
    start = f"{row.case.title:<44}{row.case.part:<11}"
    if row.problem:
        return f"{start}{row.problem}"
    text = start + " " * 41
    if row.error is not None:
        predicted, published = row.predicted / 1e3, row.published / 1e3
        text = f"{start}{predicted:>13,.1f} us{published:>13,.1f} us{row.error:>+9.1%}"
    if row.counts:
        good = sum(verdict in ("equal", "noise") for verdict in row.verdicts)
        text += f"  counts {good} of {len(row.counts)}"
    for metric, ours, wanted, verdict, cause in row.counts:
        if verdict not in ("equal", "noise"):
            text += f"\n    {verdict}: {metric}: {ours} here, {wanted} published"
            text += f" ({cause})" if cause else ""
    return text


def part_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Errors of the times and verdicts of the counts, by part."""
    for part in ("tuning", "validation"):
        mine = [row for row in rows if row.case.part == part and not row.case.common_factor]
        errors = np.array([abs(row.error) for row in mine if row.error is not None])
        if len(errors):
            yield (
                f"{part}: {len(errors)} published times: mean error {errors.mean():.1%}, median "
                f"{np.median(errors):.1%}, 90th percentile {np.percentile(errors, 90):.1%}, "
                f"maximum {errors.max():.1%}"
            )
        verdicts = [verdict for row in mine for verdict in row.verdicts]
        if verdicts:
            numbers = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS)
            cases = sum(bool(row.counts) for row in mine)
            yield f"{part}: {len(verdicts)} published counts of {cases} cases: {numbers}"


def ladder_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Rank correlations of every ladder of three steps or more."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.case.ladder and row.error is not None:
            found.setdefault(f"{row.case.source}: {row.case.ladder}", []).append(row)
    for name, mine in found.items():
        if len(mine) < 3:
            continue
        left, right = [row.predicted for row in mine], [row.published for row in mine]
        text = (
            f"{name}: {len(mine)} steps, Spearman {spearman(left, right):.2f}, "
            f"Kendall {kendall(left, right):.2f}"
        )
        if mine[0].case.common_factor:
            yield text + _scaled(left, right)
            continue
        joined = spearman(alike(left, _ALIKE), alike(right, _ALIKE))
        if len(set(alike(right, _ALIKE))) < len(right):
            text += f"; with steps less than {_ALIKE:.0%} apart as ties: Spearman {joined:.2f}"
        yield text


def _scaled(predicted: list[float], published: list[float]) -> str:
    """The error after one factor, and what choosing the predicted best costs."""
    pairs = list(zip(predicted, published, strict=True))
    factor = statistics.median(right / left for left, right in pairs)
    error = statistics.fmean(abs(factor * left / right - 1.0) for left, right in pairs)
    chosen = min(pairs)[1] / min(published) - 1.0
    return (
        f"; after a factor of {factor:.2f} mean error {error:.1%}; the predicted best is "
        f"{chosen:.1%} slower than the true best"
    )


def record(path: Path, row: Row) -> None:
    """Puts an outcome into a file of outcomes, in place of an older one of the same case."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found[row.case.title] = row.record()
    path.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")
