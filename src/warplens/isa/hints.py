"""Tokens of instructions that change no result, and why each is without effect here.

Everything else that an instruction says is read by the rule that executes it, or the instruction
is refused. What stands here may change times, never values.
"""

from __future__ import annotations

_CACHE = "which lines caches keep; memory holds the same"
_ORDER = "which accesses others see first; accesses happen in one order that all lanes see"
_NAME = "the disassembler's name for a use of the operation; the operands say it too"
_SCHEDULING = "when lanes go on, not what they compute"
_WIDTH = "the width, which the operation or the operand's kind says too"
_COUNTING = "counts calls for the debugger"

# Suffixes of operands.
SUFFIXES: dict[str, str] = {
    "reuse": "keeps the operand for the next instruction's read of the register file",
    "noreuse": "the opposite of .reuse",
    "64": _WIDTH,
    "32": _WIDTH,
    "ROW": "the only layout of the operand that the operation has",
    "COL": "the only layout of the operand that the operation has",
    "H1_H0": "both halves in their order, as without it",
    "HI_LO": "both words in their order, as without it",
    "F32x2": "two singles, which the operation says too",
}

# Operands that are accepted and not read.
OPERANDS: dict[str, str] = {
    "desc[]": "the caching policy of an access or of a bulk or tensor copy",
    "PR": "all predicates, which the operation says too",
}

# Modifiers by the opcodes that have them.
_MEMORY = "LDG STG LD ST LDS STS LDL STL LDGSTS ATOM ATOMG ATOMS RED REDG QSPC"
_MODIFIERS: tuple[tuple[str, str, str], ...] = (
    (_MEMORY, "EF EL LU EU NA LTC64B LTC128B LTC256B ENL2 U.ENL2 PREFETCH CONSTANT BYPASS ACCESS "
     "PRIVATE EXCLUSIVE", _CACHE),
    (_MEMORY, "STRONG WEAK MMIO CTA SM GPU SYS VC", _ORDER),
    (_MEMORY, "E 32 U ADDR", _WIDTH),
    ("ATOM ATOMG ATOMS", "SPIN", _NAME),
    ("ATOM ATOMG ATOMS RED REDG", "RN", "the only rounding of such a sum"),
    ("LDC LDCU ULDC", "32 U", _WIDTH),
    ("LDC", "IL IS ISL", "which bits of an index select a bank; within a bank all are alike"),
    ("TEX TLD TLD4 TXD TXQ", "NODEP", _SCHEDULING),
    ("LDSM STSM", "16 1", _WIDTH),
    ("IMAD UIMAD", "MOV SHL IADD", _NAME),
    ("IMAD UIMAD", "U32", "the low word of a product is the same with and without signs"),
    ("LOP3 ULOP3 PLOP3 UPLOP3", "LUT", _NAME),
    ("PRMT UPRMT", "IDX", _NAME),
    ("FCHK", "DIVIDE", "the only test there is"),
    ("S2R S2UR CS2R", "32", _WIDTH),
    ("BSSY BSYNC BREAK", "RECONVERGENT RELIABLE", _SCHEDULING),
    ("CALL RET BRX BRXU JMX JMXU BRA", "NOINC INC NODEC DEC DEPTH", _COUNTING),
    ("EXIT", "KEEPREFCOUNT PREEMPTED NO_ATEXIT", "nothing runs at the end of a lane here"),
    ("BAR", "DEFER_BLOCKING", _SCHEDULING),
    ("BAR", "SYNC SYNCALL", _NAME),
    ("NANOSLEEP", "WARP SYNCS RAND", _SCHEDULING),
    ("MEMBAR FENCE ERRBAR CGAERRBAR CCTL CCTLL CCTLT DEPBAR LDGDEPBAR", "*", _ORDER),
    ("R2UR", "BROADCAST FILL", "the register's value is the first lane's in any case"),
    ("MOV", "SPILL", "a uniform register is kept in those of the lanes, as by any MOV"),
)  # fmt: skip


def modifier(opcode: str, name: str) -> str | None:
    """Why a modifier changes no result, or None if it does."""
    for opcodes, names, reason in _MODIFIERS:
        if opcode in opcodes.split() and (names == "*" or name in names.split()):
            return reason
    return None
