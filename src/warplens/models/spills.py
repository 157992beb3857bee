"""Register spills: what the extra loads and stores can cost."""

from __future__ import annotations

from warplens.models.scalars import FloatLike, Numbers, numbers, plain


def spill_cycles(
    loads: FloatLike, stores: FloatLike, load_cycles: FloatLike, store_cycles: FloatLike = 0
) -> Numbers:
    """Cycles that a warp spends on spills if nothing overlaps: an upper bound.

    Inputs: spill loads and stores executed per warp; cycles that each holds the warp up (a load
    waits for the L1 hit latency at best; a store does not wait, hence 0 unless told).
    Formula: loads * load_cycles + stores * store_cycles.
    Source: unoverlapped sum.

    >>> spill_cycles(120, 60, 300, 300), spill_cycles(120, 60, 34)
    (54000.0, 4080.0)
    """
    first = numbers("loads", loads, 0) * numbers("load_cycles", load_cycles, 0)
    second = numbers("stores", stores, 0) * numbers("store_cycles", store_cycles, 0)
    return plain(first + second)


def spill_slowdown(
    base_cycles: FloatLike,
    loads: FloatLike,
    stores: FloatLike,
    load_cycles: FloatLike,
    store_cycles: FloatLike = 0,
) -> Numbers:
    """Slowdown of a warp by spills if nothing overlaps: an upper bound.

    Inputs: cycles without spills; the rest as `spill_cycles`.
    Formula: (base + spill_cycles) / base.
    Source: unoverlapped sum.

    >>> spill_slowdown(2000, 120, 60, 300, 300), round(spill_slowdown(2000, 120, 60, 34), 2)
    (28.0, 3.04)
    """
    base = numbers("base_cycles", base_cycles, 1e-9)
    return plain((base + spill_cycles(loads, stores, load_cycles, store_cycles)) / base)


def spill_bytes(
    loads: FloatLike, stores: FloatLike, warps: FloatLike, width: FloatLike = 4
) -> Numbers:
    """L1 traffic of spills in bytes: local memory is interleaved, so a warp access is contiguous.

    Inputs: spill loads and stores per warp; warps; bytes per lane.
    Formula: (loads + stores) * warps * 32 * width.
    Source: the local memory layout keeps one word of all 32 lanes in one line.

    >>> spill_bytes(2, 1, 1)
    384.0
    """
    count = numbers("loads", loads, 0) + numbers("stores", stores, 0)
    return plain(count * numbers("warps", warps, 0) * 32 * numbers("width", width, 1))


def break_even_registers(occupancy_gain: FloatLike, slowdown: FloatLike) -> Numbers:
    """Whether more occupancy outweighs spills: above 1 it does, in a latency-bound kernel.

    Inputs: occupancy after / before; time of one warp after / before.
    Formula: occupancy_gain / slowdown, the ratio of warps finished per unit of time.
    Source: throughput of latency-bound warps is warps / time per warp.

    >>> break_even_registers(1.0 / 0.75, 1.1) > 1
    True
    """
    gain = numbers("occupancy_gain", occupancy_gain, 0)
    return plain(gain / numbers("slowdown", slowdown, 1e-9))
