"""The clock that SMs keep: less than asked for while matrix instructions run."""

from __future__ import annotations

from warplens.gpus.spec import GpuSpec
from warplens.isa.matrix_kinds import products
from warplens.sass.model import SassKernel


def kept_mhz(gpu: GpuSpec, kernel: SassKernel, asked_mhz: float) -> float:
    """The SM clock in MHz at which a kernel runs where `asked_mhz` is set.

    On an H200 at 1980 MHz the first matrix instructions take SMs to 1800 MHz, however few there are
    (clock.tensor_mhz of the GPU's file; chips whose file names no lower one keep their clock).
    """
    return min(asked_mhz, gpu.tensor_clock_mhz) if _multiplies(kernel) else asked_mhz


def is_lowered(gpu: GpuSpec, kernel: SassKernel, clock_mhz: float) -> bool:
    """Whether a clock is the one that matrix instructions leave."""
    return clock_mhz == gpu.tensor_clock_mhz < gpu.boost_clock_mhz and _multiplies(kernel)


def _multiplies(kernel: SassKernel) -> bool:
    """Products of doubles leave the clock as it is (measured, validation/data/droop_sm90.json)."""
    return bool(products(kernel) - {"DMMA"})
