"""Measures a card's constants, each by kernels that show nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import numpy as np

from warplens.calibrate.card import Card
from warplens.gpus.spec import GpuSpec

Measured = dict[str, tuple[float, str]]  # key of the GPU's file -> value, how it was found
_STEPS = 4096
_WIDE_EXTRA = 2.0  # cycles of a pointer of 64 bits over a word's
_THREADS = 256
_TURNS = 5
# Of the shortest chip-wide streams: L2 holds the one, not the other
_IN_L2, _BEYOND = 0.5, 12
# What kernels that read once get from L2, of what one that reads again and again does: on an H200
# 4250 of 6233 bytes per cycle
_ONCE = 0.682


def measure(card: Card, gpu: GpuSpec) -> Measured:
    """Constants of a card whose kernels are loaded; `gpu`: what is assumed for the rest."""
    found: Measured = {}
    found |= dict(_clocks(card))
    found |= dict(_latencies(card))
    return found | dict(_streams(card, gpu, found["clock.boost_mhz"][0]))


def _clocks(card: Card) -> Iterator[tuple[str, tuple[float, str]]]:
    sms = int(card.attributes["counts.sm"])
    out, values = card.alloc(16 * sms), card.alloc(8 * _THREADS)
    random = np.random.default_rng(1).uniform(-1, 1, 2 * _THREADS).astype(np.float16)
    card.write(values, random.view(np.uint32))
    for kernel, key in (
        ("busy_multiply_add", "clock.boost_mhz"), ("busy_product", "clock.tensor_mhz"),
    ):  # fmt: skip
        clocks = []
        for turns in (1 << 10, 1 << 17, 1 << 17, 1 << 17):  # the first wakes the GPU
            card.launch(kernel, (sms,), (_THREADS,), out, values, np.uint32(turns))
            cycles, ns = card.read(out, 2 * sms, np.uint64).astype(np.float64).reshape(-1, 2).T
            clocks.append(float(1e3 * cycles.mean() / max(1.0, ns.mean())))
        yield key, (round(median(clocks[1:])), "cycles in ns of a kernel on all SMs")


def _latencies(card: Card) -> Iterator[tuple[str, tuple[float, str]]]:
    out, l2 = card.alloc(64), int(card.attributes["l2.size_bytes"])

    def chase(kernel: str, size: int) -> float:
        """Cycles of a pointer, in a ring of lines that covers so many bytes."""
        data, times = _ring(card, size), []
        for _ in range(_TURNS):
            card.launch(kernel, (1,), (1,), data, out, np.uint32(_STEPS))
            times.append(float(card.read(out, 1, np.uint64)[0]) / _STEPS)
        return median(times)

    l1 = chase("chase_l1", 16 << 10)
    yield "latency.l1_hit", (round(l1 - _WIDE_EXTRA, 1), "pointers in 16 KiB, less 64 bits' extra")
    yield "latency.global_load", (round(l1 - _WIDE_EXTRA, 1), "as latency.l1_hit")
    yield "latency.l2_hit", (round(chase("chase_l2", min(4 << 20, l2 // 2))), "pointers in L2")
    far = max(256 << 20, 4 * l2)
    yield "latency.dram", (round(_cold(card, out, far)), f"pointers in {far >> 20} MiB, none twice")
    card.launch("chase_shared", (1,), (32,), out, np.uint32(_STEPS))
    shared = float(card.read(out, 1, np.uint64)[0]) / _STEPS
    for key in ("latency.shared", "latency.shared_load"):
        yield key, (round(shared, 1), "addresses in shared memory")


def _ring(card: Card, size: int) -> int:
    """Pointers in every other line of so many bytes, each to one far away; all in one ring."""
    count, apart = size // 256, 32  # lines of 128 bytes, in pointers of 8
    hop = next(n for n in range(int(0.618 * count), count) if np.gcd(n, count) == 1)
    data = card.alloc(size)
    card.launch("link", (1024,), (_THREADS,), data, count, apart, hop)
    return data


def _cold(card: Card, out: int, size: int) -> float:
    """Cycles of a pointer that no cache holds: another part of a large ring each time."""
    data, flushed, times = _ring(card, size), card.alloc(size), []
    for turn in range(_TURNS):
        card.launch("stream_write", (1024,), (_THREADS,), flushed, size // 16)
        start = data + turn * 256 * 1024 % size
        card.launch("chase_once", (1,), (1,), start, out, np.uint32(_STEPS))
        times.append(float(card.read(out, 1, np.uint64)[0]) / _STEPS)
    return median(times)


def _streams(card: Card, gpu: GpuSpec, mhz: float) -> Iterator[tuple[str, tuple[float, str]]]:
    sms, l2 = int(card.attributes["counts.sm"]), int(card.attributes["l2.size_bytes"])
    peak = float(gpu.dram_bandwidth_bytes_per_second)
    size = max(1 << 29, _BEYOND * l2) // 4096 * 4096
    one, two, grid = card.alloc(size), card.alloc(size), (sms * 8,)
    nothing = min(card.launch("nothing", (1,), (32,)) for _ in range(4 * _TURNS))

    def rate(kernel: str, moved: int, *args: int) -> float:
        """Bytes in a second."""
        times = [card.launch(kernel, grid, (_THREADS,), *args) for _ in range(_TURNS)]
        return 1e9 * moved / max(1.0, median(times) - nothing)

    for key, kernel, moved, args in (
        ("dram.read_fraction", "stream_read", size, (one, two, size // 16)),
        ("dram.write_fraction", "stream_write", size, (one, size // 16)),
        ("dram.copy_fraction", "stream_copy", 2 * size, (one, two, size // 16)),
    ):
        found = rate(kernel, moved, *args) / peak
        yield key, (round(min(1.0, found), 3), f"{kernel} of {size >> 20} MiB over the peak")
    small, turns = int(_IN_L2 * l2) // 4096 * 4096, 64
    within = rate("stream_again", turns * small, one, two, small // 16, turns)
    rounded = round(_ONCE * within / (1e6 * mhz))
    yield "l2.read_bytes_per_cycle", (rounded, f"{small >> 20} MiB, read again")
