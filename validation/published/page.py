"""Writes docs/published.md from results.json: `python validation/published/page.py > ...`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from warplens.cli._published import VERDICTS, Row, ladder_lines, part_lines
from warplens.validation.published import read_published

HERE = Path(__file__).parent

HEAD = """# Kernels that others measured

Kernels of {sources} public sources, rewritten from their descriptions, compiled with NVRTC and
executed for the GPU of the source. {done} of the {listed} cases in `validation/published` have been
run: {times} published durations, {tuned} timed configurations of a dedispersion kernel,
{counted} cases with published counts. `python validation/published/page.py` writes this page from
the outcomes that `warplens validate validation/published/*.toml --record FILE` records.

Sources were split into a tuning and a validation half by a fixed seed before any durations were
compared; constants were fitted to the tuning half only. Where a source does not state clocks, boost
clocks are asked for, which a T4's power does not allow: kernels that calculate run at the 900 MHz
that others measured there (`clock.load_mhz` of `gpus/t4.toml`). All times were predicted on
2026-12-01 (UTC), but for those of dedispersion: 2026-11-27, with that day's model.
"""
TIMES = "| case | part | GPU | predicted µs | published µs | error |"
DIFFERENT = "| case | metric | here | published | cause |"


def _heading(cells: str) -> list[str]:
    return ["", cells, "| --- " * (cells.count("|") - 1) + "|"]


def rows() -> list[Row]:
    """The recorded outcomes, in the order of the case files."""
    recorded: dict[str, Any] = json.loads((HERE / "results.json").read_text())
    cases = [case for path in sorted(HERE.glob("*.toml")) for case in read_published(path)]
    return [
        Row.from_record(case, recorded[case.title]) for case in cases if case.title in recorded
    ]


def page() -> str:
    """The page's text."""
    found = rows()
    single = [row for row in found if not row.case.common_factor]
    timed = [row for row in single if row.error is not None]
    counted = [row for row in single if row.counts]
    head = HEAD.format(
        sources=len({row.case.source for row in found}), times=len(timed),
        tuned=sum(row.case.common_factor for row in found), counted=len(counted),
        done=len(found), listed=sum(len(read_published(path)) for path in HERE.glob("*.toml")),
    )  # fmt: skip
    lines = [head, "## Summary", "", *(f"- {text}" for text in part_lines(found))]
    lines += ["", "## Ladders", "", *(f"- {text}" for text in ladder_lines(found))]
    lines += ["", "## Times", *_heading(TIMES)]
    for row in timed:
        lines.append(
            f"| {row.case.title} | {row.case.part} | {row.case.gpu} | {row.predicted / 1e3:,.1f} "
            f"| {row.published / 1e3:,.1f} | {row.error:+.1%} |"
        )
    lines += ["", "## Counts", *_heading(f"| case | {' | '.join(VERDICTS)} |")]
    for row in counted:
        numbers = (str(row.verdicts.count(verdict)) for verdict in VERDICTS)
        lines.append(f"| {row.case.title} | {' | '.join(numbers)} |")
    lines += ["", "## Counts that are not equal", *_heading(DIFFERENT)]
    for row in counted:
        for metric, ours, published, verdict, cause in row.counts:
            if verdict in ("equal", "noise"):
                continue
            shown = "not available" if ours is None else f"{ours:,.10g}"
            lines.append(
                f"| {row.case.title} | `{metric}` | {shown} | {published:,.10g} | {cause} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
