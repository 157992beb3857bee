"""Checks an exercise: `python docs/exercises/check.py coalesce [FILE]`. Exit status 0: solved."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl

HERE = Path(__file__).parent
Array = np.ndarray[Any, Any]


def compiled(file: Path, name: str) -> wl.Kernel:
    """The exercise's kernel on an H200."""
    return wl.Device("H200").compile(file)[name]


def same(found: Array, expected: Array) -> None:
    """Fails unless the kernel's result is NumPy's."""
    if not np.allclose(found, expected, rtol=1e-4):
        raise AssertionError("the result is wrong")


def coalesce(file: Path) -> None:
    """Row sums with coalesced loads."""
    data, out = np.random.default_rng(1).random((256, 256), np.float32), np.zeros(256, np.float32)
    run = compiled(file, "row_sums")[256, 32](data, out, 256)
    same(out, data.sum(axis=1))
    ideal = run.metric("memory_l2_theoretical_sectors_global_ideal")
    wl.assert_metric(run, "memory_l2_theoretical_sectors_global", "<=", 1.1 * float(ideal or 0))


def conflict(file: Path) -> None:
    """Mirrored tiles without bank conflicts."""
    data = np.random.default_rng(1).random((64, 32, 32), np.float32)
    out = np.zeros_like(data)
    run = compiled(file, "mirror")[64, (32, 8)](data, out)
    same(out, data.transpose(0, 2, 1))
    wl.assert_metric(run, "derived__memory_l1_wavefronts_shared_excessive", "==", 0)


def occupancy(file: Path) -> None:
    """Weighted sums with most warps resident."""
    data, out = np.random.default_rng(1).random(4096, np.float32), np.zeros(264 * 256, np.float32)
    run = compiled(file, "weighted")[264, 256](data, out)
    at = np.arange(264 * 256)[:, None] + np.arange(40)
    same(out, (data[at % 4096] * np.arange(1, 41)).sum(axis=1))
    wl.assert_metric(run, "sm__maximum_warps_per_active_cycle_pct", ">=", 75)
    wl.assert_metric(run, "memory_l2_theoretical_sectors_local", "==", 0)


def race(file: Path) -> None:
    """Block sums with a barrier between steps, as racecheck sees it."""
    data, out = np.random.default_rng(1).integers(0, 9, (64, 256), np.int32), np.zeros(64, np.int32)
    kernel = compiled(file, "block_sums")
    findings = kernel.sanitize[64, 256](data, out, tools=("racecheck",)).findings
    if findings:
        raise AssertionError(f"{len(findings)} findings, the first: {findings[0].text}")
    kernel[64, 256](data, out)
    same(out, data.sum(axis=1))


EXERCISES: dict[str, Callable[[Path], None]] = {
    "coalesce": coalesce, "conflict": conflict, "occupancy": occupancy, "race": race,
}  # fmt: skip


def main(words: list[str]) -> int:
    """Checks one exercise."""
    if not words or words[0] not in EXERCISES:
        print(f"which one? {', '.join(EXERCISES)}")
        return 2
    file = Path(words[1]) if len(words) > 1 else HERE / f"{words[0]}.cu"
    try:
        EXERCISES[words[0]](file)
    except AssertionError as error:
        print(f"not yet: {error}")
        return 1
    print("solved")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
