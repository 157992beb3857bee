"""Writes docs/advice.md: every rule with its example, and what the examples gave when run.

    python docs/advice/page.py

The text of a rule comes from its declaration, the code from the file beside this one, the table
from running all examples of tests/advice/planted.py and held_out.py.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "advice.md"
_HEADINGS = ("kernel", "GPU", "first advice", "estimate", "gain of the repaired kernel", "ratio")


def sections(examples: dict[tuple[str, str], str], gpus: dict[str, str]) -> str:
    """The rules in the order of their declarations; `examples` maps (rule, title) to a file."""
    from warplens.analysis.advice import rules

    lines: list[str] = []
    headed: set[str] = set()
    for rule in rules():
        if rule.identifier not in headed:
            lines += [f"## {rule.identifier}", ""]
            headed.add(rule.identifier)
        lines += [f"**{rule.title}** (section `{rule.section}`). {rule.doc}", ""]
        for (identifier, title), name in examples.items():
            if (identifier, title) != (rule.identifier, rule.title):
                continue
            code = (ROOT / "docs" / "advice" / f"{name}.cu").read_text().rstrip()
            lines += [f"Example on {gpus[name]}: [`docs/advice/{name}.cu`](advice/{name}.cu)", ""]
            lines += ["```cuda", code, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


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
    """Writes the page."""
    sys.path.insert(0, str(ROOT))
    from tests.advice.planted import CASES, TOLD, examples

    gpus = {case.name: case.gpu for case in (*CASES, *TOLD)}
    text = replaced(PAGE.read_text(), "rules", sections(examples(), gpus))
    PAGE.write_text(replaced(text, "table", table(measured())))


if __name__ == "__main__":
    main()
