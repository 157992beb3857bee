"""Records which lanes of ATOMS.CAST.SPIN exchange, by the words of shared memory that they name.

`spins.py CUBINS OUT` needs CUBINS/carrier.cubin. A block of one warp is one pattern: words all over
shared memory or close together, several lanes on a word, some lanes off, some words not as
expected. Every word holds 5 before; what is kept is the result of two such instructions one after
another and the word behind them, 32 bits wide and 64.
"""

from __future__ import annotations

from typing import Any

import assembler as a
import numpy as np
import slots
import words as w
from session import Session

PATTERNS = 256
REGISTER_COUNT = 64
_WIDE, _NARROW = 0x1800480000000604020738D, 0x1800080000000604020738D
_BEFORE, _UNTOUCHED = 5, 99
_AT, _CELL, _EXPECTED, _NEW = 16, 40, 24, 26


def patterns() -> np.ndarray:
    """Of each pattern and lane: byte offset (32 bits wide), expected value, new value, is on."""
    rng, lane = np.random.default_rng(18), np.arange(32)
    close = (64, 64, 16, 16)  # words that lanes are spread over
    rows = np.zeros((PATTERNS, 32, 4), np.uint32)
    for i in range(PATTERNS):
        kind = i % 16
        if i < 48:
            words = lane * (i // 3 + 1) % 1024
        elif kind < 4:
            words = rng.permutation(1024)[:32]
        elif kind < 6:
            words = rng.integers(0, 1024, 32)
        elif kind < 10:
            words = rng.integers(0, close[kind - 6], 32)
        elif kind == 10:
            words = 32 * rng.permutation(32)
        elif kind == 11:
            words = 32 * rng.integers(0, 4, 32)
        else:
            words = 4 * rng.permutation(256)[:32] if kind == 12 else rng.permutation(128)[:32]
        some = i % 5 == 0 if i >= 48 else False
        is_on = rng.random(32) < rng.random() if i % 3 == 1 or some else np.ones(32, bool)
        expected = np.where(rng.random(32) < 0.5, _BEFORE, 6) if i % 3 == 2 else _BEFORE
        rows[i] = np.stack([4 * words, np.broadcast_to(expected, 32), 7 + lane, is_on], 1)
    return rows


def code(is_wide: bool) -> list[int]:
    """A kernel that makes each word 5, exchanges twice and stores both results and the word."""
    def cast(result: int) -> int:
        word = w.put(w.put(_WIDE if is_wide else _NARROW, 16, 8, result), 24, 8, _CELL)
        word = w.put(w.put(word, 32, 8, _EXPECTED), 64, 8, _NEW)
        return w.controlled(a.guarded(word, 0), write=1)

    def store(cell: int, register: int) -> int:
        word = w.put(w.put(0x00000800 << 64 | 0x7388, 32, 8, register), 24, 8, cell)
        return w.controlled(word, read=0)

    load = w.put(w.put(0x00000800 << 64 | 0x7984, 16, 8, 22), 24, 8, _CELL)
    is_on = w.put(w.put(0x03F05270 << 64 | 0x780C, 24, 8, _AT + 3), 81, 3, 0)
    return [
        a.special(0, 33), a.special(8, 37), a.descriptor(),
        a.parameter(2, a.PARAMETERS), a.parameter(4, a.PARAMETERS + 8),
        a.multiply_add(9, 8, 32, 0), a.wide(2, 9, 16, 2), a.wide(4, 9, 16, 4), a.load(_AT, 2, 0),
        a.multiply_add(_CELL, _AT, 1 + is_wide, w.RZ), a.add_value(_CELL, _CELL, 0x400),
        *[a.move(r, 0) for r in (_EXPECTED + 1, _NEW + 1, 29)],
        a.multiply_add(_EXPECTED, _AT + 1, 1, w.RZ), a.multiply_add(_NEW, _AT + 2, 1, w.RZ),
        a.move(28, _BEFORE), a.add_value(41, _CELL, 4), store(_CELL, 28),
        *([store(41, 29)] if is_wide else []), a.barrier(), w.controlled(is_on),
        *[a.move(r, _UNTOUCHED) for r in (20, 21, 32, 33)],
        cast(20), cast(32), w.controlled(load, write=1), a.multiply_add(23, 32, 1, w.RZ),
        a.store(4, 0, 20), a.leave(),
    ]  # fmt: skip


def record(session: Session) -> None:
    """Writes spins_sm90.npz: patterns, and results [pattern, lane, 4] of both widths."""
    driver: Any = session.driver
    rows, found = patterns(), {}
    given, out = driver.upload(rows), driver.alloc(rows.nbytes)
    for name, is_wide in (("narrow", False), ("wide", True)):
        cubin = a.carried(session.cubin("carrier"), code(is_wide), REGISTER_COUNT, {})
        function = driver.function(driver.load(cubin), a.CARRIER)
        driver.launch(function, (PATTERNS,), (32,), (given, out, out, slots.constants_cell()))
        driver.synchronize()
        found[name] = driver.download(out, rows.size, np.uint32).reshape(rows.shape)
    session.save("spins_sm90", rows=rows.astype(np.uint16),
                 **{name: array.astype(np.uint16) for name, array in found.items()})  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__))
