"""Instruction statistics: how many instructions of which opcode and class."""

from __future__ import annotations

from collections import Counter

from warplens.metrics.counters import Counters
from warplens.metrics.registry import Instances, SectionSpec, metric, rows, section


def _by(attribute: str) -> Instances:
    def pairs(c: Counters) -> list[tuple[str, int | float]]:
        counts = c.execution.columns.get("inst_executed")
        totals: Counter[str] = Counter()
        if counts is not None:
            for one, count in zip(c.classes.instructions, counts.tolist(), strict=True):
                totals[str(getattr(one, attribute))] += count
        return sorted(
            ((key, n) for key, n in totals.items() if n), key=lambda pair: (-pair[1], pair[0])
        )

    return pairs


metric("sass__inst_executed_per_opcode", unit="inst", formula=lambda c: c.sum("inst_executed"),
       instances=_by("opcode"), per_instruction=True,
       doc="Warp instructions executed, per opcode.")  # fmt: skip
metric("sass__inst_executed_per_opcode_category", unit="inst",
       formula=lambda c: c.sum("inst_executed"), instances=_by("category"),
       per_instruction=True, doc="Warp instructions executed, per class of opcode.")  # fmt: skip

section(
    SectionSpec(
        identifier="InstructionStats",
        title="Instruction Statistics",
        order=60,
        sets=frozenset({"full"}),
        rows=rows(
            ("Executed Instructions", "smsp__inst_executed.sum"),
            ("Avg. Executed Instructions Per Scheduler", "smsp__inst_executed.avg"),
            ("Issued Instructions", "smsp__inst_issued.sum"),
            ("Avg. Issued Instructions Per Scheduler", "smsp__inst_issued.avg"),
        ),
        instanced=("sass__inst_executed_per_opcode", "sass__inst_executed_per_opcode_category"),
    )
)
