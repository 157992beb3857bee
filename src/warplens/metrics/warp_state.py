"""Warp state statistics: what warps waited for."""

from __future__ import annotations

from warplens.metrics.registry import Row, SectionSpec, Table, rows, section
from warplens.metrics.timed import share, timed

# reason -> what a warp in this state waits for
STALL_REASONS = {
    "barrier": "other warps at a block barrier",
    "branch_resolving": "a branch target to be resolved",
    "dispatch_stall": "the dispatch unit (register file port)",
    "drain": "memory stores to complete after EXIT",
    "gmma": "a warpgroup matrix operation",
    "imc_miss": "a constant that missed the immediate constant cache",
    "lg_throttle": "room in the LSU queue for local and global accesses",
    "long_scoreboard": "the result of a global or local memory access",
    "math_pipe_throttle": "its execution pipe to be free",
    "membar": "a memory fence",
    "mio_throttle": "room in the MIO queue (shared memory, MUFU)",
    "misc": "something else",
    "no_instruction": "the instruction to be fetched",
    "not_selected": "the scheduler, which selected another warp",
    "selected": "nothing: it issued",
    "short_scoreboard": "an MIO result (shared memory, MUFU)",
    "sleeping": "the end of a sleep",
    "tex_throttle": "room in the TEX queue",
    "wait": "a fixed latency",
}
_PER_ISSUE = "smsp__average_warps_issue_stalled_{}_per_issue_active"

for _reason, _what in STALL_REASONS.items():
    share(_PER_ISSUE.format(_reason),
          f"Warps that wait for {_what}, per cycle with an issue.", max_rate=None,
          unit="inst")  # fmt: skip
    timed(f"smsp__warps_issue_stalled_{_reason}", "warp",
          f"Warps that wait for {_what}, summed over cycles.", cycle_unit="warp")  # fmt: skip
    share(f"smsp__average_warp_latency_issue_stalled_{_reason}",
          f"Cycles a warp waits for {_what}.", max_rate=None, unit="cycle")  # fmt: skip
share("smsp__average_warp_latency_per_inst_issued",
      "Average cycles between two issued instructions of a "
      "warp.", max_rate=None, unit="cycle")  # fmt: skip
share("smsp__average_warps_active_per_inst_executed",
      "Average warp cycles per executed instruction.", max_rate=None, unit="cycle")  # fmt: skip

section(
    SectionSpec(
        identifier="WarpStateStats",
        title="Warp State Statistics",
        order=50,
        sets=frozenset({"full"}),
        rows=rows(
            (
                "Warp Cycles Per Issued Instruction",
                "smsp__average_warp_latency_per_inst_issued.ratio",
            ),
            (
                "Warp Cycles Per Executed Instruction",
                "smsp__average_warps_active_per_inst_executed.ratio",
            ),
            (
                "Avg. Active Threads Per Warp",
                "smsp__thread_inst_executed_per_inst_executed.ratio",
            ),
            (
                "Avg. Not Predicated Off Threads Per Warp",
                "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
            ),
        ),
        extra=tuple(
            Row(
                label=("Selected" if reason == "selected"
                       else "Stall " + reason.replace("_", " ").title()),
                name=_PER_ISSUE.format(reason) + ".ratio",
                until=(9, 0) if reason == "imc_miss" else (99, 9),
                since=(9, 0) if reason == "gmma" else (0, 0),
            )
            for reason in STALL_REASONS
        ),
        tables=(
            Table(
                title="Warp State (All Cycles)",
                columns=("State", "Warps per issue"),
                rows=tuple(
                    (reason.replace("_", " ").title(), _PER_ISSUE.format(reason) + ".ratio")
                    for reason in STALL_REASONS
                ),
            ),
        ),
    )
)  # fmt: skip
