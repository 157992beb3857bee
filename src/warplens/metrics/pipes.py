"""Under which pipes the hardware's counters count an instruction.

Found by regression over launches recorded on an H200 (validation/README.md). What is not named here
counts under the pipe of the opcode table. The counted pipe is not always the one that the timing
model keeps busy: reading a thread's index goes through the load-store unit, a plain branch is
counted nowhere, and of the uniform instructions only those that compute are counted.
"""

from __future__ import annotations

from warplens.isa.table import Op, is_uniform
from warplens.sass.model import Instruction, Special

_NONE = frozenset({"BRA", "JMP", "NOP", "ENDCOLLECTIVE", "DEPBAR", "VOTEU"})
_COUNTED = {
    "BAR": ("adu",),
    "ACQBULK": ("adu",),
    "BRX": ("cbu", "adu"),
    "CALL": ("cbu", "adu"),
    "CCTL": ("lsu",),
    "CGAERRBAR": ("adu",),
    "CLMAD": ("fp64",),
    "ERRBAR": (),
    "F2IP": ("alu",),
    "FENCE": ("lsu",),
    "FSWZADD": ("fma",),
    "HMNMX2": ("alu",),
    "HSET2": ("alu",),
    "HSETP2": ("alu",),
    "I2I": ("alu",),
    "I2IP": ("alu",),
    "MOVM": ("lsu",),
    "NANOSLEEP": ("cbu", "adu"),
    "PREEXIT": (),
    "R2UR": ("alu",),
    "REDUX": ("adu",),
    "SYNCS": ("adu",),
    "UBLKCP": (),
    "UBLKRED": (),
    "UCGABAR_ARV": ("adu",),
    "UCGABAR_WAIT": (),
    "UTMALDG": (),
    "UTMAREDG": (),
    "UTMASTG": (),
    "VIADD": ("fma",),
}
_UNIFORM = frozenset({"UIADD3", "UIADD3_64", "UIADD", "ULEA", "USHF", "ULOP3", "UPOPC", "UIMAD",
                      "UIABS", "UBREV", "UBMSK", "UFLO", "USGXT", "UPRMT", "USEL", "UISETP",
                      "UPLOP3", "UR2UP", "UP2UR", "UVIADD", "UVIMNMX", "UIMNMX"})  # fmt: skip
_THREAD_REGISTERS = ("SR_TID", "SR_LANEID", "SR_VIRTID", "SR_EQMASK", "SR_LTMASK", "SR_LEMASK",
                     "SR_GTMASK", "SR_GEMASK")  # fmt: skip
_SPACES = {"": (), "texture": ("tex",), "constant": ("adu",), "tma": ("tma",), "tmem": ("tmem",)}


def is_thread_register(instruction: Instruction) -> bool:
    """Whether it reads a special register that differs between a warp's threads."""
    return instruction.opcode == "S2R" and any(
        isinstance(operand, Special) and operand.name.startswith(_THREAD_REGISTERS)
        for operand in instruction.operands
    )


def counted_pipes(instruction: Instruction, entry: Op | None, space: str) -> frozenset[str]:
    """The pipes whose counters count the instruction."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in _NONE:
        return frozenset()
    if opcode == "MEMBAR":
        return frozenset({"lsu"} if "CTA" in modifiers else {"lsu", "tex"})
    if opcode in _COUNTED:
        return frozenset(_COUNTED[opcode])
    if opcode == "WARPSYNC":  # a mask in a register is read on the way through the ADU
        return frozenset({"cbu"} if "ALL" in modifiers else {"cbu", "adu"})
    if opcode in ("S2R", "S2UR"):
        return frozenset({"lsu" if is_thread_register(instruction) else "adu"})
    if opcode == "HFMA2" and "MMA" in modifiers:
        return frozenset({"tensor"})
    if is_uniform(opcode):
        return frozenset({"uniform"} if opcode in _UNIFORM else ())
    if entry is not None:
        return frozenset({entry.pipe})
    return frozenset(_SPACES.get(space, ("lsu",)))
