"""How ncu classes each instruction: pipe, category, memory space, kind of access, width."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from warplens import isa
from warplens.isa import warpgroup
from warplens.isa.table import Op, find
from warplens.metrics.pipes import counted_pipes, is_thread_register
from warplens.sass.model import Instruction, Reg, SassKernel

Mask = npt.NDArray[np.bool_]

# opcode -> (space it names, kind of access); a generic access finds its space at run time
MEMORY: dict[str, tuple[str, str]] = {
    "LD": ("generic", "ld"),
    "LDG": ("global", "ld"),
    "LDL": ("local", "ld"),
    "LDS": ("shared", "ld"),
    "LDSM": ("shared", "ldsm"),
    "LDC": ("constant", "ld"),
    "LDGSTS": ("global", "ldgsts"),
    "ST": ("generic", "st"),
    "STG": ("global", "st"),
    "STL": ("local", "st"),
    "STS": ("shared", "st"),
    "STSM": ("shared", "stsm"),
    "STAS": ("dshared", "stas"),
    "ATOM": ("generic", "atom"),
    "ATOMG": ("global", "atom"),
    "ATOMS": ("shared", "atom"),
    "RED": ("global", "red"),
    "REDG": ("global", "red"),
    "REDS": ("shared", "atom"),
    "REDAS": ("dshared", "redas"),
    "SULD": ("surface", "ld"),
    "SUST": ("surface", "st"),
    "SUATOM": ("surface", "atom"),
    "SURED": ("surface", "red"),
    "TEX": ("texture", "ld"),
    "TLD": ("texture", "ld"),
    "TLD4": ("texture", "ld"),
    "TXD": ("texture", "ld"),
    "TMML": ("texture", "ld"),
    "TXQ": ("texture", "ld"),
    "UTMALDG": ("tma", "tma"),
    "UTMASTG": ("tma", "tma"),
    "UTMAREDG": ("tma", "tma"),
    "UBLKCP": ("tma", "tma"),
    "UBLKRED": ("tma", "tma"),
    "LDT": ("tmem", "ld"),
    "LDTM": ("tmem", "ld"),
    "STT": ("tmem", "st"),
    "STTM": ("tmem", "st"),
}
JUMPS = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET"})
# As counted on an H200: also what ends a thread and what waits for the others of a branch
BRANCHES = JUMPS | {"BSYNC", "BREAK", "EXIT", "NANOSLEEP", "WARPSYNC", "YIELD"}
# Where an H200 counts otherwise than the opcode table classes
_CATEGORIES = {
    "ACQBULK": "misc", "BMMA": "bit", "CCTL": "memory", "CLMAD": "integer", "DMMA": "fp64",
    "ERRBAR": "control", "FENCE": "misc", "FSWZADD": "fp32", "I2I": "integer", "I2IP": "integer",
    "IMMA": "integer", "PREEXIT": "misc", "SYNCS": "misc", "UCGABAR_ARV": "control",
    "UCGABAR_WAIT": "control", "UR2UP": "uniform", "VABSDIFF": "misc", "VABSDIFF4": "misc",
}  # fmt: skip
_WIDTHS = {
    "128": 128, "64": 64, "U64": 64, "S64": 64, "F64": 64,
    "16": 16, "U16": 16, "S16": 16, "F16": 16, "BF16": 16, "8": 8, "U8": 8, "S8": 8,
}  # fmt: skip


@cache
def load_isa() -> None:
    """Imports every module under `isa`, so that the opcode table is complete."""
    for module in pkgutil.iter_modules(isa.__path__):
        importlib.import_module(f"{isa.__name__}.{module.name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionClass:
    """What the counters ask of one instruction."""

    opcode: str
    modifiers: frozenset[str]
    pipe: frozenset[str]  # those whose counters count it, mostly one
    category: str
    space: str
    op: str
    width: int
    is_branch: bool
    is_jump: bool
    is_twice: bool  # counts twice on the ADU
    is_cas: bool
    is_bypass: bool  # an asynchronous copy that goes around L1
    columns: int  # of a warpgroup's product; 0: it is none
    multiplied: str  # the type of its first operand
    is_from_registers: bool  # its first operand
    uses_banks: bool  # takes a pass of the shared-memory data path without accessing memory


def classify(instruction: Instruction) -> InstructionClass:
    """The classes of one instruction, from the opcode table where it has an entry."""
    load_isa()
    entry = find(instruction.opcode, instruction.modifiers)
    is_product = instruction.opcode in warpgroup.OPCODES
    product = warpgroup.product_of(instruction) if is_product else None
    space, op = MEMORY.get(instruction.opcode, ("", ""))
    modifiers = frozenset(instruction.modifiers)
    return InstructionClass(
        opcode=instruction.opcode,
        modifiers=modifiers,
        pipe=counted_pipes(instruction, entry, space),
        category=_CATEGORIES.get(instruction.opcode) or _category(entry, space),
        space=space,
        op=op,
        width=_width(op, instruction.modifiers),
        is_branch=instruction.opcode in BRANCHES,
        is_jump=_is_jump(instruction),
        is_twice=_is_twice(instruction),
        is_cas=bool(modifiers & {"CAS", "CAST"}),
        is_bypass="BYPASS" in modifiers,
        columns=0 if product is None or product.is_empty else product.columns,
        multiplied="" if product is None or product.is_empty else product.a,
        is_from_registers=product is not None and product.a_register is not None,
        uses_banks=instruction.opcode == "SHFL" or is_thread_register(instruction),
    )


def _is_jump(instruction: Instruction) -> bool:
    """Jumps as patched code counts them: parting lanes by their masks is one."""
    parts = instruction.opcode == "WARPSYNC" and "EXCLUSIVE" in instruction.modifiers
    return parts or instruction.opcode in JUMPS


def _is_twice(instruction: Instruction) -> bool:
    """Calls of what a register names."""
    return instruction.opcode == "CALL" and any(isinstance(o, Reg) for o in instruction.operands)


def _category(entry: Op | None, space: str) -> str:
    if space:
        return "memory"
    return entry.category if entry is not None else "misc"


def _width(op: str, modifiers: Iterable[str]) -> int:
    if op in ("ldsm", "stsm"):  # however many matrices: every lane names a row of 16 bytes
        return 128
    return next((_WIDTHS[name] for name in modifiers if name in _WIDTHS), 32)


def _is_one_of(value: str | int | bool | frozenset[str], wanted: set[str | int | bool]) -> bool:
    return not wanted.isdisjoint(value if isinstance(value, frozenset) else (value,))


_MOST_KEPT = 64
_kept: dict[int, tuple[SassKernel, Classes]] = {}  # a kernel's hash would be that of all its code


def classes_of(kernel: SassKernel) -> Classes:
    """The classes of a kernel's instructions; launches of the same kernel object share them."""
    found = _kept.get(id(kernel))
    if found is None or found[0] is not kernel:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        found = _kept[id(kernel)] = (kernel, Classes(kernel))
    return found[1]


class Classes:
    """The classes of a kernel's instructions, asked for masks."""

    def __init__(self, kernel: SassKernel) -> None:
        self.instructions = tuple(classify(instruction) for instruction in kernel.instructions)
        self._masks: dict[tuple[str, tuple[str | int | bool, ...]], Mask] = {}

    def mask(self, attribute: str, allowed: tuple[str | int | bool, ...]) -> Mask:
        """Which instructions have one of the allowed values of an attribute."""
        key = (attribute, allowed)
        if key not in self._masks:
            wanted = set(allowed)
            found = (_is_one_of(getattr(one, attribute), wanted) for one in self.instructions)
            self._masks[key] = np.fromiter(found, np.bool_, len(self.instructions))
        return self._masks[key]
