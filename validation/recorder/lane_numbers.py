"""Measures the pace of reads of special registers and of loads of constants by number: cycles and
states of rounds of sixteen, by warps. The reads of the SM's number that the compiler made are
replaced in the machine code."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
from launches import STATES
from session import Session

from counters import counter_of

READ, LOAD = 0x919, 0xB82  # S2R, LDC
SM_NUMBER = 0x43
REGISTERS = {"lane": 0x00, "thread": 0x21, "block": 0x25, "sm": SM_NUMBER}
KINDS = ("lane", "thread", "block", "sm", "constant", "thread constant", "block constant",
         "thread block")  # fmt: skip
WARPS = (1, 4, 8, 16, 32)
ROUNDS, SMS, CODE = 256, 132, 16  # ..., bytes of an instruction
METRICS = ("sm__cycles_active.avg", "smsp__inst_issued.sum", *STATES)
COLUMNS = ("kind", "warps", *METRICS)
_LOADED = 0x0000000000800000_00000A00FF000B82  # LDC R0, c[0x0][0x28], without a control code


def replaced(word: int, kind: str) -> int:
    """A read of the SM's number as another one, or as a load of a constant."""
    if kind == "constant":
        control = word >> 105 << 105
        return control | _LOADED | (word >> 16 & 0xFF) << 16
    return word & ~(0xFF << 72) | REGISTERS[kind] << 72


def with_kinds(cubin: bytes, kinds: list[str]) -> bytes:
    """The machine code with kinds in turn."""
    code, turns = bytearray(cubin), itertools.cycle(kinds)
    for place in range(0, len(code) - CODE, CODE):
        word = int.from_bytes(code[place : place + CODE], "little")
        if word & 0xFFF == READ and word >> 72 & 0xFF == SM_NUMBER:
            code[place : place + CODE] = replaced(word, next(turns)).to_bytes(CODE, "little")
    return bytes(code)


def main() -> None:
    """Writes lane_numbers_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    out = driver.alloc(1 << 12)
    counted = counter_of(session, METRICS)
    rows = []
    for kind in KINDS:
        module = driver.load(with_kinds(session.cubin("lane_numbers"), kind.split()))
        function = driver.function(module, "numbers")
        for warps in WARPS:
            given = out, np.uint32(ROUNDS), np.uint32(1 << 20)
            launch = partial(driver.launch, function, (SMS,), (32 * warps,), given)
            rows.append((kind, warps, *counted(launch)))
    session.save_rows("lane_numbers_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
