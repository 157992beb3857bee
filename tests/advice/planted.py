"""Twelve kernels with one planted inefficiency each, and their repaired twins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl
from warplens.api import LaunchOptions
from warplens.reference.examples import examples

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
    """One example of the reference: shapes, arguments, and the source line of the advice."""

    name: str
    title: str
    before: Shape
    after: Shape
    arguments: Callable[[], tuple[Any, ...]]
    after_arguments: Callable[[], tuple[Any, ...]] | None = None
    carveout: int | None = None  # of the repaired launch
    times: int = 1  # how often the first is launched for the work of the second
    at: str = ""  # text of the source line that the advice must point to

    @property
    def rule(self) -> str:
        """The rule that must come first."""
        return examples()[self.name].rule

    @property
    def gpu(self) -> str:
        """The GPU of the launch."""
        return examples()[self.name].gpu

    @property
    def path(self) -> Path:
        """The source file."""
        return examples()[self.name].path


CASES = (
    Planted(name="uncoalesced", title="Uncoalesced",
            before=((32, 32), (32, 8)), after=((32, 32), (32, 8)), arguments=_matrix,
            at="out[x * n + y + i]"),
    Planted(name="structures", title="Structures",
            before=(N // 256, 256), after=(N // 256, 256),
            arguments=lambda: (np.zeros(N * 8, np.float32), np.zeros(N, np.float32), N),
            after_arguments=_plain, at="p[i].mass"),
    Planted(name="bank_conflicts", title="Bank conflicts",
            before=((32, 32), (32, 8)), after=((32, 32), (32, 8)), arguments=_matrix,
            at="tile[threadIdx.x][threadIdx.y + i]"),
    Planted(name="divergence", title="Divergence",
            before=(N // 256, 256), after=(N // 256, 256), arguments=_plain),
    Planted(name="block_size", title="Block size",
            before=(-(-N // 33), 33), after=(N // 64, 64), arguments=_plain),
    Planted(name="small_grid", title="Small grid",
            before=(33, 256), after=(132, 256), arguments=_plain),
    Planted(name="tail", title="Tail effect",
            before=(280, 1024), after=(2240, 128),
            arguments=lambda: (_floats(1024), np.zeros(1024, np.float32), 280 * 1024 * 10)),
    Planted(name="occupancy", title="Occupancy",
            before=(N // 64, 64), after=(N // 64, 64), arguments=_plain),
    Planted(name="double_precision", title="Double precision",
            before=(N // 256, 256), after=(N // 256, 256), arguments=_plain,
            at="x * x * 0.5 + 0.25"),
    Planted(name="not_fused", title="Not fused",
            before=(N // 256, 256), after=(N // 256, 256), arguments=_plain, at="__fadd_rn"),
    Planted(name="local_memory", title="Local memory",
            before=(N // 256, 256), after=(N // 256, 256),
            arguments=lambda: (*_plain(), 64), at="window["),
    Planted(name="atomics", title="Atomics",
            before=(N // 256, 256), after=(N // 256, 256),
            arguments=lambda: (np.ones(N, np.int32), np.zeros(8, np.int32), N),
            at="atomicAdd"),
    Planted(name="l1_thrash", title="L1",
            before=(128, 256), after=(128, 256), at="sum * 0.5f",
            arguments=lambda: (_floats(128 * 40960), np.zeros(128 * 256, np.float32), 40960)),
    Planted(name="l2_thrash", title="L2",
            before=(144, 256), after=(144, 256), at="sum * 0.5f",
            arguments=lambda: (_floats(16 << 20), np.zeros(144 * 256, np.float32), 4 << 20)),
    Planted(name="carveout", title="Carve-out",
            before=(1020, 256), after=(1020, 256), carveout=50, at="in[blockIdx.x * n + k]",
            arguments=lambda: (_floats(1020 * 3072), np.zeros(1020 * 256, np.float32), 768)),
    Planted(name="division", title="Division",
            before=(1056, 256), after=(1056, 256), at="t % (2 * s)",
            arguments=lambda: (_floats(1056 * 256), np.zeros(1056, np.float32), 1056 * 256)),
    Planted(name="addresses", title="Addresses",
            before=(1056, 256), after=(1056, 256), at="in[(y / 8 * (w / 32)",
            arguments=lambda: (_floats(64 * 1024), np.zeros(1056 * 256, np.float32), 64, 256)),
    Planted(name="predicates", title="Predicates",
            before=(1056, 256), after=(1056, 256), at="if (is_wet)",
            arguments=lambda: (_floats(1056 * 256), np.zeros(1056 * 256, np.int32),
                               np.zeros(1056 * 256, np.float32), 200)),
    Planted(name="misaligned", title="Misaligned",
            before=(1056, 256), after=(1056, 256), at="* 64 + 1 + threadIdx.x",
            arguments=lambda: (_floats(1056 * 8 * 64 * 16), np.zeros(1056 * 256, np.float32), 16)),
)  # fmt: skip

# Rules that tell a symptom, or that come with the cause: told before, and faster after.
TOLD = (
    Planted(name="shared_unused", title="Unused shared memory",
            before=(N // 32, 128, 0, 65536), after=(N // 32, 128),
            arguments=lambda: (_floats(4 * N), np.zeros(4 * N, np.float32), 4 * N)),
    Planted(name="launch_overhead", title="Launch overhead",
            before=(132, 64), after=(132, 64), times=32,
            arguments=lambda: (_floats(8448 * 32), np.zeros(8448 * 32, np.float32), 8448)),
    Planted(name="stall", title="Waiting for loads",
            before=(132, 128), after=(132, 128), at="in[k * n + i]",
            arguments=lambda: (_floats(64 * 132 * 128), np.zeros(132 * 128, np.float32),
                               132 * 128)),
    Planted(name="issue_slots", title="Empty issue slots",
            before=(132, 128), after=(132, 128),
            arguments=lambda: (_floats(132 * 128), np.zeros(132 * 128, np.float32), 2000)),
    Planted(name="imbalance", title="Uneven blocks",
            before=(660, 128), after=(660, 128),
            arguments=lambda: (_floats(660 * 128), np.zeros(660 * 128, np.float32), 2000)),
    Planted(name="hot_spot", title="One line",
            before=(1056, 256), after=(1056, 256), at="0x85ebca6bu",
            arguments=lambda: (np.arange(1056 * 256, dtype=np.uint32),
                               np.zeros(1056 * 256, np.uint32), 1056 * 256)),
    Planted(name="bottleneck", title="Bottleneck",
            before=(144, 256), after=(144, 256),
            arguments=lambda: (np.ones(1 << 21, np.int32), np.zeros(144 * 256, np.int32), 1 << 19),
            after_arguments=lambda: (np.ones(1 << 21, np.uint8), np.zeros(144 * 256, np.int32),
                                     1 << 19)),
)  # fmt: skip


def launched(case: Planted, which: str) -> wl.Launch:
    """The `before` or `after` kernel of a case, run."""
    carveout = case.carveout if which == "after" else None
    device = wl.Device(case.gpu, options=LaunchOptions(carveout=carveout))
    module = device.compile(case.path)
    shape = case.before if which == "before" else case.after
    make = case.arguments if which == "before" else case.after_arguments or case.arguments
    return module[which][shape](*make())
