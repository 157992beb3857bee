"""The scheduler's view of a kernel's instructions: control codes, pipes, latencies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warplens.gpus.spec import GpuSpec
from warplens.isa import families, warpgroup
from warplens.isa.matrix_kinds import OPCODES, shape
from warplens.isa.table import Op
from warplens.isa.texture import is_by_number, registers_given
from warplens.sass.model import (
    RZ,
    Const,
    Imm,
    Instruction,
    Operand,
    Reg,
    SassKernel,
    Scoreboard,
    Special,
    Token,
    UReg,
)
from warplens.timing import registers, results, tensor
from warplens.timing.lsu import CHECK, COPIED, COPY, DISTANT, EMPTIES, INDEXED, NAMED, SHUFFLE
from warplens.timing.queue import NUMBERS
from warplens.timing.retries import contends, exchanges, exchanges_shared, retries
from warplens.timing.state import (
    ARRIVE,
    BLOCK_BARRIER,
    BRANCH,
    CLUSTER_BARRIER,
    CODE,
    CONSTANT,
    COPIES,
    EXIT,
    FENCE,
    FIXED,
    JOIN,
    MEMORY,
    OF_CLUSTER,
    PIPES,
    PRODUCTS,
    RING,
    SHARED,
    SLEEP,
    TEXTURE,
    VARIABLE,
    Records,
)

_MEMORY = frozenset({
    "LD", "LDG", "LDL", "ST", "STG", "STL", "ATOM", "ATOMG", "RED", "REDG", "LDGSTS", "CCTL",
    "LDGDEPBAR",
})  # fmt: skip
_SHARED = frozenset({"LDS", "STS", "ATOMS", "REDS", "LDSM", "STSM", "STAS", "SYNCS", "ARRIVES"})
_TEXTURES = frozenset({
    "TEX", "TLD", "TLD4", "TXD", "TXQ", "TMML", "SULD", "SUST", "SURED", "SUATOM",
})  # fmt: skip
_SURFACES = frozenset({"SULD", "SUST", "SURED", "SUATOM"})
_COPIES = frozenset({
    "UBLKCP", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMACMDFLUSH",
})  # fmt: skip
_SHUFFLES = frozenset({"SHFL", "MATCH", "REDUX", "CREDUX", "MOVM"})
_OF_LANES = ("SR_TID", "SR_LANEID", "SR_EQMASK", "SR_LTMASK", "SR_LEMASK", "SR_GTMASK", "SR_GEMASK")
_BY_CONSTANTS_UNIT = frozenset({"LDC", "LDCU", "S2R", "S2UR"})
_PASSES = {"MATCH": "match", "REDUX": "redux", "CREDUX": "redux"}
_ATOMICS = frozenset({"ATOM", "ATOMG", "ATOMS"})
_FENCES = frozenset({"MEMBAR", "ERRBAR", "FENCE"})
_FLOW = {"DEPBAR": FIXED, "WARPGROUP": FIXED, "BSYNC": JOIN}
_VARIABLE_PIPES = frozenset({"xu", "adu"})
_TWO_PASSES = frozenset({"HI", "WIDE"})
# Units of instructions that a warp still issues which has come to a barrier before the others, and
# instructions of them that it does not (after_barriers_sm90.json; CS2R: clocks in
# constants_sm90.json)
_BESIDE_BARRIERS = frozenset({"alu", "fma", "fp16", "fp64", "uniform", "tensor"})
_NOT_BESIDE = frozenset({"NOP", "CS2R", "CS2UR", "UMOV", "ULDC", "R2UR", *warpgroup.OPCODES})

# Of these all operands count; of others what constants, special registers and names are
_BY_OPERANDS = frozenset({
    "BAR", "DEPBAR", "WARPGROUP", *OPCODES, *warpgroup.OPCODES, *_TEXTURES,
})  # fmt: skip
_TOLD_APART = Const, Special, Token, Scoreboard


def _halves_by_tensor(inst: Instruction) -> bool:
    """HFMA2.MMA: every second half-precision instruction goes to the tensor cores' pipe."""
    return inst.opcode == "HFMA2" and "MMA" in inst.modifiers


