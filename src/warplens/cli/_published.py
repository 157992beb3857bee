"""How `warplens validate` prints published cases: a line each, and two summaries."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warplens.timing.published import Outcome

VERDICTS = ("equal", "noise", "explained", "differs")


def run_files(files: Iterable[Path], *, part: str, pattern: str) -> Iterator[Outcome]:
    """The outcomes of the cases that were asked for."""
    from warplens.cli._launch_arguments import parse
    from warplens.timing.published import read_published, run_published

    for file in files:
        cases = [
            case for case in read_published(file)
            if part in ("all", case.part) and pattern in case.title
        ]  # fmt: skip
        yield from run_published(cases, parse)


def line(one: Outcome) -> str:
    """Predicted and published time, and the counts that are equal."""
    start = f"{one.case.source + '/' + one.case.name:<44}{one.case.part:<11}"
    if one.problem:
        return f"{start}{one.problem}"
    text = start
    published = one.case.time_ns
    if one.time_ns is not None and published:
        error = one.time_ns / published - 1.0
        text += f"{one.time_ns / 1e3:>13,.1f} us{published / 1e3:>13,.1f} us{error:>+9.1%}"
    else:
        text += " " * 41
    if one.counts:
        good = sum(count.verdict in ("equal", "noise") for count in one.counts)
        text += f"  counts {good} of {len(one.counts)}"
        text += "".join(
            f"\n    {c.verdict}: {c.metric}: {c.ours} here, {c.published} published"
            + (f" ({c.cause})" if c.cause else "")
            for c in one.counts if c.verdict not in ("equal", "noise")
        )  # fmt: skip
    return text


def summary(outcomes: list[Outcome]) -> Iterator[str]:
    """Errors of the times by part, ranks by ladder, and counts by verdict."""
    from warplens.timing.validation import kendall, spearman, summarise

    for part in ("tuning", "validation"):
        mine = [one for one in outcomes if one.case.part == part and not one.case.common_factor]
        found = summarise(one.comparison() for one in mine)
        if found is not None:
            yield (
                f"published, {part}: {found.count} times: mean error {found.mean:.1%}, median "
                f"{found.median:.1%}, 90th percentile {found.p90:.1%}, maximum {found.worst:.1%}"
            )
        counts = [count for one in mine for count in one.counts]
        if counts:
            by_verdict = ", ".join(
                f"{sum(c.verdict == verdict for c in counts)} {verdict}" for verdict in VERDICTS
            )
            cases = sum(bool(one.counts) for one in mine)
            yield f"published, {part}: {len(counts)} counts of {cases} cases: {by_verdict}"
    scaled = {
        f"{one.case.source}: {one.case.ladder}" for one in outcomes if one.case.common_factor
    }  # fmt: skip
    for name, pairs in ladders(outcomes).items():
        left, right = zip(*pairs, strict=True)
        text = (
            f"ladder {name}: {len(pairs)} steps, Spearman {spearman(left, right):.2f}, "
            f"Kendall {kendall(left, right):.2f}"
        )
        yield text + (_scaled(pairs) if name in scaled else "")


def _scaled(pairs: list[tuple[float, float]]) -> str:
    """The error after one factor, and what choosing the predicted best costs."""
    factor = statistics.median(right / left for left, right in pairs)
    error = statistics.fmean(abs(factor * left / right - 1.0) for left, right in pairs)
    chosen = min(pairs)[1] / min(right for _, right in pairs) - 1.0
    return (
        f"; after a factor of {factor:.2f} mean error {error:.1%}; the predicted best is "
        f"{chosen:.1%} off the true best"
    )


def ladders(outcomes: Iterable[Outcome]) -> dict[str, list[tuple[float, float]]]:
    """Predicted and published times of every ladder of three steps or more."""
    found: dict[str, list[tuple[float, float]]] = {}
    for one in outcomes:
        if one.case.ladder and one.time_ns is not None and one.case.time_ns:
            pair = one.time_ns, one.case.time_ns
            found.setdefault(f"{one.case.source}: {one.case.ladder}", []).append(pair)
    return {name: pairs for name, pairs in found.items() if len(pairs) > 2}


def record(path: Path, one: Outcome) -> None:
    """Puts an outcome into a file of outcomes, in place of an older one of the same case."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found[f"{one.case.source}/{one.case.name}"] = {
        "part": one.case.part, "gpu": one.case.gpu, "ladder": one.case.ladder,
        "predicted_ns": None if one.time_ns is None else round(one.time_ns),
        "published_ns": one.case.time_ns, "problem": one.problem,
        "counts": [[c.metric, c.ours, float(c.published), c.verdict, c.cause] for c in one.counts],
    }  # fmt: skip
    path.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")
