"""Measures what other instructions cost a sub-partition that is busy with multiply-adds.

In a loop of 256 multiply-adds whose operands never conflict, every few of them are replaced in the
machine code by another instruction: what is beyond the cycles of the rest, it costs.
"""

from __future__ import annotations

import itertools
from functools import partial

import ports
from session import Session
from words import controlled, put

# Words, and where RZ or URZ takes the place of their registers: bits of 8 and of 6
OTHERS = {
    "LDS": (0x4E2400000080000018C000D037984, (24,), ()),
    "LDS.64": (0xFE80000000A00000038000C0C7984, (24,), ()),
    "LDS.128": (0xE220000000C000000000004047984, (24,), ()),
    "LDS.128 UR": (0xE620008000C0000001007FF107984, (24,), (32,)),
    "MUFU.RSQ": (0x4E2400000014000000000300147308, (32,), ()),
    "F2I": (0xE24000020F1000000001500157305, (32,), ()),
    "SHFL": (0x1E2C00000E000000001F1615107589, (24, 32), ()),
    "POPC": (0x1E2400000000000000001000117309, (32,), ()),
    "FADD UR": (0xFE200080000000000000A05057E21, (24,), (32,)),
    "FADD": (0xFC800000000000000001104047221, (24, 32), ()),
    "FSETP": (0xFE20003F6E200008000000500780B, (24,), ()),
    "FMUL off": (0xFD800004000004B8000000505F820, (24,), ()),
    "FMUL value": (0xFD800004000004B80000005057820, (24,), ()),
    "LEA UR": (0xFCA000F8E20FF0000000402007C11, (24,), (32,)),
    "SHF": (0x41FE200000006FF00000002110B7819, (24,), ()),
    "LDC": (0xE220000000A0000008600FF047B82, (24,), ()),
    "I2FP": (0xFC600002014000000001100117245, (32,), ()),
    "STS": (0xFE600000008000000100300007388, (24, 32), ()),
    "IMAD.WIDE": (0xFE400078E0008000000040B087825, (24,), ()),
    "NOP": (0xFE2000000000000000000007918, (), ()),
}
NO_RESULT = ("FSETP", "STS", "NOP")
RESULT = 64  # and the next three registers, that no multiply-add uses
EVERY = (4, 8, 16, 32)
WARPS = (1, 2, 4, 6)
COLUMNS = ("other", "every", "banks", "warps", "cycles")
BANKS = ("eoz", "eeo eoz", "ezz")


def placed(word: int, free: list[int], i: int, *, other: str, every: int, banks: str) -> int:
    """The i-th instruction of the loop."""
    if i % every:
        return ports.mixed(word, free, i, banks)
    new, registers, uniform = OTHERS[other]
    for place in registers:
        new = put(new, place, 8, 255)
    for place in uniform:
        new = put(new, place, 6, 63)
    if other not in NO_RESULT:
        new = put(new, 16, 8, RESULT)
    return controlled(new, stall=ports.RUN, wait=0)


def main() -> None:
    """Writes mixes_sm90.json."""
    session = Session.of_command_line(__doc__)
    bench, cubin = ports.Bench(session), session.cubin("ports")
    rows = []
    for other, every, banks in itertools.product(OTHERS, EVERY, BANKS):
        made = ports.pattern(
            cubin, "ffma", partial(placed, other=other, every=every, banks=banks))
        for warps in WARPS:
            rows.append((other, every, banks, warps, bench.cycles(made, "ffma", warps)))
    session.save_rows("mixes_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
