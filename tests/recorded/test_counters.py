"""warplens counts what the H200's hardware counters counted.

`equal_counters.txt` names the counters that agreed in all launches that were compared. Launches
whose counts depend on timing (retries of compare-and-swap loops) are left out. The ordinary run
takes every twelfth launch; `-m long` takes all.
"""

from __future__ import annotations

import importlib.util
import json
import lzma
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2] / "validation"
METRICS = frozenset(Path(__file__).with_name("equal_counters.txt").read_text().split())
# Counted per instruction: recorded counter -> column of the execution
PER_INSTRUCTION = {
    "smsp__sass_inst_executed": "inst_executed",
    "smsp__sass_thread_inst_executed": "thread_inst_executed",
    "smsp__sass_thread_inst_executed_pred_on": "thread_inst_executed_true",
    "smsp__sass_sectors_mem_global": "global_sectors",
    "smsp__sass_sectors_mem_global_ideal": "global_sectors_ideal",
    "smsp__sass_sectors_mem_local": "local_sectors",
    "smsp__sass_l1tex_tags_mem_global": "global_lines",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared": "shared_wavefronts",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal": "shared_wavefronts_ideal",
    "smsp__sass_branch_targets_threads_divergent": "branch_divergent",
    "smsp__sass_branch_targets_threads_uniform": "branch_uniform",
}


@cache
def comparison() -> Any:
    """The module that runs and compares launches."""
    path = ROOT / "compare_counters.py"
    spec = importlib.util.spec_from_file_location("validation_compare_counters", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@cache
def compared(step: int) -> Any:
    """Every `step`-th launch, run once."""
    return comparison().compare(step)


def differing(step: int) -> dict[str, Any]:
    """Counters of the list that differ, with the launches."""
    different = compared(step).different
    return {name: different[name] for name in METRICS if name in different}


def differing_per_instruction(step: int) -> list[tuple[str, str, str, int, int]]:
    """Launch, instruction, column, recorded and counted value where they differ."""
    recorded = json.loads(
        lzma.decompress((ROOT / "data" / "instructions_sm90.json.xz").read_bytes())
    )
    columns = [PER_INSTRUCTION[name] for name in recorded["metrics"]]
    module = comparison()
    cases = module.load_cases()
    found = []
    for name, run in module.launches(cases, module.comparable(cases)[::step]):
        rows = {row[0]: row[1:] for row in recorded["cases"][name]}
        for k, column in enumerate(columns):
            counts = run.execution.columns[column]
            for i, one in enumerate(run.execution.kernel.instructions):
                expected = rows[one.address][k] if one.address in rows else 0
                if expected != counts[i]:
                    found.append((name, one.text, column, expected, int(counts[i])))
    return found


def test_every_twelfth_launch() -> None:
    """Counters equal the recorded ones."""
    assert differing(12) == {}


def test_instructions_of_some_launches() -> None:
    """Every instruction's counts equal the recorded ones."""
    assert differing_per_instruction(17) == []


def test_what_is_called_exact_agrees() -> None:
    """A counter whose basis is `exact` agreed in all launches."""
    metrics = compared(12).metrics

    assert {n for n, declared in metrics.items() if declared.basis == "exact"} <= METRICS


@pytest.mark.long
def test_every_launch() -> None:
    """Counters equal the recorded ones."""
    assert differing(1) == {}


@pytest.mark.long
def test_instructions_of_every_launch() -> None:
    """Every instruction's counts equal the recorded ones."""
    assert differing_per_instruction(1) == []
