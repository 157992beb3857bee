"""Writes the table of docs/advice.md: what the examples of the rules gave when run.

    python docs/advice_table.py

It runs all examples of tests/advice/planted.py and held_out.py.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "advice.md"
_HEADINGS = ("kernel", "GPU", "first advice", "estimate", "gain of the repaired kernel", "ratio")


def row(name: str, gpu: str, first: str, estimate: float, gain: float) -> str:
    """One line of the table."""
    cells = (name, gpu, first, f"{estimate:.0f} %", f"{gain:.0f} %", f"{estimate / gain:.2f}")
    return "| " + " | ".join(cells) + " |"


def table(rows: list[str]) -> str:
    """The table with its heading."""
    head = "| " + " | ".join(_HEADINGS) + " |"
    return "\n".join([head, "|" + " --- |" * len(_HEADINGS), *rows]) + "\n"


def measured() -> list[str]:
    """Runs all examples."""
    from tests.advice import held_out, planted

    rows = []
    for module in (planted, held_out):
        for case in module.CASES:
            before, after = (module.launched(case, which) for which in ("before", "after"))
            old, new = (float(run["gpu__time_duration.sum"]) for run in (before, after))
            first = before.advice()[0]
            name = case.name if module is planted else f"{case.name} (held out)"
            estimate = first.speedup or 0.0
            rows.append(row(name, case.gpu, first.title, estimate, 100 * (1 - new / old)))
    return rows


def replaced(text: str, mark: str, new: str) -> str:
    """The text with new content between two comments."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    return re.sub(
        re.escape(begin) + ".*?" + re.escape(end),
        lambda _: f"{begin}\n\n{new}\n{end}",
        text,
        flags=re.S,
    )


def main() -> None:
    """Writes the table."""
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(replaced(PAGE.read_text(), "table", table(measured())))


if __name__ == "__main__":
    main()
