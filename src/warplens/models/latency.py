"""Latency hiding: how many warps, loads and bytes must be in flight."""

from __future__ import annotations

import numpy as np

from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec
from warplens.models.scalars import FloatLike, Numbers, numbers, plain

SCHEDULERS = 4  # per SM on every architecture from Volta on


def in_flight(throughput: FloatLike, latency: FloatLike) -> Numbers:
    """Items that must be in flight to sustain a throughput: Little's law.

    Inputs: throughput in items per unit of time, latency in the same unit of time.
    Formula: items = throughput * latency.
    Source: J. D. C. Little, Operations Research 9(3), 1961.

    >>> in_flight(1.0, 400)
    400.0
    """
    return plain(numbers("throughput", throughput, 0) * numbers("latency", latency, 0))


def warps_to_hide(
    latency_cycles: FloatLike, issue_cycles: FloatLike, loads_in_flight: FloatLike = 1
) -> Numbers:
    """Warps per scheduler that keep it busy while each waits for memory.

    Inputs: latency of one load in cycles; cycles in which a warp issues per load; independent loads
    a warp issues before it waits. Multiply by 4 for a whole SM.
    Formula: ceil((latency + work) / work) with work = issue_cycles * loads_in_flight.
    Source: Little's law for one issue slot; the waiting warp itself counts.

    >>> warps_to_hide(400, 4), 4 * warps_to_hide(400, 4), warps_to_hide(400, 4, 8)
    (101, 404, 14)
    """
    latency = numbers("latency_cycles", latency_cycles, 0)
    work = numbers("issue_cycles", issue_cycles, 1e-9) * numbers(
        "loads_in_flight", loads_in_flight, 1
    )
    return plain(np.ceil((latency + work) / work).astype(np.int64))


def scheduler_utilisation(
    warps_per_sm: FloatLike,
    latency_cycles: FloatLike,
    issue_cycles: FloatLike,
    loads_in_flight: FloatLike = 1,
    schedulers: int = SCHEDULERS,
) -> Numbers:
    """The fraction of cycles in which each scheduler issues (a fraction of 1).

    Inputs: warps on the SM, spread evenly over its schedulers; the rest as `warps_to_hide`.
    Formula: min(1, warps / schedulers * work / (latency + work)).
    Source: Little's law; compared with a simulated scheduler in tests/models.

    >>> round(scheduler_utilisation(64, 400, 4), 4), round(scheduler_utilisation(32, 400, 4), 4)
    (0.1584, 0.0792)
    >>> round(scheduler_utilisation(1, 400, 4, schedulers=1), 4)
    0.0099
    """
    warps = numbers("warps_per_sm", warps_per_sm, 0)
    latency = numbers("latency_cycles", latency_cycles, 0)
    work = numbers("issue_cycles", issue_cycles, 1e-9) * numbers(
        "loads_in_flight", loads_in_flight, 1
    )
    return plain(np.minimum(1.0, warps / schedulers * work / (latency + work)))


def readiness(ready_probability: FloatLike, warps: FloatLike) -> Numbers:
    """The probability that at least one of a scheduler's warps can issue.

    Inputs: probability that one warp is ready, independent of the others; number of warps.
    Formula: 1 - (1 - p)^n.
    Source: complement of all warps waiting.

    >>> round(readiness(0.8, 4), 4), round(readiness(0.02, 64), 4)
    (0.9984, 0.7255)
    """
    p = numbers("ready_probability", ready_probability, 0, 1)
    return plain(1.0 - (1.0 - p) ** numbers("warps", warps, 0))


def bytes_in_flight(
    gpu: str | GpuSpec, latency_cycles: float | None = None, clock: str | float = "boost"
) -> float:
    """Bytes in flight from DRAM that saturate a GPU's memory.

    Inputs: GPU; latency in SM cycles (its DRAM latency if left out); the clock they are counted in.
    Formula: bandwidth * latency_cycles / clock.
    Source: Little's law with the GPU file's bandwidth and latency.

    >>> round(bytes_in_flight("H200") / 1e6, 2)
    1.6
    """
    spec = find_gpu(gpu)
    cycles = float(spec.value("latency.dram")) if latency_cycles is None else latency_cycles
    seconds = float(numbers("latency_cycles", cycles, 0)) / (spec.clock_mhz(clock) * 1e6)
    return spec.dram_bandwidth_bytes_per_second * seconds


def warps_to_saturate_dram(
    gpu: str | GpuSpec,
    bytes_per_lane: int = 4,
    loads_in_flight: int = 1,
    latency_cycles: float | None = None,
) -> int:
    """Warps per SM whose loads together keep DRAM busy.

    Inputs: GPU; bytes each lane loads at a time; independent loads per warp; latency in cycles.
    Formula: ceil(bytes_in_flight / SMs / (32 * bytes_per_lane * loads_in_flight)).
    Source: Little's law; above the GPU's warp limit one load per warp is not enough.

    >>> warps_to_saturate_dram("H200"), warps_to_saturate_dram("H200", 16)
    (95, 24)
    """
    spec = find_gpu(gpu)
    each = 32 * float(numbers("bytes_per_lane", bytes_per_lane, 1))
    each *= float(numbers("loads_in_flight", loads_in_flight, 1))
    return int(np.ceil(bytes_in_flight(spec, latency_cycles) / spec.sm_count / each))


def bandwidth_reached(
    gpu: str | GpuSpec,
    warps_per_sm: FloatLike,
    bytes_per_lane: FloatLike = 4,
    loads_in_flight: FloatLike = 1,
    latency_cycles: float | None = None,
) -> Numbers:
    """DRAM bandwidth in bytes per second that a number of waiting warps can reach.

    Inputs: as `warps_to_saturate_dram`.
    Formula: min(bandwidth, SMs * warps * 32 * bytes_per_lane * loads_in_flight / latency).
    Source: Little's law solved for the throughput.

    >>> round(bandwidth_reached("H200", 64) / 1e12, 2)
    3.24
    """
    spec = find_gpu(gpu)
    data = numbers("warps_per_sm", warps_per_sm, 0) * spec.sm_count * 32
    data = data * numbers("bytes_per_lane", bytes_per_lane, 1)
    data = data * numbers("loads_in_flight", loads_in_flight, 1)
    share = data / bytes_in_flight(spec, latency_cycles)
    return plain(spec.dram_bandwidth_bytes_per_second * np.minimum(1.0, share))
