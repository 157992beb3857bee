"""Counts a kernel's instructions, and those that go to memory, without disassembling it."""

from __future__ import annotations

from math import prod

import numpy as np

from warplens.tune.problem import Job

WORD_BYTES = 16  # of an instruction, from compute capability 7.5 on
_OPCODE = 0x1FF  # bits that say what an instruction does; three further ones say where operands are
_NOP = 0x118
_SCHEDULERS = 4  # of an SM
# LDSM, STSM, LD, LDG, LDL, LDS, ST, STG, STL, STS, ATOM (two), ATOMS (two), RED and REDG, ATOMG
# (three), LDGSTS, REDG of vectors: they pass through the load/store unit.
_MEMORY = (
    0x03B, 0x044, 0x180, 0x181, 0x183, 0x184, 0x185, 0x186, 0x187, 0x188, 0x18A, 0x18B, 0x18C,
    0x18D, 0x18E, 0x1A3, 0x1A8, 0x1A9, 0x1AE, 0x1A6,
)  # fmt: skip


def mix(code: bytes) -> tuple[int, int]:
    """Instructions of a kernel's code less what only fills it up, and those that go to memory."""
    whole = len(code) // WORD_BYTES * WORD_BYTES
    opcodes = np.frombuffer(code[:whole], "<u2")[:: WORD_BYTES // 2] & _OPCODE
    return int((opcodes != _NOP).sum()), int(np.isin(opcodes, _MEMORY).sum())


def work(job: Job, instructions: float, memory: float) -> float:
    """What the code of all warps has to do: turns of an SM's four schedulers, or of its load/store
    unit if these are more; loops count once."""
    warps = -(-prod(job.block) // 32) * prod(job.grid)
    return max(instructions / _SCHEDULERS, memory) * warps
