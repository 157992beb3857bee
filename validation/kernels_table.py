"""Makes `data/kernels_sm90.json`: what the tests' kernels left in their arrays on a GPU.

`python validation/kernels_table.py RECORDED/kernels.json` takes what recorder/kernels_record.py
wrote, runs the same cases here and keeps, beside the GPU's digests, the forms of instructions that
were executed in cases with the GPU's bits: those forms count as recorded.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "validation" / "recorder"), str(ROOT)]

from kernel_cases import TRAPPED, Case, cases, digests  # noqa: E402

import warplens as wl  # noqa: E402
from warplens.api import LaunchOptions  # noqa: E402
from warplens.errors import WarplensError  # noqa: E402
from warplens.isa import forms  # noqa: E402

TABLE = Path(__file__).parent / "data" / "kernels_sm90.json"


@cache
def _module(source: str, options: tuple[str, ...]) -> Any:
    device = wl.Device("H200", options=LaunchOptions(timing=False, workers=1))
    return device.compile(ROOT / "tests" / source, options=options)


def executed(case: Case) -> tuple[list[str], list[str]]:
    """The digests of a case's arrays here, and the forms of the instructions that were executed."""
    kernel = _module(case.source, case.options)[case.kernel]
    arguments, expected = case.problem()
    launch = kernel[case.grid, case.block, 0, case.shared](*arguments)
    counts = launch.per_instruction("smsp__inst_executed.sum")
    found = {forms.form_of(inst) for inst, n in zip(kernel.sass.instructions, counts, strict=True)
             if n}  # fmt: skip
    return digests(case, arguments, dict(expected)), sorted(found)


def trap_form() -> str:
    """The form of the instruction with which a kernel ends itself."""
    case = cases()[TRAPPED]
    kernel = _module(case.source, case.options)[case.kernel]
    return next(forms.form_of(inst) for inst in kernel.sass.instructions if inst.opcode == "BPT")


def made(recorded: dict[str, Any]) -> dict[str, Any]:
    """The file's content: cases with digests, and by form the first case that executes it."""
    kept, cases_of = {}, dict[str, str]()
    for name, case in cases().items():
        row = recorded["cases"].get(name, {})
        if name == TRAPPED and "error" in row:
            kept[name] = {"error": row["error"]}
            cases_of.setdefault(trap_form(), name)
        if row.get("reference") != "equal":
            continue
        try:
            own, names = executed(case)
        except WarplensError as error:
            print(name, error)
            continue
        kept[name] = {"digests": row["digests"], "equal": row["agree"] and own == row["digests"]}
        if kept[name]["equal"]:
            for form in names:
                cases_of.setdefault(form, name)
    by_form = dict(sorted(cases_of.items()))
    return {"metadata": recorded["metadata"], "cases": kept, "forms": by_form}


def main() -> None:
    """Writes the file."""
    document = made(json.loads(Path(sys.argv[1]).read_text()))
    TABLE.write_text(json.dumps(document, indent=0) + "\n")
    equal = sum(row.get("equal", False) for row in document["cases"].values())
    print(f"{len(document['cases'])} cases, {equal} with the GPU's bits, "
          f"{len(document['forms'])} forms executed in them")  # fmt: skip


if __name__ == "__main__":
    main()
