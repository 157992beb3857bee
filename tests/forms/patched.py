"""Machine code with single instructions replaced: for forms that no source leads to at will."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping

from warplens.sass.parser import load_kernels
from warplens.toolchain.nvrtc import compile_source

Edit = Callable[[int], int]
_WORDS = struct.Struct("<QQ")


def compiled(source: str, sm: int, *options: str) -> bytes:
    """The cubin of a source text."""
    return compile_source(source, sm=sm, options=options).cubin


def patched(cubin: bytes, kernel: str, edits: Mapping[str, Edit]) -> bytes:
    """The cubin with the instructions of a kernel edited whose text matches a pattern.

    Every pattern must match, and the kernel's code must stand in the cubin once.
    """
    sass = load_kernels(cubin)[kernel]
    old = b"".join(_packed(inst.encoding) for inst in sass.instructions)
    assert cubin.count(old) == 1
    words = [inst.encoding for inst in sass.instructions]
    for pattern, edit in edits.items():
        found = [i for i, inst in enumerate(sass.instructions) if re.search(pattern, inst.text)]
        assert found, f"no instruction of {kernel} matches {pattern!r}"
        for i in found:
            words[i] = edit(words[i])
    return cubin.replace(old, b"".join(map(_packed, words)))


def with_bits(value: int, first: int, n_bits: int) -> Edit:
    """An edit that puts `value` into bits [first, first + n_bits) of the machine word."""
    return lambda word: word & ~(((1 << n_bits) - 1) << first) | value << first


def _packed(word: int) -> bytes:
    return _WORDS.pack(word & 0xFFFFFFFFFFFFFFFF, word >> 64)
