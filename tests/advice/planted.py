"""Twelve kernels with one planted inefficiency each, and their repaired twins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl

FOLDER = Path(__file__).parent.parent.parent / "docs" / "advice"
N = 1 << 18
Shape = tuple[Any, Any]


def _floats(n: int = N) -> np.ndarray[Any, Any]:
    return np.linspace(0, 1, n, dtype=np.float32)


def _plain() -> tuple[Any, ...]:
    return _floats(), np.zeros(N, np.float32), N


def _matrix() -> tuple[Any, ...]:
    return _floats(1024 * 1024), np.zeros(1024 * 1024, np.float32), 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One case: its file, the rule that must come first, shapes, arguments, and the source line."""

    name: str
    rule: str
    title: str
    before: Shape
    after: Shape
    arguments: Callable[[], tuple[Any, ...]]
    after_arguments: Callable[[], tuple[Any, ...]] | None = None
    gpu: str = "H200"
    at: str = ""  # text of the source line that the advice must point to


CASES = (
    Planted(name="uncoalesced", rule="UncoalescedGlobalAccess", title="Uncoalesced",
            before=((32, 32), (32, 8)), after=((32, 32), (32, 8)), arguments=_matrix,
            at="out[x * n + y + i]"),
    Planted(name="structures", rule="UncoalescedGlobalAccess", title="Structures",
            before=(N // 256, 256), after=(N // 256, 256),
            arguments=lambda: (np.zeros(N * 8, np.float32), np.zeros(N, np.float32), N),
            after_arguments=_plain, at="p[i].mass"),
    Planted(name="bank_conflicts", rule="UncoalescedSharedAccess", title="Bank conflicts",
            before=((32, 32), (32, 8)), after=((32, 32), (32, 8)), arguments=_matrix,
            at="tile[threadIdx.x][threadIdx.y + i]"),
    Planted(name="divergence", rule="ThreadDivergence", title="Divergence",
            before=(N // 256, 256), after=(N // 256, 256), arguments=_plain),
    Planted(name="block_size", rule="LaunchConfiguration", title="Block size",
            before=(-(-N // 33), 33), after=(N // 64, 64), arguments=_plain),
    Planted(name="small_grid", rule="LaunchConfiguration", title="Small grid",
            before=(33, 256), after=(132, 256), arguments=_plain),
    Planted(name="tail", rule="LaunchConfiguration", title="Tail effect",
            before=(280, 1024), after=(2240, 128),
            arguments=lambda: (_floats(1024), np.zeros(1024, np.float32), 280 * 1024 * 10)),
    Planted(name="occupancy", rule="TheoreticalOccupancy", title="Occupancy",
            before=(N // 64, 64), after=(N // 64, 64), arguments=_plain),
    Planted(name="double_precision", rule="HighFp64", title="Double precision", gpu="RTX 4090",
            before=(N // 256, 256), after=(N // 256, 256), arguments=_plain,
            at="x * x * 0.5 + 0.25"),
    Planted(name="not_fused", rule="FPInstructions", title="Not fused",
            before=(N // 256, 256), after=(N // 256, 256), arguments=_plain, at="__fadd_rn"),
    Planted(name="local_memory", rule="LocalMemory", title="Local memory",
            before=(N // 256, 256), after=(N // 256, 256),
            arguments=lambda: (*_plain(), 64), at="window["),
    Planted(name="atomics", rule="AtomicContention", title="Atomics",
            before=(N // 256, 256), after=(N // 256, 256),
            arguments=lambda: (np.ones(N, np.int32), np.zeros(8, np.int32), N),
            at="atomicAdd"),
    Planted(name="l1_thrash", rule="L1Thrash", title="L1", gpu="RTX 3080",
            before=(68, 256), after=(68, 256), at="sum * 0.5f",
            arguments=lambda: (_floats(68 * 40960), np.zeros(68 * 256, np.float32), 40960)),
    Planted(name="l2_thrash", rule="L2Thrash", title="L2", gpu="RTX 4060",
            before=(144, 256), after=(144, 256), at="sum * 0.5f",
            arguments=lambda: (_floats(12 << 20), np.zeros(144 * 256, np.float32), 3 << 20)),
    Planted(name="misaligned", rule="ExcessiveSectors", title="Misaligned",
            before=(1056, 256), after=(1056, 256), at="table[1 + 32 * k",
            arguments=lambda: (_floats(4096), np.zeros(1056 * 256, np.float32), 100)),
)  # fmt: skip


def launched(case: Planted, which: str) -> wl.Launch:
    """The `before` or `after` kernel of a case, run."""
    module = wl.Device(case.gpu).compile(FOLDER / f"{case.name}.cu")
    grid, block = case.before if which == "before" else case.after
    make = case.arguments if which == "before" else case.after_arguments or case.arguments
    return module[which][grid, block](*make())
