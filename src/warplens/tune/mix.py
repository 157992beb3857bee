"""What a kernel's code has to do, read off its machine words without disassembling them."""

from __future__ import annotations

from math import prod

import numpy as np

from warplens.tune.problem import Job

WORD_BYTES = 16  # of an instruction, from compute capability 7.5 on
_OPCODE = 0x1FF  # bits that say what an instruction does; three further ones say where operands are
_NOP = 0x118
_SCHEDULERS = 4  # of an SM
_STALL, _WAIT = 41, 52  # where the upper word of an instruction holds its stall count and what it
_STALLS, _WAITS = 0xF, 0x3F  # waits for
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


def alone(code: bytes) -> tuple[int, int]:
    """Cycles that the stall counts of a kernel's code add up to, and how many instructions wait for
    a scoreboard: what a warp takes that has the SM to itself; loops count once."""
    whole = len(code) // WORD_BYTES * WORD_BYTES
    words = np.frombuffer(code[:whole], "<u8").reshape(-1, 2)
    upper = words[(words[:, 0] & _OPCODE) != _NOP, 1]
    stalls = np.maximum(1, (upper >> np.uint64(_STALL)) & np.uint64(_STALLS))
    return int(stalls.sum()), int(((upper >> np.uint64(_WAIT)) & np.uint64(_WAITS) != 0).sum())


def work(job: Job, instructions: float, memory: float) -> float:
    """What the code of all warps has to do: turns of an SM's four schedulers, or of its load/store
    unit if these are more; loops count once."""
    warps = -(-prod(job.block) // 32) * prod(job.grid)
    return max(instructions / _SCHEDULERS, memory) * warps


def least(
    job: Job, *, instructions: float, memory: float, stalls: float, waits: float, blocks: float,
    wait: float,
) -> float:  # fmt: skip
    """Cycles of an SM, times SMs, below which the code of all warps hardly gets: the turns of
    `work`, or what a warp takes by itself if the resident ones cannot hide that.

    Args:
        stalls, waits: of `alone`; blocks: resident ones of an SM.
        wait: cycles that a warp waits for a scoreboard: those of a load that hits L1.
    """
    warps = -(-prod(job.block) // 32)
    hidden = (stalls + wait * waits) / (max(1.0, blocks) * warps)
    return max(instructions / _SCHEDULERS, memory, hidden) * warps * prod(job.grid)
