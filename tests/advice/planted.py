"""Twelve kernels with one planted inefficiency each, and their repaired twins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl
from warplens.analysis.advice import rules
from warplens.api import LaunchOptions

FOLDER = Path(__file__).parent.parent.parent / "docs" / "advice"
N = 1 << 18
Shape = tuple[Any, ...]


def _floats(n: int = N) -> np.ndarray[Any, Any]:
    return np.linspace(0, 1, n, dtype=np.float32)


def _plain() -> tuple[Any, ...]:
    return _floats(), np.zeros(N, np.float32), N


def _matrix() -> tuple[Any, ...]:
    return _floats(1024 * 1024), np.zeros(1024 * 1024, np.float32), 1024


def _permutation(n: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).permutation(n).astype(np.int32)


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
    carveout: int | None = None  # of the repaired launch
    times: int = 1  # how often the first is launched for the work of the second
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
    Planted(name="l1_thrash", rule="L1Thrash", title="L1", gpu="RTX 4090",
            before=(128, 256), after=(128, 256), at="sum * 0.5f",
            arguments=lambda: (_floats(128 * 40960), np.zeros(128 * 256, np.float32), 40960)),
    Planted(name="l2_thrash", rule="L2Thrash", title="L2", gpu="RTX 4060",
            before=(144, 256), after=(144, 256), at="sum * 0.5f",
            arguments=lambda: (_floats(16 << 20), np.zeros(144 * 256, np.float32), 4 << 20)),
    Planted(name="carveout", rule="SharedMemoryCarveOut", title="Carve-out", gpu="RTX 3080",
            before=(1020, 256), after=(1020, 256), carveout=50, at="in[blockIdx.x * n + k]",
            arguments=lambda: (_floats(1020 * 3072), np.zeros(1020 * 256, np.float32), 768)),
    Planted(name="misaligned", rule="ExcessiveSectors", title="Misaligned",
            before=(1056, 256), after=(1056, 256), at="table[1 + 32 * k",
            arguments=lambda: (_floats(4096), np.zeros(1056 * 256, np.float32), 100)),
)  # fmt: skip

# Rules that tell a symptom, or that come with the cause: told before, and faster after.
TOLD = (
    Planted(name="shared_unused", rule="SharedMemoryUnused", title="Unused shared memory",
            before=(N // 128, 128, 0, 65536), after=(N // 128, 128), arguments=_plain),
    Planted(name="launch_overhead", rule="LaunchOverhead", title="Launch overhead",
            before=(132, 64), after=(132, 64), times=32,
            arguments=lambda: (_floats(8448 * 32), np.zeros(8448 * 32, np.float32), 8448)),
    Planted(name="stall", rule="CPIStall", title="Waiting for loads",
            before=(132, 128), after=(132, 128), at="in[k * n + i]",
            arguments=lambda: (_floats(64 * 132 * 128), np.zeros(132 * 128, np.float32),
                               132 * 128)),
    Planted(name="issue_slots", rule="IssueSlotUtilization", title="Empty issue slots",
            before=(132, 128), after=(132, 128),
            arguments=lambda: (_floats(132 * 128), np.zeros(132 * 128, np.float32), 2000)),
    Planted(name="imbalance", rule="AchievedOccupancy", title="Uneven blocks",
            before=(660, 128), after=(660, 128),
            arguments=lambda: (_floats(660 * 128), np.zeros(660 * 128, np.float32), 2000)),
    Planted(name="bottleneck", rule="SOLBottleneck", title="Bottleneck", gpu="RTX 4060",
            before=(144, 256), after=(144, 256),
            arguments=lambda: (np.ones(1 << 21, np.int32), np.zeros(144 * 256, np.int32), 1 << 19),
            after_arguments=lambda: (np.ones(1 << 21, np.uint8), np.zeros(144 * 256, np.int32),
                                     1 << 19)),
)  # fmt: skip


def launched(case: Planted, which: str) -> wl.Launch:
    """The `before` or `after` kernel of a case, run."""
    carveout = case.carveout if which == "after" else None
    device = wl.Device(case.gpu, options=LaunchOptions(carveout=carveout))
    module = device.compile(FOLDER / f"{case.name}.cu")
    shape = case.before if which == "before" else case.after
    make = case.arguments if which == "before" else case.after_arguments or case.arguments
    return module[which][shape](*make())


def examples() -> dict[tuple[str, str], str]:
    """(rule, its title) to the example that stands in the documentation."""
    titles = {"Block size", "Small grid", "Tail effect"}
    found: dict[tuple[str, str], str] = {}
    for case in (*CASES, *TOLD):
        title = next(one.title for one in rules() if one.identifier == case.rule)
        found.setdefault((case.rule, case.title if case.title in titles else title), case.name)
    return found
