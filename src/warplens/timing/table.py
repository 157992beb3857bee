"""The scheduler's view of a kernel's instructions: control codes, pipes, latencies."""

from __future__ import annotations

import numpy as np

from warplens.gpus.spec import GpuSpec
from warplens.isa import families
from warplens.isa.table import Op
from warplens.sass.model import Imm, Instruction, SassKernel, Scoreboard
from warplens.timing.state import (
    ARRIVE,
    BLOCK_BARRIER,
    BRANCH,
    CONSTANT,
    EXIT,
    FENCE,
    FIXED,
    MEMORY,
    PIPES,
    SHARED,
    SLEEP,
    VARIABLE,
    Code,
)

_MEMORY = frozenset({
    "LD", "LDG", "LDL", "ST", "STG", "STL", "ATOM", "ATOMG", "RED", "REDG", "LDGSTS", "CCTL",
    "UBLKCP", "UTMALDG", "UTMASTG", "SULD", "SUST", "TEX", "TLD", "TLD4",
})  # fmt: skip
_SHARED = frozenset({"LDS", "STS", "ATOMS", "REDS", "LDSM", "STSM", "STAS", "SYNCS"})
_SHUFFLES = frozenset({"SHFL", "MATCH", "REDUX", "CREDUX"})
_FENCES = frozenset({"MEMBAR", "ERRBAR", "FENCE"})
_VARIABLE_PIPES = frozenset({"xu", "adu"})
_SHUFFLE = -2  # in Code.depth: no access record is to be looked for


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
    return _SHUFFLE if inst.opcode in _SHUFFLES else -1


def _interval(gpu: GpuSpec, inst: Instruction, pipe: str) -> int:
    """Cycles for which a warp's instruction holds its pipe: 32 lanes over those of the pipe."""
    name = pipe
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


def code_of(kernel: SassKernel, gpu: GpuSpec) -> Code:
    """The table of one kernel for one GPU."""
    families.load_all()
    instructions = kernel.instructions
    entries = [families.find(inst) for inst in instructions]
    pipes = [entry.pipe if entry is not None and entry.pipe in PIPES else "alu"
             for entry in entries]  # fmt: skip
    pairs = list(zip(instructions, entries, pipes, strict=True))
    controls = [inst.control for inst in instructions]
    return Code(
        kind=np.array([_kind(inst, entry) for inst, entry, _ in pairs], np.int8),
        pipe=np.array([PIPES.index(pipe) for pipe in pipes], np.int8),
        interval=np.array([_interval(gpu, inst, pipe) for inst, _, pipe in pairs], np.int32),
        stall=np.array([c.stall for c in controls], np.int32),
        keep=np.array([c.keep for c in controls], np.int8),
        write=np.array([c.write_barrier for c in controls], np.int8),
        read=np.array([c.read_barrier for c in controls], np.int8),
        wait=np.array([c.wait_mask for c in controls], np.int32),
        latency=np.array([_latency(gpu, inst, entry) for inst, entry, _ in pairs], np.int32),
        depth=np.array([_depth(inst) for inst in instructions], np.int32),
    )
