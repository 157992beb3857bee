"""cuRAND's XORWOW generator: Marsaglia's, 4096 of them, each 2^67 steps from the one before.

The generator's five words are a vector of 160 bits; a step is a matrix over them. The number at
offset n of the host API's output is number n / 4096 of sequence n % 4096, as the cuRAND guide says
of the legacy order.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from warplens.programs.libraries.arrays import Array

SEQUENCES, _APART = 4096, 67
_BITS, _STEP = 160, 362437
_MASK = 0xFFFFFFFF


def _seeded(seed: int) -> tuple[list[int], int]:
    """The words and the counter that a seed stands for (curand_kernel.h)."""
    low, high = (seed & _MASK) ^ 0xAAD26B49, (seed >> 32 & _MASK) ^ 0xF7DCEFDD
    t0, t1 = 1099087573 * low & _MASK, 2591861531 * high & _MASK
    words = [123456789 + t0, 362436069 ^ t0, 521288629 + t1, 88675123 ^ t1, 5783321 + t0]
    return [word & _MASK for word in words], (6615241 + t1 + t0) & _MASK


def _advanced(words: Array) -> Array:
    """One step of sequences side by side: five rows of words."""
    t = words[0] ^ (words[0] >> np.uint32(2))
    last = words[4]
    new = (last ^ (last << np.uint32(4))) ^ (t ^ (t << np.uint32(1)))
    return np.stack([words[1], words[2], words[3], words[4], new])


def _bits_of(words: Array) -> Array:
    """Words of sequences as columns of bits."""
    shifts = np.arange(32, dtype=np.uint32)[:, None]
    return np.concatenate([(word[None, :] >> shifts) & np.uint32(1) for word in words])


def _words_of(bits: Array) -> Array:
    weights = (np.uint32(1) << np.arange(32, dtype=np.uint32))[:, None]
    return np.stack([
        (bits[32 * i : 32 * i + 32].astype(np.uint32) * weights).sum(0, dtype=np.uint32)
        for i in range(5)
    ])


def _times(left: Array, right: Array) -> Array:
    return np.rint(left.astype(np.float32) @ right.astype(np.float32)).astype(np.int64) & 1


@lru_cache(maxsize=1)
def _powers() -> tuple[Array, ...]:
    """The step matrix to the powers 1, 2, 4, ... up to what sequence 2048 needs."""
    units = np.zeros((5, _BITS), np.uint32)
    for bit in range(_BITS):
        units[bit // 32, bit] = 1 << (bit % 32)
    found = [_bits_of(_advanced(units)).astype(np.int64)]
    while len(found) < _APART + 12:
        found.append(_times(found[-1], found[-1]))
    return tuple(found)


def _starts(words: list[int], skipped: int) -> Array:
    """The words of all sequences, each so many steps on."""
    powers = _powers()
    bits = _bits_of(np.array(words, np.uint32)[:, None]).astype(np.int64)
    for power in range(skipped.bit_length()):
        if skipped >> power & 1:
            bits = _times(powers[power], bits)
    for doubling in range(SEQUENCES.bit_length() - 1):
        bits = np.concatenate([bits, _times(powers[_APART + doubling], bits)], axis=1)
    return _words_of(bits)


class Xorwow:
    """The host API's generator."""

    def __init__(self, seed: int, offset: int) -> None:
        words, self._counter = _seeded(seed)
        self._place = offset % SEQUENCES
        self._words = _starts(words, offset // SEQUENCES)
        self._counter = (self._counter + offset // SEQUENCES * _STEP) & _MASK
        self._row: Array | None = None

    def next(self, n: int) -> Array:
        """The next so many numbers."""
        parts = []
        while n > 0:
            if self._row is None:
                self._words = _advanced(self._words)
                self._counter = (self._counter + _STEP) & _MASK
                self._row = self._words[4] + np.uint32(self._counter)
            part = self._row[self._place : self._place + n]
            parts.append(part)
            n -= len(part)
            self._place += len(part)
            if self._place == SEQUENCES:
                self._place, self._row = 0, None
        return np.concatenate(parts) if parts else np.zeros(0, np.uint32)