# where the counters of an H200 have found instructions, not where others of their kind are
_ELSEWHERE = {"VIADD": "fma", "HMNMX2": "alu", "HSET2": "alu", "HSETP2": "alu"}
# parts of pipes that are slower than the whole, and who runs there
_PARTS: dict[str, Callable[[Instruction], bool]] = {
    "fma_wide": lambda i: i.opcode in ("IMAD", "IMUL") and bool(_TWO_PASSES & set(i.modifiers)),
    "fma_heavy": lambda i: (
        (i.opcode in ("IMAD", "IMUL") and "MOV" not in i.modifiers)
        or i.opcode.startswith(("IDP", "VIADD"))
    ),
    "fp16": _halves_by_tensor,
}


def _is_zero(inst: Instruction) -> bool:
    """CS2R of no register: zeros."""
    return inst.opcode == "CS2R" and any(
        isinstance(operand, Special) and operand.name == "SRZ" for operand in inst.operands
    )


def _kind(inst: Instruction, entry: Op | None) -> int:
    name = inst.opcode
    if name in _MEMORY:
        return MEMORY
    if name in _SHARED or name in _SHUFFLES:
        return SHARED
    if name == "ULDC":
        return FIXED
    if _is_by_constants_unit(inst):
        return CONSTANT
    if name in _COPIES:
        return COPIES
    if name in _TEXTURES:
        return TEXTURE
    if name == "UCGABAR_WAIT":
        return CLUSTER_BARRIER
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
        return _FLOW.get(name, BRANCH)
    return VARIABLE if pipe in _VARIABLE_PIPES else FIXED


def _depth(inst: Instruction) -> int:
    if inst.opcode == "DEPBAR":
        boards = [o.index for o in inst.operands if isinstance(o, Scoreboard)]
        allowed = [o.bits for o in inst.operands if isinstance(o, Imm)]
        return boards[0] << 8 | (allowed[0] & 255 if allowed else 0) if boards else -1
    if inst.opcode == "WARPGROUP" and "DEPBAR" in inst.modifiers:
        allowed = [o.bits for o in inst.operands if isinstance(o, Imm)]
        return PRODUCTS << 8 | (min(allowed[0], RING) if allowed else 0)
    if inst.opcode == "BAR":
        if any(isinstance(o, Reg | UReg) for o in inst.operands):
            return NAMED
        numbers = [o.bits for o in inst.operands if isinstance(o, Imm)]
        threads = numbers[1] if len(numbers) > 1 else 0
        return (numbers[0] & 15 if numbers else 0) << 8 | (threads + 31) // 32 & 255
    if inst.opcode in _FENCES:
        return int(_is_wide(inst))
    if inst.opcode in _SHUFFLES:
        return SHUFFLE
    if _reads_lanes(inst):
        return NUMBERS
    if inst.opcode == "UCGABAR_WAIT":
        return OF_CLUSTER << 8
    if inst.opcode == "SYNCS" and "PHASECHK" in inst.modifiers:
        return CHECK
    if any(isinstance(o, Const) and isinstance(o.base, Reg) and o.base.index != 255
           for o in inst.operands):  # fmt: skip
        return INDEXED
    if inst.opcode == "CCTL" and "IVALL" in inst.modifiers:
        return EMPTIES
    depths = {"LDGSTS": COPY, "LDGDEPBAR": COPIED, "UTMACMDFLUSH": COPIED}
    return depths.get(inst.opcode, -1)


def _reads_lanes(inst: Instruction) -> bool:
    """Whether it reads a special register in which lanes differ."""
    of_lanes = (isinstance(o, Special) and o.name.startswith(_OF_LANES) for o in inst.operands)
    return inst.opcode == "S2R" and any(of_lanes)


def _is_by_constants_unit(inst: Instruction) -> bool:
    """Whether the unit does it that loads constants, which reads the other special registers too
    (lane_numbers_sm90.json)."""
    return inst.opcode in _BY_CONSTANTS_UNIT and not _reads_lanes(inst)


def _named_scoreboards(inst: Instruction) -> int:
    """The scoreboards of a set such as DEPBAR's {5,4,3}, as a mask."""
    sets = [o.text for o in inst.operands if isinstance(o, Token) and o.text[:1] == "{"]
    return sum(1 << int(number) for text in sets for number in text[1:-1].split(",") if number)


def _part(inst: Instruction, pipe: str) -> str:
    """The pipe, or the part of it where the instruction runs."""
    return next((part for part, matches in _PARTS.items() if matches(inst)), pipe)


