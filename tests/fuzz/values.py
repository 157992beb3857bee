"""The types of random programs: CUDA spelling, NumPy representation, 32-bit words in memory.

A bfloat16 is held as a float32 that a bfloat16 can represent; packed pairs have a second axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.fuzz import narrow

Array = npt.NDArray[Any]
INTEGER_EDGES = (0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 127, 128, 255, 256, 32767, 65535, 65536)
FLOAT_EDGES = (0.0, 1.0, 2.0, 0.5, 1.5, 2.5, 3.0, 0.1, 1e-3, 1e6, 16777217.0, 4294967296.0)
_HALF_EDGES = (0.0, 1.0, 2.0, 0.5, 1.5, 3.0, 0.1, 1e-3, 448.0, 464.0, 2048.0, 65504.0, 6e-8, 6.1e-5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """One type; `unpack` makes it of words {0} and {1}, `pack` gives a variable's words."""

    letter: str
    name: str
    kind: type
    unpack: str
    pack: tuple[str, ...]
    is_pair: bool = False
    is_bfloat: bool = False

    @property
    def is_float(self) -> bool:
        """Whether values may be NaN."""
        return bool(np.issubdtype(self.kind, np.floating))

    def to_words(self, values: Array) -> list[Array]:
        """The words of some values, one uint32 array each."""
        values = np.ascontiguousarray(values)
        if self.is_bfloat:
            halves = (values.view(np.uint32) >> 16).astype(np.uint32)
        elif self.kind is np.float16:
            halves = values.view(np.uint16).astype(np.uint32)
        elif values.itemsize == 8:
            words = values.view(np.uint32).reshape(-1, 2)
            return [words[:, 0], words[:, 1]]
        else:
            return [values.view(np.uint32)]
        return [halves[:, 0] | halves[:, 1] << 16] if self.is_pair else [halves]

    def from_words(self, words: list[Array]) -> Array:
        """The values that some words hold."""
        if len(words) == 2:
            return np.ascontiguousarray(np.stack(words, 1)).view(self.kind)[:, 0]
        if self.kind is not np.float16 and not self.is_bfloat:
            return words[0].view(self.kind)
        parts = np.stack([words[0] & 0xFFFF, words[0] >> 16], 1)
        if self.is_bfloat:
            values: Array = (parts << 16).astype(np.uint32).view(np.float32)
        else:
            values = parts.astype(np.uint16).view(np.float16)
        return values if self.is_pair else np.ascontiguousarray(values[:, 0])


def _wide(letter: str, name: str, kind: type) -> Type:
    return Type(
        letter=letter, name=name, kind=kind,
        unpack=f"({name})((unsigned long long){{1}} << 32 | {{0}})",
        pack=("(unsigned){0}", "(unsigned)((unsigned long long){0} >> 32)"),
    )  # fmt: skip


_ALL = (
    Type(letter="i", name="int", kind=np.int32, unpack="(int){0}", pack=("(unsigned){0}",)),
    Type(letter="u", name="unsigned", kind=np.uint32, unpack="{0}", pack=("{0}",)),
    _wide("l", "long long", np.int64),
    _wide("m", "unsigned long long", np.uint64),
    Type(letter="f", name="float", kind=np.float32, unpack="__uint_as_float({0})",
         pack=("__float_as_uint({0})",)),
    Type(letter="d", name="double", kind=np.float64, unpack="__hiloint2double({1}, {0})",
         pack=("(unsigned)__double2loint({0})", "(unsigned)__double2hiint({0})")),
    Type(letter="h", name="__half", kind=np.float16, unpack="half_of({0})", pack=("word_of({0})",)),
    Type(letter="b", name="__nv_bfloat16", kind=np.float32, unpack="bfloat_of({0})",
         pack=("word_of({0})",), is_bfloat=True),
    Type(letter="H", name="__half2", kind=np.float16, unpack="half2_of({0})",
         pack=("word_of({0})",), is_pair=True),
    Type(letter="B", name="__nv_bfloat162", kind=np.float32, unpack="bfloat2_of({0})",
         pack=("word_of({0})",), is_pair=True, is_bfloat=True),
)  # fmt: skip
TYPES: dict[str, Type] = {t.letter: t for t in _ALL}


def zeros(t: Type, n: int) -> Array:
    """`n` values +0."""
    return np.zeros((n, 2) if t.is_pair else n, t.kind)


def where(mask: Array, new: Array, old: Array) -> Array:
    """`np.where` for pairs as well."""
    return np.where(mask[:, None] if new.ndim == 2 else mask, new, old)


def difference(t: Type, want: Array, got: Array) -> Array:
    """Which threads differ; NaN equals NaN, -0 does not equal +0."""
    if not t.is_float:
        return want != got
    bits = f"u{want.itemsize}"
    wrong = want.view(bits) != got.view(bits)
    wrong &= ~(np.isnan(want) & np.isnan(got))
    return wrong.any(1) if wrong.ndim == 2 else wrong


def random_values(generator: np.random.Generator, t: Type, n: int) -> Array:
    """Values of many magnitudes with limits, zeros, denormals, infinities and NaN mixed in."""
    if t.is_pair:
        both = [random_values(generator, TYPES[t.letter.lower()], n) for _ in range(2)]
        return np.stack(both, 1)
    if t.is_bfloat:
        values = random_values(generator, TYPES["f"], n)
        return narrow.to_bfloat(values.astype(np.float64), "rn")
    if t.is_float:
        return _random_floats(generator, t.kind, n)
    bits = 8 * np.dtype(t.kind).itemsize
    raw = generator.integers(0, 2**63, n, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    values = (raw >> generator.integers(64 - bits, 64, n).astype(np.uint64)).astype(t.kind)
    edges = [*INTEGER_EDGES, *(2**bits - e - 1 for e in INTEGER_EDGES),
             2 ** (bits - 1) - 1, 2 ** (bits - 1)]  # fmt: skip
    chosen = generator.choice(np.array(edges, f"u{bits // 8}"), n).view(t.kind)
    return np.where(generator.random(n) < 0.4, chosen, values)


def _random_floats(generator: np.random.Generator, kind: type, n: int) -> Array:
    info = np.finfo(kind)
    powers = (-6, 6) if kind is np.float16 else (-8, 9)
    with np.errstate(all="ignore"):
        scale = 10.0 ** generator.integers(*powers, n)
        values = (generator.standard_normal(n) * scale).astype(kind)
        edges = [np.inf, np.nan, info.max, info.tiny, info.tiny / 8, info.smallest_subnormal,
                 1 - info.epsneg]  # fmt: skip
        more = _HALF_EDGES if kind is np.float16 else (*FLOAT_EDGES, 2.0**31, 2.0**63)
        signs = generator.choice([-1.0, 1.0], n)
        chosen = (generator.choice(np.array([*edges, *more], kind), n) * signs).astype(kind)
    return np.where(generator.random(n) < 0.4, chosen, values)
