"""Measures what instructions of other units cost a sub-partition that is busy with multiply-adds,
by the registers that they read; see mixes.py, whose instructions read none."""

from __future__ import annotations

import itertools
from functools import partial

import build
import ports
from mixes import RESULT
from session import Session
from words import controlled, put

# Words, and which register stands at which bit: e0, e1, o0 are even and odd ones that hold zeros, z
# none, a the pair of each lane's address, r the place of results
OTHERS = {
    "NOP": (0xFE2000000000000000000007918, {}),
    "MUFU even": (0x4E3000000010000000000900067308, {32: "e0", 16: "r"}),
    "MUFU odd": (0x4E3000000010000000000900067308, {32: "o0", 16: "r"}),
    "FCHK even": (0x8E6200000000000000000900007302, {24: "e0", 32: "e1"}),
    "FCHK": (0x8E6200000000000000000900007302, {24: "e0", 32: "o0"}),
    "FCHK one": (0x8E6200000000000000000900007302, {24: "e0", 32: "z"}),
    "POPC": (0x10EA200000000000000001400177309, {32: "e0", 16: "r"}),
    "F2I": (0x4E24000020F1000000000D000D7305, {32: "e0", 16: "r"}),
    "F2F.F64": (0xF2200002018000000000000067310, {32: "e0", 16: "r"}),
    "LDS even": (0xFE800000008000000000019197984, {24: "e0", 16: "r"}),
    "LDS odd": (0xFE800000008000000000019197984, {24: "o0", 16: "r"}),
    "LDS.64": (0xF220000000A00000000001A1A7984, {24: "e0", 16: "r"}),
    "LDS.128": (0xEE80000000C000000000004047984, {24: "e0", 16: "r"}),
    "STS": (0x10FE800000008000000000D0C007388, {24: "e0", 32: "o0"}),
    "STS value": (0x10FE800000008000000000D0C007388, {24: "z", 32: "o0"}),
    "STS.64": (0x203E80000000A000000001610007388, {24: "e0", 32: "r"}),
    "STS.128": (0x5E20000000C000000000818007388, {24: "e0", 32: "r"}),
    "SHFL.IDX": (0x4E2800000E000000001F0013137589, {24: "e0", 32: "o0", 16: "r"}),
    "SHFL.BFLY": (0x8E6200000E00000C601F0012157F89, {24: "e0", 16: "r"}),
    "ATOMS": (0x207E80000000000000000050CFF738C, {24: "e0", 32: "o0"}),
    "LDG": (0xEA2000C1E19000000000804097981, {24: "a", 16: "r"}),
    "LDG.64": (0xEE8000C1E1B000000000810107981, {24: "a", 16: "r"}),
    "LDG.128": (0xEE2000C1E1D000000000804047981, {24: "a", 16: "r"}),
    "STG": (0xFC8000C1019060000000D0E007986, {24: "a", 32: "o0"}),
    "STG.64": (0x10FE8000C101B060000001A10007986, {24: "a", 32: "r"}),
    "STG.128": (0x1E8000C101D06000000040A007986, {24: "a", 32: "r"}),
    "REDG": (0x7E8000C10E186000000070800798E, {24: "a", 32: "o0"}),
    "BRA": (0xFEA00038000000000000000107947, {}),
    "IADD3": (0xFE40007FFE0140000001709147210, {24: "e0", 32: "o0", 64: "z", 16: "r"}),
    "SEL": (0xFE40001000000000000FF07067207, {24: "e0", 16: "r"}),
}
GLOBAL = ("LDG", "STG", "REDG")
LOAD, SHIFT, MASK = 0x981, 0x819, 0x812  # opcodes of the kernel's addresses
NEVER = 15  # the guard of a branch that is not taken
FOUND = 3  # the predicate of what is found; P0 counts turns
EVERY, BANKS, WARPS = (8, 16, 32), ("eoz", "ezz", "zzz"), (2, 4, 6)
COLUMNS = ("other", "every", "banks", "warps", "cycles")


def prepared(cubin: bytes) -> tuple[bytes, tuple[int, int]]:
    """The kernel with 16 bytes from lane to lane; the register pair of addresses, and the uniform
    one of their descriptor."""
    words = build.words(cubin, "ports_ffma")
    for opcode, value in ((SHIFT, 4), (MASK, 0x1F0)):
        at = next(i for i, word in enumerate(words) if word & ports.MASK == opcode)
        words[at] = put(words[at], 32, 32, value)
    load = next(word for word in words if word & ports.MASK == LOAD)
    return build.with_words(cubin, "ports_ffma", words), (load >> 24 & 0xFF, load >> 32 & 0x3F)


def placed(word: int, free: list[int], i: int, *, other: str, every: int, banks: str,
           pair: tuple[int, int]) -> int:  # fmt: skip
    """The i-th instruction of the loop."""
    if i % every:
        return ports.mixed(word, free, i, banks)
    even, odd = ([one for one in free if one % 2 == parity] for parity in (0, 1))
    named = {"e0": even[-1], "e1": even[-2], "o0": odd[-1], "z": 255, "a": pair[0], "r": RESULT}
    new, registers = OTHERS[other]
    for place, name in registers.items():
        new = put(new, place, 8, named[name])
    if other.startswith(GLOBAL):
        new = put(new, 32 if other.startswith("LDG") else 64, 6, pair[1])
    if other.startswith("FCHK"):
        new = put(new, 81, 3, FOUND)
    if other == "BRA":
        new = put(new, 12, 4, NEVER)
    return controlled(new, stall=ports.RUN, wait=0)


def main() -> None:
    """Writes dispatched_sm90.json."""
    session = Session.of_command_line(__doc__)
    cubin, pair = prepared(session.cubin("ports"))
    bench, rows = ports.Bench(session), []
    for other, every, banks in itertools.product(OTHERS, EVERY, BANKS):
        made = ports.pattern(
            cubin, "ffma", partial(placed, other=other, every=every, banks=banks, pair=pair)
        )
        for warps in WARPS:
            rows.append((other, every, banks, warps, bench.cycles(made, "ffma", warps)))
    session.save_rows("dispatched_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
