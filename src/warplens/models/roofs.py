"""The roofline: what a kernel of some arithmetic intensity can reach on a GPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warplens.errors import InputError
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec
from warplens.models.scalars import FloatLike, Numbers, numbers, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """Peak rate and bandwidth of one GPU for one kind of operation and one memory level.

    Attributes:
        peak: operations per second (a multiply-add counts two).
        bandwidth: bytes per second.
        ridge: operations per byte from which on the peak, not the memory, is the limit.
    """

    gpu: str
    precision: str
    level: str
    clock_mhz: float
    peak: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """Operations per byte at which both limits meet."""
        return self.peak / self.bandwidth

    def attainable(self, intensity: FloatLike) -> Numbers:
        """Operations per second at an intensity in operations per byte."""
        return attainable(intensity, self.peak, self.bandwidth)

    def bound(self, intensity: float) -> str:
        """Which limit binds at an intensity: "memory" or "compute"."""
        return "memory" if intensity < self.ridge else "compute"


def attainable(intensity: FloatLike, peak: FloatLike, bandwidth: FloatLike) -> Numbers:
    """The roofline itself.

    Inputs: operations per byte; peak operations per second; bytes per second.
    Formula: min(peak, intensity * bandwidth).
    Source: Williams, Waterman, Patterson, CACM 52(4), 2009.

    >>> attainable([1, 10, 100], 67e12, 4.8e12).tolist()
    [4800000000000.0, 48000000000000.0, 67000000000000.0]
    """
    slope = numbers("intensity", intensity, 0) * numbers("bandwidth", bandwidth, 0)
    return plain(np.minimum(numbers("peak", peak, 0), slope))


def intensity(operations: FloatLike, bytes_moved: FloatLike) -> Numbers:
    """Arithmetic intensity.

    Inputs: operations (a multiply-add counts two); bytes moved at the memory level in question.
    Formula: operations / bytes.
    Source: definition.

    >>> intensity(2, 8)
    0.25
    """
    return plain(numbers("operations", operations, 0) / numbers("bytes_moved", bytes_moved, 1e-9))


def roofline(
    gpu: str | GpuSpec,
    precision: str = "fp32",
    level: str = "dram",
    clock: str | float = "boost",
) -> Roofline:
    """The roofline of a GPU.

    Inputs: GPU; precision: fp32, fp64, fp16, int32 or a key of the file's tensor table such as
    fp16_fp32acc; level: dram, l2, l1 or shared; clock: base, boost or MHz.
    Formula: peak = 2 * lanes * SMs * clock (int32: 1 * lanes; tensor: the table's operations per
    clock and SM); bandwidth from the GPU file, on-chip levels in bytes per clock.
    Source: the GPU file; each number has its own.

    >>> r = roofline("RTX 4090")
    >>> round(r.peak / 1e12, 1), round(r.ridge, 1), r.bound(10)
    (82.6, 81.9, 'memory')
    """
    spec = find_gpu(gpu)
    mhz = spec.clock_mhz(clock)
    hertz = mhz * 1e6
    per_clock = {
        "fp32": 2 * spec.fp32_lanes,
        "fp64": 2 * spec.fp64_lanes,
        "int32": spec.int32_lanes,
        # An instruction on packed halves counts four: two multiply-adds.
        "fp16": 4 * spec.sub_partitions * spec.value("pipes.fp16", 0),
        **spec.table("tensor"),
    }
    levels = {
        "dram": float(spec.dram_bandwidth_bytes_per_second),
        "l2": spec.l2_read_bytes_per_cycle * hertz,
        "l1": spec.l1_bytes_per_cycle * spec.sm_count * hertz,
        "shared": spec.shared_bytes_per_cycle * spec.sm_count * hertz,
    }
    if precision not in per_clock:
        raise InputError(f"{spec.name} has no peak rate {precision!r}; it has "
                         f"{', '.join(per_clock)}")
    if level not in levels:
        raise InputError(f"level {level!r} is not one of {', '.join(levels)}")
    return Roofline(
        gpu=spec.name,
        precision=precision,
        level=level,
        clock_mhz=mhz,
        peak=float(per_clock[precision] * spec.sm_count * hertz),
        bandwidth=levels[level],
    )
