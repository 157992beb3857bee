"""Measures what reading registers costs: operands of one bank, operands kept for reuse.

In a loop of 256 instructions the registers and reuse marks are replaced in the machine code. Per
operand: `fixed` is one register, `kept` one with a reuse mark, `other` four in turn; and its bank,
the register's number modulo four.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from functools import partial

import build
import numpy as np
from session import Session

OPCODES = {"ffma": 0x223, "fadd": 0x221, "imad": 0x224, "lop3": 0x212}
MASK = 0xFFF
TURNS = 32
RUN = 17  # of the control code: a cycle's stall, and the warp may go on
STATES = ("other", "fixed", "kept")
# Instructions in turn, three operands each: an even register, an odd one, the same as the one
# before, none
SEQUENCES = (
    "eee", "eeo", "eez", "eoz", "ezz", "zzz", "eee ooo", "eee zzo", "eee zzz", "eee zzz zzz",
    "eee ooz", "eeo ooe", "eez ooz", "eez zzo", "eez zzz", "eez ezz", "eez eoz", "eez oez",
    "eee ooo zzz", "eez ooz zzz", "eee zzz zzz zzz", "ees", "ess", "eso", "oss ess", "ees eoz",
)  # fmt: skip
PATTERN = ("name", "a", "bank_a", "b", "bank_b", "bank_c", "warps", "cycles")
Operand = tuple[str, int]


def cases() -> Iterator[tuple[str, tuple[Operand, Operand], int, int]]:
    """Operation, states and banks of the first two operands, bank of the third and the result,
    warps of a sub-partition."""
    for name in OPCODES:
        kept = STATES if name != "fadd" else STATES[:-1]  # its second operand has no mark
        for a, b in itertools.product(STATES, kept):
            for bank_b, bank_c in itertools.product(range(4), range(4)):
                if name == "ffma" or (bank_b < 2 and bank_c < 2):
                    for warps in (1, 2, 4) if name == "ffma" else (1, 4):
                        yield name, ((a, 0), (b, bank_b)), bank_c, warps


def instruction(word: int, free: list[int], i: int, operands: tuple[Operand, Operand],
                bank_c: int) -> int:  # fmt: skip
    """The i-th instruction of a pattern."""
    banks = [[r for r in free if r % 4 == bank] for bank in range(4)]
    results = banks[bank_c][4:]
    result = results[i % len(results)]
    for slot, (state, bank) in enumerate(operands):
        own = banks[bank][2 * slot : 2 * slot + 2]
        register = own[i % 2] if state == "other" else own[0]
        word = _with(word, 24 + 8 * slot, 8, register)
        word = _with(word, 122 + slot, 1, state == "kept")
    word = _with(word, 124, 1, 0)
    word = _with(word, 16, 8, result)
    if word & MASK != OPCODES["fadd"]:
        word = _with(word, 64, 8, result)
    return _with(word, 105, 5, RUN)


def mixed(word: int, free: list[int], i: int, sequence: str) -> int:
    """The i-th instruction of a sequence (see SEQUENCES)."""
    kinds, own = sequence.split(), 255
    odd = [[r for r in free if r % 2 == parity] for parity in (0, 1)]
    for slot, (low, kind) in enumerate(zip((24, 32, 64), kinds[i % len(kinds)], strict=True)):
        if kind != "s":
            own = 255 if kind == "z" else odd[kind == "o"][2 * slot + i % 2]
        word = _with(_with(word, low, 8, own), 122 + slot, 1, 0)
    word = _with(word, 16, 8, odd[i % 2][6 + i // 2 % 12])
    return _with(word, 105, 5, RUN)


def _with(word: int, low: int, width: int, value: int) -> int:
    return word & ~((1 << width) - 1 << low) | int(value) << low


def pattern(cubin: bytes, name: str, replaced: Callable[[int, list[int], int], int]) -> bytes:
    """The cubin with the loop's instructions replaced: from the first one's word, the registers
    that are free to use, and the place in the loop."""
    kernel = f"ports_{name}"
    words = build.words(cubin, kernel)
    places = [i for i, word in enumerate(words) if word & MASK == OPCODES[name]]
    if len(places) != 256:
        raise ValueError(f"{kernel} has {len(places)} instructions to replace, not 256")
    free = sorted({words[i] >> 16 & 0xFF for i in places})
    first = words[places[0]]
    for number, place in enumerate(places):
        words[place] = replaced(first, free, number)
    return build.with_words(cubin, kernel, words)


class Bench:
    """Buffers and launches."""

    def __init__(self, session: Session) -> None:
        self.driver = session.driver
        self.clocks, self.values = self.driver.alloc(4096), self.driver.alloc(1 << 16)
        self.driver.fill(self.values, 0, 1 << 16)

    def cycles(self, cubin: bytes, name: str, warps: int) -> float:
        """Per instruction of a sub-partition with so many warps."""
        driver = self.driver
        function = driver.function(driver.load(cubin), f"ports_{name}")
        for _ in range(2):
            arguments = (self.clocks, self.values, np.uint32(TURNS))
            driver.launch(function, (1,), (128 * warps,), arguments, 2048)
            driver.synchronize()
        times = driver.download(self.clocks, 8 * warps, np.uint64).astype(np.int64)
        return round(int(times[1::2].max() - times[::2].min()) / (TURNS * 256 * warps), 4)


def main() -> None:
    """Writes ports_sm90.json."""
    session = Session.of_command_line(__doc__)
    bench, cubin = Bench(session), session.cubin("ports")
    patterns = [
        (name, *operands[0], *operands[1], bank_c, warps, bench.cycles(
            pattern(cubin, name, partial(instruction, operands=operands, bank_c=bank_c)),
            name, warps))
        for name, operands, bank_c, warps in cases()
    ]  # fmt: skip
    sequences = [
        (sequence, warps, bench.cycles(
            pattern(cubin, "ffma", partial(mixed, sequence=sequence)), "ffma", warps))
        for sequence in SEQUENCES for warps in (1, 4)
    ]  # fmt: skip
    found = {
        "metadata": session.metadata(), "clocks": session.clocks(),
        "columns": {"patterns": PATTERN, "sequences": ("sequence", "warps", "cycles")},
        "patterns": patterns, "sequences": sequences,
    }  # fmt: skip
    (session.out / "ports_sm90.json").write_text(json.dumps(found))
    print(len(patterns), "patterns,", len(sequences), "sequences")


if __name__ == "__main__":
    main()
