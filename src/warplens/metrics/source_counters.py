"""Source counters: branches, and the columns of the source page."""

from __future__ import annotations

from dataclasses import dataclass

from warplens.metrics.counters import Counters, Quantity, ratio
from warplens.metrics.instructions import both_units, executed, on_chip
from warplens.metrics.registry import SectionSpec, metric, rows, section


def _targets(c: Counters) -> Quantity:
    return c.sum("branch_uniform") + c.sum("branch_divergent")


def _branches(c: Counters) -> Quantity:
    return on_chip(is_branch=True)(c)


metric("smsp__inst_executed_op_branch", kind="counter", unit="inst", per_instruction=True,
       formula=_branches,
       doc="Branches, calls, returns, exits and reconvergence waits executed.")  # fmt: skip
both_units("sass_inst_executed_op_branch", unit="inst", formula=executed(is_jump=True),
           doc="Branches, jumps, calls and returns executed, counted in SASS.")  # fmt: skip
both_units("sass_branch_targets", unit="", formula=_targets,
           doc="Branch targets executed, fall-through included.")  # fmt: skip
both_units("sass_branch_targets_threads_uniform", unit="",
           formula=lambda c: c.sum("branch_uniform"),
           doc="Branch targets executed where all active threads go the same way.")  # fmt: skip
both_units("sass_branch_targets_threads_divergent", unit="",
           formula=lambda c: c.sum("branch_divergent"),
           doc="Branch targets executed where active threads go different ways.")  # fmt: skip
for _prefix in ("sm", "smsp"):
    metric(f"{_prefix}__sass_average_branch_targets_threads_uniform", kind="ratio", unit="",
           max_rate=1.0, per_instruction=True,
           formula=lambda c: ratio(c.sum("branch_uniform"), _targets(c)),
           doc="Branch efficiency: share of non-divergent branches; 0 where there are no "
           "branches, as on hardware.")  # fmt: skip
metric("derived__smsp__inst_executed_op_branch_pct", unit="%", per_instruction=True,
       formula=lambda c: ratio(_branches(c), c.sum("inst_executed")),
       doc="Branches over all instructions: a fraction, although ncu gives its unit as "
       "%.")  # fmt: skip
metric("smsp__branch_targets_threads_divergent", kind="counter", unit="", per_instruction=True,
       formula=lambda c: c.sum("branch_divergent"),
       doc="Branch targets executed where active threads go different ways.")  # fmt: skip

section(
    SectionSpec(
        identifier="SourceCounters",
        title="Source Counters",
        order=100,
        sets=frozenset({"detailed", "full"}),
        rows=rows(
            ("Branch Instructions", "smsp__inst_executed_op_branch.sum"),
            ("Branch Efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct"),
            ("Branch Instructions Ratio", "derived__smsp__inst_executed_op_branch_pct"),
            ("Avg. Divergent Branches", "smsp__sass_branch_targets_threads_divergent.avg"),
        ),
        extra=rows(
            ("", "derived__memory_l1_wavefronts_shared_excessive"),
            ("", "derived__memory_l2_theoretical_sectors_global_excessive"),
            ("", "memory_l1_wavefronts_shared"),
            ("", "memory_l1_wavefronts_shared_ideal"),
            ("", "memory_l2_theoretical_sectors_global"),
            ("", "memory_l2_theoretical_sectors_global_ideal"),
            ("", "memory_l2_theoretical_sectors_local"),
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the source page."""

    heading: str
    metric: str


SOURCE_COLUMNS = (
    Column("Instructions Executed", "inst_executed"),
    Column("Thread Instructions Executed", "thread_inst_executed"),
    Column("Predicated-On Thread Instructions Executed", "thread_inst_executed_true"),
    Column("Avg. Threads Executed", "smsp__thread_inst_executed_per_inst_executed.ratio"),
    Column(
        "Avg. Predicated-On Threads Executed",
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    ),
    Column("Divergent Branches", "smsp__branch_targets_threads_divergent.sum"),
    Column("Address Space", "memory_type"),
    Column("Access Operation", "memory_access_type"),
    Column("Access Size", "memory_access_size_type"),
    Column("L1 Tag Requests Global", "memory_l1_tag_requests_global"),
    Column("L1 Conflicts Shared N-Way", "derived__memory_l1_conflicts_shared_nway"),
    Column("L1 Wavefronts Shared Excessive", "derived__memory_l1_wavefronts_shared_excessive"),
    Column("L1 Wavefronts Shared", "memory_l1_wavefronts_shared"),
    Column("L1 Wavefronts Shared Ideal", "memory_l1_wavefronts_shared_ideal"),
    Column(
        "L2 Theoretical Sectors Global Excessive",
        "derived__memory_l2_theoretical_sectors_global_excessive",
    ),
    Column("L2 Theoretical Sectors Global", "memory_l2_theoretical_sectors_global"),
    Column("L2 Theoretical Sectors Global Ideal", "memory_l2_theoretical_sectors_global_ideal"),
    Column("L2 Theoretical Sectors Local", "memory_l2_theoretical_sectors_local"),
)
