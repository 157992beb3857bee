"""Rules about work that need not be done: integer divisions, and where most of the work is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warplens.analysis.advice import Context, Finding, rule
from warplens.wording import count, percent

_FEW = 0.10  # divisions behind less than this share of all instructions are not worth a word
_MOST = 0.50  # a line with more than this share of all instructions is named
_LARGE = 200  # in a kernel of fewer instructions the reader sees where they are
# What an integer division by a register compiles to, beside the reciprocal itself.
_DIVIDES = frozenset({
    "I2F", "I2FP", "MUFU", "F2I", "IABS", "IMAD", "IADD3", "VIADD", "ISETP", "LOP3", "SEL", "MOV",
    "IADD", "UI2F", "UI2FP",
})  # fmt: skip
Flags = npt.NDArray[np.bool_]


@rule("IntegerDivision", section="InstructionStats", title="Integer division or modulo")
def integer_division(c: Context) -> Iterator[Finding]:
    """Integers are divided by a value that the compiler does not know."""
    divides, starts = _divisions(c)
    total = float(c.executed.sum())
    executed = c.executed * divides
    place = c.worst(executed)
    if place is None or executed.sum() < _FEW * total:
        return
    each = executed.sum() / max(1.0, float((c.executed * starts).sum()))
    yield Finding(
        text=f"Integer division or modulo by a value that is not known when compiling takes "
        f"{percent(float(executed.sum()) / total)} of the executed instructions, "
        f"{count(round(float(each)), 'instruction')} each; most are at {place.told}. Use `&` and "
        "`>>` for powers of two, make the divisor a constant or template argument, or index so "
        "that none is needed: `i = 2 * s * tid` in place of `tid % (2 * s) == 0`.",
        percent=100.0 * float(executed.sum()) / total,
        drops=tuple(np.flatnonzero(divides & (c.executed > 0)).tolist()),
        place=place,
    )


def _divisions(c: Context) -> tuple[Flags, Flags]:
    """Instructions of integer divisions by registers, and the conversions that begin each.

    A division converts its divisor to a float rounded up, takes its reciprocal, converts it back
    and corrects the quotient; all of it stands on the line of the division, or in a function.
    """
    instructions = c.kernel.instructions
    starts = np.array(
        [one.opcode in ("I2F", "UI2F") and "RP" in one.modifiers for one in instructions], bool
    )
    lines = {
        (one.file, one.line) for one, is_start in zip(instructions, starts, strict=True)
        if is_start and one.line
    }  # fmt: skip
    found = starts.copy()
    for index, one in enumerate(instructions):
        if (one.file, one.line) in lines and one.opcode in _DIVIDES:
            found[index] = True
    return found, starts


@rule("InstructionHotSpot", section="SourceCounters", title="Most instructions are here")
def hot_spot(c: Context) -> Iterator[Finding]:
    """One source line executes most of the kernel's instructions."""
    total = float(c.executed.sum())
    lines: dict[tuple[str, int], float] = {}
    for one, n in zip(c.kernel.instructions, c.executed.tolist(), strict=True):
        if one.file and one.line:
            key = (one.file, one.line)
            lines[key] = lines.get(key, 0.0) + n
    if len(c.kernel.instructions) < _LARGE or len(lines) < 2 or not total:
        return
    top = max(lines, key=lambda line: lines[line])
    if lines[top] < _MOST * total:
        return
    mine = np.array([(one.file, one.line) == top for one in c.kernel.instructions])
    place = c.worst(c.executed * mine)
    assert place is not None
    yield Finding(
        tag="INF",
        text=f"{percent(lines[top] / total)} of all executed instructions stand at "
        f"{top[0].rsplit('/', 1)[-1]}:{top[1]}. What is saved there is saved in the whole kernel.",
        place=place,
    )
