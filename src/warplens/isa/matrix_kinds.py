"""Matrix instructions: their shape, their kind, their operations."""

from __future__ import annotations

import re

from warplens.isa import warpgroup
from warplens.sass.model import Instruction, SassKernel

OPCODES = frozenset({"HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA"})
# kind of matrix instruction, as ncu names it -> key of the GPU's table of tensor rates
RATES = {
    "hmma_src_fp16_dst_fp32": "fp16_fp32acc",
    "hmma_src_fp16_dst_fp16": "fp16_fp16acc",
    "hmma_src_bf16_dst_fp32": "bf16",
    "hmma_src_tf32_dst_fp32": "tf32",
    "imma_src_int8": "int8",
    "dmma_src_fp64": "fp64",
}
_DIGITS, _CROSSES = re.compile(r"(16|8)(8)(\d+)"), re.compile(r"(\d+)x(\d+)x(\d+)")


def shape(instruction: Instruction) -> tuple[int, int, int]:
    """Rows, columns and depth of a product; zeros where the text does not tell.

    A shape is written without separators (16816 multiplies 16 x 16 with 16 x 8), those of doubles
    with them or, 8x8x4, not at all. A step of mma.m8n8k4 with halves as results does half of
    four products of 8 x 8 x 4, one with floats a quarter.
    """
    modifiers = instruction.modifiers
    if instruction.opcode == "HMMA" and "884" in modifiers and "F32" not in modifiers:
        return 16, 8, 4
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


def rate_key(instruction: Instruction) -> str:
    """The key of its rate in the GPU's table."""
    names = set(instruction.modifiers)
    if instruction.opcode == "QMMA":
        return "fp8_fp32acc" if "F32" in names else "fp8_fp16acc"
    if instruction.opcode == "BMMA":
        return "b1"
    if instruction.opcode == "IMMA" and names & {"S4", "U4"}:
        return "int4"
    return RATES.get(matrix_work(instruction)[0], "fp16_fp32acc")


def products(kernel: SassKernel) -> frozenset[str]:
    """The opcodes of a kernel's matrix instructions."""
    return frozenset(inst.opcode for inst in kernel.instructions) & (OPCODES | warpgroup.OPCODES)
