"""How long matrix instructions hold a sub-partition's tensor core."""

from __future__ import annotations

from warplens.gpus.spec import GpuSpec
from warplens.isa.matrix_kinds import rate_key, shape
from warplens.isa.warpgroup import product_of
from warplens.sass.model import Instruction

# rates that a chip's table lacks: as so many times another one
_OTHERS = {
    "bf16": (1.0, "fp16_fp32acc"), "fp16_fp16acc": (1.0, "fp16_fp32acc"), "int4": (2.0, "int8"),
    "b1": (8.0, "int8"), "fp8_fp32acc": (2.0, "fp16_fp32acc"), "fp8_fp16acc": (2.0, "fp16_fp16acc"),
    "int8": (2.0, "fp16_fp32acc"), "tf32": (0.5, "fp16_fp32acc"),
}  # fmt: skip


def warpgroup_interval(gpu: GpuSpec, instruction: Instruction) -> int:
    """Cycles for which a product of a warpgroup holds each sub-partition's tensor core."""
    columns = product_of(instruction).columns
    path = {name: float(gpu.value(f"warpgroup_path.{name}", default))
            for name, default in (("per_column", 0.5), ("base", 16), ("slope", 0.25))}  # fmt: skip
    return round(max(columns * path["per_column"], path["base"] + columns * path["slope"]))


def interval(gpu: GpuSpec, instruction: Instruction) -> int:
    """Cycles for which a matrix instruction holds its sub-partition's tensor core.

    Its operations over the chip's rate. On 9.0, where the full rate is that of warpgroup
    instructions, others reach two thirds of it, none takes less than four cycles, and products of 8
    rows take as long as those of 16 (measured on an H200, validation/data/paces_sm90.json).
    """
    m, n, k = shape(instruction)
    kind, rows = rate_key(instruction), int(gpu.value("tensor_path.least_rows"))
    cycles = 2 * max(m, rows) * n * k / (_rate(gpu, kind) / gpu.sub_partitions)
    if kind != "fp64":
        cycles *= float(gpu.value("tensor_path.slowdown"))
    return max(int(gpu.value("tensor_path.least_cycles")), round(cycles))


def _rate(gpu: GpuSpec, key: str) -> float:
    """Operations of an SM per cycle."""
    if gpu.has(f"tensor.{key}"):
        return float(gpu.value(f"tensor.{key}"))
    if key == "fp64":  # without tensor cores for doubles: on its ordinary units
        return 2.0 * float(gpu.value("pipes.fp64")) * gpu.sub_partitions
    times, other = _OTHERS.get(key, (1.0, ""))
    return times * (_rate(gpu, other) if other else 1024.0)
