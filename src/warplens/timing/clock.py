"""The clock that SMs keep: less than asked for under some loads."""

from __future__ import annotations

from warplens.gpus.spec import GpuSpec
from warplens.isa.matrix_kinds import OPCODES, products
from warplens.sass.model import SassKernel

ARITHMETIC = OPCODES | {
    "FFMA", "FFMA2", "FADD", "FADD2", "FMUL", "FMUL2", "HFMA2", "HADD2", "HMUL2", "DFMA", "DADD",
    "DMUL",
}  # fmt: skip
LEAST_SHARE = 1 / 8  # of a loop's instructions


def kept_mhz(gpu: GpuSpec, kernel: SassKernel, asked_mhz: float) -> float:
    """The SM clock in MHz at which a kernel runs where `asked_mhz` is set.

    On an H200 at 1980 MHz the first matrix instructions take SMs to 1800 MHz, however few there are
    (clock.tensor_mhz of the GPU's file; chips whose file names no lower one keep their clock).
    A card whose power does not allow its boost clock under arithmetic keeps clock.load_mhz in
    kernels that calculate in loops.
    """
    kept = min(asked_mhz, gpu.tensor_clock_mhz) if _multiplies(kernel) else asked_mhz
    return min(kept, gpu.load_clock_mhz) if _calculates(kernel) else kept


def l2_lead(gpu: GpuSpec, kernel: SassKernel, asked_mhz: float) -> float:
    """How much more L2 does in a cycle of the SMs where matrix instructions have slowed them down.

    L2 keeps its clock then on Hopper (l2.keeps_clock; measured, validation/data/
    copy_clocks_h100.json: as many bytes in a nanosecond). That it follows a clock that was set is
    assumed.
    """
    keeps = float(gpu.value("l2.keeps_clock", 0)) and _multiplies(kernel)
    return asked_mhz / min(asked_mhz, gpu.tensor_clock_mhz) if keeps else 1.0


def why_lowered(gpu: GpuSpec, kernel: SassKernel, clock_mhz: float) -> str:
    """What a clock is, in words for a report: empty if nothing but what was asked for."""
    if clock_mhz == gpu.tensor_clock_mhz < gpu.boost_clock_mhz and _multiplies(kernel):
        return " that matrix instructions leave"
    if clock_mhz == gpu.load_clock_mhz and _calculates(kernel):
        return " that the board's power leaves arithmetic"
    return ""


def _multiplies(kernel: SassKernel) -> bool:
    """Products of doubles leave the clock as it is (measured, validation/data/droop_sm90.json)."""
    return bool(products(kernel) - {"DMMA"})


def _calculates(kernel: SassKernel) -> bool:
    """Whether an eighth of some loop's instructions is arithmetic on floats (inferred: what calls
    for power; streaming kernels calculate less, and wait for memory at any clock)."""
    for block in kernel.blocks:
        for target in block.successors:
            if target > block.index:
                continue
            body = kernel.instructions[kernel.blocks[target].start : block.end]
            if sum(one.opcode in ARITHMETIC for one in body) >= LEAST_SHARE * len(body):
                return True
    return False