def _interval(gpu: GpuSpec, inst: Instruction, pipe: str) -> int:
    """Cycles for which a warp's instruction holds its pipe: 32 lanes over those of the pipe."""
    if inst.opcode in _SHUFFLES:
        return int(gpu.value(f"issue.{_PASSES.get(inst.opcode, 'shuffle')}_passes", 1))
    if inst.opcode in OPCODES:
        return tensor.interval(gpu, inst)
    if inst.opcode in warpgroup.OPCODES:
        return tensor.warpgroup_interval(gpu, inst)
    if inst.opcode in _ATOMICS and "CAS" in inst.modifiers:
        return 2  # for one of others (measured, validation/data/paces_sm90.json)
    if _is_by_constants_unit(inst) and _depth(inst) != INDEXED:
        return int(gpu.value("fetch.indexed_word_cycles"))
    if _reads_lanes(inst):  # as slow, though elsewhere
        pipe = "adu"
    lanes = float(gpu.value(f"pipes.{_part(inst, pipe)}", 32))
    return max(1, round(32 / lanes)) if pipe != "lsu" else 1


def _latency(gpu: GpuSpec, inst: Instruction, entry: Op | None) -> int:
    name = entry.latency if entry is not None else "alu"
    if inst.opcode in ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"):
        name = "fp64_slow"
    if inst.opcode == "DMMA":
        rows = shape(inst)[0]
        return tensor.interval(gpu, inst) + rows - 8 + int(gpu.value("latency.dmma"))
    if inst.opcode in warpgroup.OPCODES:
        return tensor.warpgroup_interval(gpu, inst) + int(gpu.value("warpgroup_path.latency", 46))
    if name in ("texture", "texel"):
        more = float(gpu.value("textures.register", 0.0)) * (registers_given(inst) - 1)
        return round(float(gpu.value(f"latency.{name}")) + more)
    if inst.opcode == "NANOSLEEP":
        by_register = any(isinstance(o, Reg) for o in inst.operands)
        return int(gpu.value("latency.sleep") + by_register * gpu.value("latency.sleep_register"))
    if _kind(inst, entry) == FENCE and not _is_wide(inst):
        name = "fence_block"
    return int(gpu.value(f"latency.{name}", 4))


def _is_wide(inst: Instruction) -> bool:
    """Whether a fence waits for what the rest of the GPU sees."""
    return inst.opcode == "MEMBAR" and not {"CTA", "SM"} & set(inst.modifiers)


def _passes_l1(inst: Instruction) -> bool:
    """Whether a load asks L2 whatever L1 has: those that must see what other SMs write, and copies
    of 16 bytes that say so."""
    names = set(inst.modifiers)
    return "BYPASS" in names or ("STRONG" in names and bool({"GPU", "SYS"} & names))


def _constant_line(inst: Instruction) -> int:
    """The 64-byte line of a constant operand with a fixed address, from 1; -1 of a uniform load
    whose address is in a register, 0 of all others."""
    for operand in inst.operands:
        if isinstance(operand, Const) and operand.bank >= 0:
            if inst.opcode == "ULDC" and isinstance(operand.base, UReg):
                return -1
            return 1 + (operand.bank << 12 | operand.offset >> 6 & 0xFFF)
    return 0


def _float_atomic(inst: Instruction) -> int:
    """Whether L2 adds floats for it, which takes longer a lane than integers; 2: doubles."""
    if inst.opcode not in ("ATOM", "ATOMG", "RED", "REDG") or "CAS" in inst.modifiers:
        return 0
    if "F64" in inst.modifiers:
        return 2
    return int(any(m.startswith(("F16", "F32", "BF16")) for m in inst.modifiers))


def _merges(inst: Instruction) -> bool:
    """Whether lanes on one word of shared memory take one pass together: arrivals at mbarriers and
    additions of one (validation/data/shared_atomics_sm90.json)."""
    added = inst.opcode == "ATOMS" and {"POPC", "INC"} <= set(inst.modifiers)
    return added or inst.opcode in ("SYNCS", "ARRIVES")


def _ends_group(inst: Instruction) -> bool:
    """Whether an instruction is the last of a group of warpgroup products."""
    named = (o.text for o in inst.operands if isinstance(o, Token))
    return inst.opcode in warpgroup.OPCODES and any(text.startswith("gsb") for text in named)


