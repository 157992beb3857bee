"""Kernels that no rule was written against: planted causes, and good kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl

SOURCE = Path(__file__).with_name("held_out.cu")
N = 1 << 17


def floats(n: int = N) -> np.ndarray[Any, Any]:
    """Numbers from 0 to 1."""
    return np.linspace(0, 1, n, dtype=np.float32)


def plain() -> tuple[Any, ...]:
    """An array in, an array out, and their length."""
    return floats(), np.zeros(N, np.float32), N


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """A planted kernel: the rule that must come first, and how both twins are launched."""

    name: str
    rule: str
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    arguments: Callable[[], tuple[Any, ...]] = plain
    gpu: str = "RTX 3080"


BLOCKS = (N // 256, 256)
CASES = (
    HeldOut(name="rows", rule="UncoalescedGlobalAccess", before=(272, 128), after=(272, 128),
            arguments=lambda: (floats(272 * 128 * 64), np.zeros(272 * 128, np.float32), 64)),
    HeldOut(name="channel", rule="UncoalescedGlobalAccess", before=BLOCKS, after=BLOCKS,
            arguments=lambda: (np.zeros(N * 4 * 32, np.uint8), np.zeros(N, np.float32), N)),
    HeldOut(name="records", rule="UncoalescedSharedAccess", before=(N // 128, 128),
            after=(N // 128, 128)),
    HeldOut(name="steps", rule="ThreadDivergence", before=BLOCKS, after=BLOCKS),
    HeldOut(name="threads", rule="LaunchConfiguration", before=(-(-N // 20), 20),
            after=(N // 32, 32)),
    HeldOut(name="few", rule="LaunchConfiguration", before=(12, 512), after=(68, 512)),
    HeldOut(name="reserved", rule="TheoreticalOccupancy", before=(N // 64, 64, 0, 24576),
            after=(N // 64, 64, 0, 256)),
    HeldOut(name="roots", rule="HighFp64", before=BLOCKS, after=BLOCKS),
    HeldOut(name="spills", rule="LocalMemory", before=(N // 128, 128), after=(N // 128, 128),
            gpu="H200"),
    HeldOut(name="sum", rule="AtomicContention", before=BLOCKS, after=BLOCKS),
    HeldOut(name="bins", rule="AtomicContention", before=BLOCKS, after=BLOCKS,
            arguments=lambda: (np.random.default_rng(2).integers(0, 999, N, np.int32),
                               np.zeros(16, np.int32), N)),
    HeldOut(name="paths", rule="ThreadDivergence", before=BLOCKS, after=BLOCKS),
    HeldOut(name="complex", rule="FPInstructions", before=BLOCKS, after=BLOCKS),
)  # fmt: skip
GOOD: dict[str, tuple[tuple[Any, ...], Callable[[], tuple[Any, ...]]]] = {
    "triad": ((272, 256), lambda: (floats(4 * N), floats(4 * N), np.zeros(4 * N, np.float32), N)),
    "matvec": ((512, 256), lambda: (floats(4096 * 256), floats(256), np.zeros(4096, np.float32),
                                    256)),
    "jacobi": (((32, 128), (32, 8)), lambda: (floats(1 << 20), floats(1),
                                              np.zeros(1 << 20, np.float32), 1024)),
    "bodies": ((136, 128), lambda: (floats(136 * 512), floats(1),
                                    np.zeros(136 * 512, np.float32), 1024)),
    "scan": ((2048, 256), lambda: (floats(4 * N), floats(1), np.zeros(4 * N, np.float32), N)),
    "convolution": (((32, 128), (32, 8)), lambda: (floats(1 << 20), floats(1),
                                                   np.zeros(1 << 20, np.float32), 1024)),
    "norm": ((1024, 256), lambda: (floats(1 << 20), floats(1), np.zeros(1 << 20, np.float32), 1)),
    "option": ((2048, 256), lambda: (floats(4 * N), floats(4 * N), np.zeros(4 * N, np.float32),
                                     4 * N)),
}  # fmt: skip


def launched(case: HeldOut, which: str) -> wl.Launch:
    """The `before` or `after` kernel of a case, run."""
    module = wl.Device(case.gpu).compile(SOURCE)
    shape = case.before if which == "before" else case.after
    return module[f"{case.name}_{which}"][shape](*case.arguments())


def good(name: str, gpu: str = "RTX 3080") -> wl.Launch:
    """A good kernel, run."""
    shape, arguments = GOOD[name]
    return wl.Device(gpu).compile(SOURCE)[f"good_{name}"][shape](*arguments())
