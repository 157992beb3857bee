"""The rule about instructions that warps issue for nothing: predicated off for all threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warplens.analysis.advice import Context, Finding, rule
from warplens.wording import percent

_FEW = 0.15  # such instructions behind less than this share of all are not worth a word
_OFF = 1 / 16  # of an instruction's active threads at most so many are predicated on


@rule("PredicatedOff", section="InstructionStats", title="Instructions predicated off")
def predicated_off(c: Context) -> Iterator[Finding]:
    """Warps issue instructions whose predicate is false for nearly all of their threads."""
    idle = idle_instructions(c)
    executed = c.executed * idle
    total = float(c.executed.sum())
    place = c.worst(executed)
    if place is None or executed.sum() < _FEW * total:
        return
    on = float(c.column("thread_inst_executed_true")[idle].sum())
    active = float(c.column("thread_inst_executed")[idle].sum())
    yield Finding(
        text=f"{percent(float(executed.sum()) / total)} of the executed instructions are issued "
        f"with {percent(on / active)} of their threads predicated on; most are at {place.told} "
        f"({place.sass}). A short `if` compiles to predicates, which cost an issue slot whether a "
        "thread takes it or not. Test outside of the loop, give the rare threads (borders, "
        "remainders) a loop of their own, or let a condition that whole warps share decide.",
        percent=100.0 * float(executed.sum()) / total,
        drops=tuple(np.flatnonzero(idle & (c.executed > 0)).tolist()),
        place=place,
    )


def idle_instructions(c: Context) -> npt.NDArray[np.bool_]:
    """Guarded instructions of full warps that do something for hardly any thread.

    Branches and exits are left out: they are how work is skipped. So are lines with roots,
    reciprocals and the like: the compiler scales operands there under predicates of its own.
    """
    active, on = c.column("thread_inst_executed"), c.column("thread_inst_executed_true")
    is_work = np.array(
        [one.guard is not None and one.opcode not in ("BRA", "EXIT", "BSYNC", "BREAK", "CALL",
                                                      "RET", "BRX", "WARPSYNC")
         for one in c.kernel.instructions], bool
    )  # fmt: skip
    special = {(one.file, one.line) for one in c.kernel.instructions if one.opcode == "MUFU"}
    is_own = np.array([(one.file, one.line) not in special for one in c.kernel.instructions], bool)
    is_full = active >= 24 * c.executed
    return np.asarray(is_work & is_own & is_full & (c.executed > 0) & (on <= _OFF * active))