def _seen(operand: Operand) -> object:
    """What the table's row depends on of an operand: not which register it is."""
    if isinstance(operand, Reg):
        return operand.index == RZ
    return operand if isinstance(operand, _TOLD_APART) else type(operand)


def _look(inst: Instruction) -> tuple[object, ...]:
    """What the table's row depends on of an instruction, beside its control code."""
    if inst.opcode in _BY_OPERANDS:
        return inst.opcode, inst.modifiers, inst.operands
    return inst.opcode, inst.modifiers, *map(_seen, inst.operands)


def code_of(kernel: SassKernel, gpu: GpuSpec) -> Records:
    """The table of one kernel for one GPU."""
    families.load_all()
    looks: dict[tuple[object, ...], int] = {}
    ones: list[Instruction] = []  # one of each look
    place = np.empty(len(kernel.instructions), np.int64)
    for number, inst in enumerate(kernel.instructions):
        place[number] = looks.setdefault(_look(inst), len(ones))
        if place[number] == len(ones):
            ones.append(inst)
    table = _rows(kernel, ones, gpu)[place]
    table["reads"], table["again"] = registers.reads_of(kernel)
    controls = [inst.control for inst in kernel.instructions]
    table["stall"] = [control.stall for control in controls] + table["holds"]
    table["keep"] = [control.keep for control in controls]
    writes = [control.write_barrier for control in controls]
    table["write"] = np.where(table["write"] == PRODUCTS, PRODUCTS, writes)
    table["read"] = [control.read_barrier for control in controls]
    table["wait"] |= np.array([control.wait_mask for control in controls], table["wait"].dtype)
    fences = np.flatnonzero((table["kind"][:-1] == FENCE) & (table["depth"][:-1] == 1))
    for at in fences.tolist():
        if kernel.instructions[at + 1].opcode == "ERRBAR":
            table["depth"][at] = 2
    return table


def _rows(kernel: SassKernel, instructions: list[Instruction], gpu: GpuSpec) -> Records:
    """Rows of some instructions of a kernel, without what their control codes say."""
    table = np.zeros(len(instructions), CODE)
    wide, tries_again = int(gpu.value("issue.wide_product_cycles")), retries(kernel)
    shared_again = retries(kernel, exchanges_shared)
    for row, inst in zip(table, instructions, strict=True):
        entry = families.find(inst)
        pipe = entry.pipe if entry is not None and entry.pipe in PIPES else "alu"
        if _halves_by_tensor(inst):
            pipe = "tensor"
        pipe = _ELSEWHERE.get(inst.opcode, pipe)
        if _reads_lanes(inst):
            pipe = "lsu"
        elif inst.opcode in ("S2R", "S2UR"):  # as loads of constants
            pipe = "adu"
        row["kind"] = _kind(inst, entry)
        row["pipe"] = PIPES.index(pipe)
        row["interval"] = _interval(gpu, inst, pipe)
        row["holds"] = wide if _part(inst, pipe) == "fma_wide" else 0
        row["write"] = PRODUCTS if _ends_group(inst) else 0
        row["wait"] = _named_scoreboards(inst)
        row["latency"] = _latency(gpu, inst, entry)
        row["passes_l1"] = _passes_l1(inst)
        row["passing"] = "EF" in inst.modifiers  # evict first
        row["constant"] = _constant_line(inst)
        row["depth"] = _depth(inst)
        beside = row["kind"] == FIXED and pipe in _BESIDE_BARRIERS
        row["meets"] = not (beside and (inst.opcode not in _NOT_BESIDE or _is_zero(inst)))
        row["defers"] = row["kind"] == BLOCK_BARRIER and "DEFER_BLOCKING" in inst.modifiers
        row["surface"] = inst.opcode in _SURFACES
        row["sends"] = 8 if is_by_number(inst) else 16
        if kernel.cluster_blocks > 1 and inst.opcode == "LD":
            row["depth"] = DISTANT
        row["writes"] = results.cycles_of(inst, row["kind"] == FIXED)
        row["merges"] = _merges(inst)
        row["float_atomic"] = _float_atomic(inst)
        row["answers"] = inst.opcode in ("ATOM", "ATOMG")
        row["compares"] = tries_again if exchanges(inst) else 0
        row["contends"] = contends(inst, shared_again)
    return table
