"""The scheduler's view of a kernel's instructions: control codes, pipes, latencies."""

from __future__ import annotations

import numpy as np

from warplens.gpus.spec import GpuSpec
from warplens.isa import families
from warplens.isa.table import Op
from warplens.sass.model import Const, Imm, Instruction, SassKernel, Scoreboard
from warplens.timing import registers
from warplens.timing.lsu import SHUFFLE
from warplens.timing.state import (
    ARRIVE,
    BLOCK_BARRIER,
    BRANCH,
    CODE,
    CONSTANT,
    EXIT,
    FENCE,
    FIXED,
    MEMORY,
    PIPES,
    SHARED,
    SLEEP,
    VARIABLE,
    Records,
)

_MEMORY = frozenset({
    "LD", "LDG", "LDL", "ST", "STG", "STL", "ATOM", "ATOMG", "RED", "REDG", "LDGSTS", "CCTL",
    "UBLKCP", "UTMALDG", "UTMASTG", "SULD", "SUST", "TEX", "TLD", "TLD4",
})  # fmt: skip
_SHARED = frozenset({"LDS", "STS", "ATOMS", "REDS", "LDSM", "STSM", "STAS", "SYNCS"})
_SHUFFLES = frozenset({"SHFL", "MATCH", "REDUX", "CREDUX"})
_PASSES = {"MATCH": "match", "REDUX": "redux", "CREDUX": "redux"}
_FENCES = frozenset({"MEMBAR", "ERRBAR", "FENCE"})
_VARIABLE_PIPES = frozenset({"xu", "adu"})


def _kind(inst: Instruction, entry: Op | None) -> int:
    name = inst.opcode
    if name in _MEMORY:
        return MEMORY
    if name in _SHARED or name in _SHUFFLES:
        return SHARED
    if name in ("LDC", "LDCU", "ULDC"):
        return CONSTANT if name != "ULDC" else FIXED
    if name == "BAR":
        return ARRIVE if "ARV" in inst.modifiers else BLOCK_BARRIER
    if name == "EXIT":
        return EXIT
    if name in _FENCES:
        return FENCE
    if name == "NANOSLEEP":
        return SLEEP
    pipe = entry.pipe if entry is not None else "alu"
    if pipe == "cbu":
        return BRANCH if name != "DEPBAR" else FIXED
    return VARIABLE if pipe in _VARIABLE_PIPES else FIXED


def _depth(inst: Instruction) -> int:
    if inst.opcode == "DEPBAR":
        boards = [o.index for o in inst.operands if isinstance(o, Scoreboard)]
        allowed = [o.bits for o in inst.operands if isinstance(o, Imm)]
        return boards[0] << 8 | (allowed[0] & 255 if allowed else 0) if boards else -1
    if inst.opcode == "BAR":
        numbers = [o.bits for o in inst.operands if isinstance(o, Imm)]
        threads = numbers[1] if len(numbers) > 1 else 0
        return (numbers[0] & 15 if numbers else 0) << 8 | (threads + 31) // 32 & 255
    return SHUFFLE if inst.opcode in _SHUFFLES else -1


def _interval(gpu: GpuSpec, inst: Instruction, pipe: str) -> int:
    """Cycles for which a warp's instruction holds its pipe: 32 lanes over those of the pipe."""
    name = pipe
    if inst.opcode in _SHUFFLES:
        return int(gpu.value(f"issue.{_PASSES.get(inst.opcode, 'shuffle')}_passes", 1))
    if pipe == "fma" and inst.opcode in ("IMAD", "IMUL") and "MOV" not in inst.modifiers:
        name = "fma_heavy"
    if inst.opcode in ("HMMA", "IMMA", "DMMA", "BMMA", "QMMA"):
        return _matrix_interval(gpu, inst)
    lanes = float(gpu.value(f"pipes.{name}", 32))
    return max(1, round(32 / lanes)) if pipe != "lsu" else 1


def _matrix_interval(gpu: GpuSpec, inst: Instruction) -> int:
    """A matrix instruction's multiply-adds over the rate of the sub-partition's tensor core."""
    shape = next((m for m in inst.modifiers if m.isdigit() and len(m) >= 3), "16816")
    sizes = {"16816": 16 * 8 * 16, "1688": 16 * 8 * 8, "884": 8 * 8 * 4, "16832": 16 * 8 * 32,
             "8816": 8 * 8 * 16, "16864": 16 * 8 * 64, "8832": 8 * 8 * 32}  # fmt: skip
    work = 2 * sizes.get(shape, 16 * 8 * 16)
    key = {"IMMA": "int8", "DMMA": "fp64"}.get(inst.opcode, "fp16_fp32acc")
    if "TF32" in inst.modifiers:
        key = "tf32"
    rate = float(gpu.value(f"tensor.{key}", 1024)) / gpu.sub_partitions
    return max(1, round(work / rate * float(gpu.value("pipes.tensor_legacy_factor", 1))))


def _latency(gpu: GpuSpec, inst: Instruction, entry: Op | None) -> int:
    name = entry.latency if entry is not None else "alu"
    if inst.opcode in ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"):
        name = "fp64_slow"
    return int(gpu.value(f"latency.{name}", 4))


def _constant_line(inst: Instruction) -> int:
    """The 64-byte line of a constant operand with a fixed address, from 1; 0 without one."""
    for operand in inst.operands:
        if isinstance(operand, Const) and operand.bank >= 0:
            return 1 + (operand.bank << 12 | operand.offset >> 6 & 0xFFF)
    return 0


def _is_float_atomic(inst: Instruction) -> bool:
    """Whether L2 adds floats for it, which takes longer a lane than integers."""
    if inst.opcode not in ("ATOM", "ATOMG", "RED", "REDG") or "CAS" in inst.modifiers:
        return False
    return any(m.startswith(("F16", "F32", "F64", "BF16")) for m in inst.modifiers)


def code_of(kernel: SassKernel, gpu: GpuSpec) -> Records:
    """The table of one kernel for one GPU."""
    families.load_all()
    table = np.zeros(len(kernel.instructions), CODE)
    table["reads"] = registers.reads_of(kernel)
    for row, inst in zip(table, kernel.instructions, strict=True):
        entry = families.find(inst)
        pipe = entry.pipe if entry is not None and entry.pipe in PIPES else "alu"
        control = inst.control
        row["kind"] = _kind(inst, entry)
        row["pipe"] = PIPES.index(pipe)
        row["interval"] = _interval(gpu, inst, pipe)
        row["stall"], row["keep"] = control.stall, control.keep
        row["write"], row["read"] = control.write_barrier, control.read_barrier
        row["wait"] = control.wait_mask
        row["latency"] = _latency(gpu, inst, entry)
        row["constant"] = _constant_line(inst)
        row["depth"] = _depth(inst)
        row["float_atomic"] = _is_float_atomic(inst)
    return table
