"""Matrix instructions: their kind, their operations, and the rate of the chip's tensor cores."""

from __future__ import annotations

import re

from warplens.gpus.spec import GpuSpec
from warplens.sass.model import Instruction

OPCODES = frozenset({"HMMA", "IMMA", "DMMA", "BMMA", "QMMA"})
# kind of matrix instruction, as ncu names it -> key of the GPU's table of tensor rates
RATES = {
    "hmma_src_fp16_dst_fp32": "fp16_fp32acc",
    "hmma_src_fp16_dst_fp16": "fp16_fp16acc",
    "hmma_src_bf16_dst_fp32": "bf16",
    "hmma_src_tf32_dst_fp32": "tf32",
    "imma_src_int8": "int8",
    "dmma_src_fp64": "fp64",
}
# rates that a chip's table lacks: as so many times another one
_OTHERS = {
    "bf16": (1.0, "fp16_fp32acc"), "fp16_fp16acc": (1.0, "fp16_fp32acc"), "int4": (2.0, "int8"),
    "b1": (8.0, "int8"), "fp8_fp32acc": (2.0, "fp16_fp32acc"), "fp8_fp16acc": (2.0, "fp16_fp16acc"),
    "int8": (2.0, "fp16_fp32acc"), "tf32": (0.5, "fp16_fp32acc"),
}  # fmt: skip
_DIGITS, _CROSSES = re.compile(r"(16|8)(8)(\d+)"), re.compile(r"(\d+)x(\d+)x(\d+)")


def shape(instruction: Instruction) -> tuple[int, int, int]:
    """Rows, columns and depth of a product; zeros where the text does not tell.

    A shape is written without separators (16816 multiplies 16 x 16 with 16 x 8), those of doubles
    with them or, 8x8x4, not at all.
    """
    for name in instruction.modifiers:
        if found := _CROSSES.fullmatch(name) or _DIGITS.fullmatch(name):
            m, n, k = (int(part) for part in found.groups())
            return m, n, k
    return (8, 8, 4) if instruction.opcode == "DMMA" else (0, 0, 0)


def matrix_work(instruction: Instruction) -> tuple[str, int]:
    """The kind of a dense matrix instruction and its operations; ("", 0) for all others, and for
    kinds without a roofline of ncu's."""
    modifiers = instruction.modifiers
    kinds = {"IMMA": "imma_src_int8", "DMMA": "dmma_src_fp64"}
    kind = kinds.get(instruction.opcode, "")
    if instruction.opcode == "HMMA":
        source = next((name for name in ("BF16", "TF32") if name in modifiers), "FP16").lower()
        kind = f"hmma_src_{source}_dst_{'fp32' if 'F32' in modifiers else 'fp16'}"
    m, n, k = shape(instruction)
    if not kind or not m or {"SP", "S4", "U4"} & set(modifiers):
        return "", 0
    return kind, 2 * m * n * k


def interval(gpu: GpuSpec, instruction: Instruction) -> int:
    """Cycles for which a matrix instruction holds its sub-partition's tensor core.

    Its operations over the chip's rate. On 9.0, where the full rate is that of warpgroup
    instructions, others reach two thirds of it, none takes less than four cycles, and products of 8
    rows take as long as those of 16 (measured on an H200, validation/data/paces_sm90.json).
    """
    m, n, k = shape(instruction)
    kind, rows = _rate_key(instruction), int(gpu.value("tensor_path.least_rows"))
    cycles = 2 * max(m, rows) * n * k / (_rate(gpu, kind) / gpu.sub_partitions)
    if kind != "fp64":
        cycles *= float(gpu.value("tensor_path.slowdown"))
    return max(int(gpu.value("tensor_path.least_cycles")), round(cycles))


def _rate_key(instruction: Instruction) -> str:
    names = set(instruction.modifiers)
    if instruction.opcode == "QMMA":
        return "fp8_fp32acc" if "F32" in names else "fp8_fp16acc"
    if instruction.opcode == "BMMA":
        return "b1"
    if instruction.opcode == "IMMA" and names & {"S4", "U4"}:
        return "int4"
    return RATES.get(matrix_work(instruction)[0], "fp16_fp32acc")


def _rate(gpu: GpuSpec, key: str) -> float:
    """Operations of an SM per cycle."""
    table = gpu.table("tensor")
    if key in table:
        return float(table[key])
    if key == "fp64":  # without tensor cores for doubles: on its ordinary units
        return 2.0 * float(gpu.value("pipes.fp64")) * gpu.sub_partitions
    times, other = _OTHERS.get(key, (1.0, ""))
    return times * (_rate(gpu, other) if other else 1024.0)
