"""Shared memory banks: wavefronts and conflict degree of any access pattern."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.models.scalars import Numbers, integers, plain

BANKS = 32
WORD_BYTES = 4
LANES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class BankAccess:
    """The cost of one shared memory request; numbers, or arrays for arrays of patterns.

    Attributes:
        passes: wavefronts in all.
        ideal: wavefronts that the same number of lanes needs at best.
        degree: the largest number of distinct words in one bank within one group of lanes (n-way).
        conflicts: passes - ideal.
    """

    passes: Numbers
    ideal: Numbers
    degree: Numbers
    conflicts: Numbers


def bank_access(addresses: npt.ArrayLike, width: int = 4, *, is_store: bool = False) -> BankAccess:
    """The wavefronts of a warp's access to any shared memory addresses.

    Inputs: byte addresses along the last axis, one per active lane, each a multiple of `width`;
    width in bytes (1, 2, 4, 8, 16); whether the access is a store.
    Formula: lanes are served in groups of 32 (up to 4 bytes), 16 (8 bytes) or 8 (16 bytes); a group
    needs max over banks of |{words in that bank}| wavefronts, where word = a div 4 and
    bank = word mod 32.
    The groups of 8- and 16-byte loads are twice as large when lanes 2i and 2i + 1 of the warp
    share their addresses.
    Source: CUDA C++ Programming Guide, shared memory: equal words are broadcast; the joining of
    lane pairs was recorded on an H200.

    >>> bank_access(4 * np.arange(32)).passes, bank_access(8 * np.arange(32)).degree
    (1, 2)
    >>> bank_access(16 * np.arange(32), 16).passes, bank_access(16 * np.arange(32), 16).conflicts
    (4, 0)
    """
    where = integers("addresses", addresses, 0)
    if width not in (1, 2, 4, 8, 16):
        raise InputError(f"width = {width} is not one of 1, 2, 4, 8, 16 bytes")
    if where.ndim == 0 or bool((where % width).any()) or where.shape[-1] > LANES:
        raise InputError(f"addresses must be one per lane, at most 32, multiples of {width}")
    group = LANES // max(1, width // WORD_BYTES)
    lanes = where.shape[-1]
    degrees = _group_degrees(where, width, group)
    passes, ideal = degrees.sum(axis=0), np.full(where.shape[:-1], len(degrees))
    if group < LANES and lanes > group and not is_store and lanes % 2 == 0:
        joined = (where[..., ::2] == where[..., 1::2]).all(axis=-1)
        wider = _group_degrees(where, width, 2 * group)
        passes = np.where(joined, wider.sum(axis=0), passes)
        ideal = np.where(joined, len(wider), ideal)
        degrees = np.where(joined, wider.max(axis=0), degrees.max(axis=0))[None]
    return BankAccess(
        passes=plain(passes),
        ideal=plain(ideal),
        degree=plain(degrees.max(axis=0)),
        conflicts=plain(passes - ideal),
    )


def _group_degrees(where: npt.NDArray[np.int64], width: int, group: int) -> npt.NDArray[np.int64]:
    """The degree of every group of lanes, along a new first axis."""
    lanes = where.shape[-1]
    groups = [where[..., first : first + group] for first in range(0, lanes, group)]
    return np.stack([_degree(part, width) for part in groups])


def _degree(addresses: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """Most distinct words in one bank, along the last axis."""
    words = addresses[..., None] // WORD_BYTES + np.arange(max(1, width // WORD_BYTES))
    flat = np.sort(words.reshape(*addresses.shape[:-1], -1), axis=-1)
    first = np.ones(flat.shape, bool)
    first[..., 1:] = np.diff(flat, axis=-1) != 0
    hits = first[..., None] & (flat[..., None] % BANKS == np.arange(BANKS))
    most: npt.NDArray[np.int64] = hits.sum(axis=-2).max(axis=-1)
    return most


def affine_access(
    stride: npt.ArrayLike, width: int = 4, offset: npt.ArrayLike = 0, lanes: int = LANES
) -> BankAccess:
    """The wavefronts when lane i accesses element offset + stride * i of a shared array.

    Inputs: stride and offset in elements (arrays broadcast); element width in bytes; lanes.
    Formula: `bank_access` of width * (offset + stride * i); for 4-byte words the degree is
    gcd(stride, 32), and 1 for stride 0 (a broadcast).
    Source: as `bank_access`.

    >>> affine_access([0, 1, 2, 4, 8, 16, 32, 33]).degree.tolist()
    [1, 1, 2, 4, 8, 16, 32, 1]
    >>> affine_access(1, 8).passes, affine_access(1, 16).passes, affine_access(1, 1).passes
    (2, 4, 1)
    """
    steps, start = np.broadcast_arrays(integers("stride", stride), integers("offset", offset))
    elements = start[..., None] + steps[..., None] * np.arange(lanes)
    # Negative indices are moved up by whole rows of banks, which keeps every bank.
    low = np.minimum(elements.min(axis=-1, keepdims=True), 0)
    rows = -(low // BANKS) * BANKS
    return bank_access((elements + rows) * width, width)


def banks_used(stride_words: npt.ArrayLike) -> Numbers:
    """The number of banks that lanes with a stride of 4-byte words touch.

    Inputs: stride in words.
    Formula: 32 / gcd(stride, 32).
    Source: the multiples of a stride modulo 32 form a group of that order.

    >>> banks_used([8, 16, 32]).tolist()
    [4, 2, 1]
    """
    return plain(BANKS // np.gcd(integers("stride_words", stride_words), BANKS))


def row_padding(row_words: int) -> int:
    """The least padding, in words, that makes reading a column of a 2-D array conflict-free.

    Inputs: words per row.
    Formula: least p >= 0 with gcd(row_words + p, 32) = 1.
    Source: `banks_used` must be 32.

    >>> row_padding(32), row_padding(33), row_padding(24)
    (1, 0, 1)
    """
    words = int(integers("row_words", row_words, 1))
    return next(p for p in range(BANKS) if math.gcd(words + p, BANKS) == 1)
