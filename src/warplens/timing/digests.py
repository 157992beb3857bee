"""Digests of what arrays hold: launches over equal data share one trace.

At the speed of memory, ten times a cryptographic digest's: nobody chooses data to be confused.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from warplens.compiled import intrinsic, native, types
from warplens.execute.tensor_memory.vectors import Code, all_of, called
from warplens.lift.engines.host import host_features

Ints = npt.NDArray[np.int64]
_FIRST, _SECOND = 0x2545F4914F6CDD1D, 0x369DEA0F31A53F85
_WORDS = 8  # words at once, each with a state of its own
_VECTORS = 8  # of as many words, where the processor multiplies those at once
_AHEAD = 2048  # bytes that are asked for ahead
_START = np.arange(1, _WORDS * _VECTORS + 1, dtype=np.int64) * 0x1E3779B97F4A7C15


@native
def _next(state: int, word: int) -> int:
    """One to one in either argument; every bit of the word changes others, by what the rest is.

    A product's highest bit depends on nothing but its factor's: with one product alone two changed
    signs would make up for each other.
    """
    product = (state ^ word) * _FIRST
    return (product ^ ((product >> 32) & 0xFFFFFFFF)) * _SECOND


@native
def _mix(words: Ints, states: Ints) -> None:
    a, b, c, d = states[0], states[1], states[2], states[3]
    e, f, g, h = states[4], states[5], states[6], states[7]
    for i in range(0, words.size, _WORDS):
        a = _next(a, words[i])
        b = _next(b, words[i + 1])
        c = _next(c, words[i + 2])
        d = _next(d, words[i + 3])
        e = _next(e, words[i + 4])
        f = _next(f, words[i + 5])
        g = _next(g, words[i + 6])
        h = _next(h, words[i + 7])
    states[0], states[1], states[2], states[3] = a, b, c, d
    states[4], states[5], states[6], states[7] = e, f, g, h


def _emit_wide(module: Any, name: str) -> Any:
    """A function that does what `_mix` does, for as many states as several vectors have."""
    kind, word = ir.VectorType(ir.IntType(64), _WORDS), ir.IntType(64)
    code = Code(module, name, ("words", "size", "states"))
    code.widen()
    b, given = code.b, code.given
    asked = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), *[ir.IntType(32)] * 3])
    ask = ir.Function(module, asked, "llvm.prefetch")
    how = [ir.IntType(32)(n) for n in (0, 3, 1)]

    def round_(i: Any, states: list[Any]) -> list[Any]:
        after = []
        for k, state in enumerate(states):
            there = b.add(i, word(_WORDS * k))
            soon = code.at(given["words"], b.add(there, word(_AHEAD // 8)), ir.IntType(8), 8)
            b.call(ask, [soon, *how])
            mixed = b.xor(state, code.load(given["words"], there, kind, 8))
            product = b.mul(mixed, all_of(kind, _FIRST))
            mixed = b.xor(product, b.lshr(product, all_of(kind, 32)))
            after.append(b.mul(mixed, all_of(kind, _SECOND)))
        return after

    places = [word(_WORDS * k) for k in range(_VECTORS)]
    begin = [code.load(given["states"], place, kind, 8) for place in places]
    end = code.loop(given["size"], _WORDS * _VECTORS, begin, round_)
    for place, state in zip(places, end, strict=True):
        b.store(state, code.at(given["states"], place, kind, 8), align=8)
    b.ret(word(0))
    return code.function


@intrinsic
def _wide(typing_context: Any, words: Any, size: Any, states: Any) -> Any:
    return types.int64(*(types.int64,) * 3), called("digest.wide", _emit_wide)


@native
def _mix_at(words: int, size: int, states: int) -> None:
    _wide(words, size, states)


def _mix_wide(words: Ints, states: Ints) -> None:
    _mix_at(words.ctypes.data, words.size, states.ctypes.data)


@functools.cache
def _way() -> tuple[Callable[[Ints, Ints], None], int]:
    """How this processor mixes words, and how many at a time."""
    features = host_features()
    if features.is_x86 and features.has_avx512:
        return _mix_wide, _WORDS * _VECTORS
    return _mix, _WORDS


def digest(content: npt.NDArray[np.uint8]) -> bytes:
    """32 bytes that differ where contents do."""
    mix, n_words = _way()
    whole = content.size // (8 * n_words) * (8 * n_words)
    states = _START[:n_words].copy()
    if whole:
        mix(content[:whole].view(np.int64), states)
    return hashlib.sha256(
        states.tobytes() + content.size.to_bytes(8, "little") + content[whole:].tobytes()
    ).digest()
