"""What an mbarrier still waits for, in words: from its word in shared memory."""

from __future__ import annotations

import ctypes

from warplens.lift import layout as at
from warplens.lift.runtime.access_ir import ADDRESSES

_OFFSET, _LOW20 = (1 << 24) - 1, (1 << 20) - 1


def missing(warp: int, mask: int, shared: int, limit: int) -> str:
    """Arrivals and bytes that the mbarrier lacks at which the first lane of a warp's only split
    looks, in sm_90's format; empty: that cannot be told. Host addresses of the warp's record and
    of the block's shared memory."""
    lane = (mask & -mask).bit_length() - 1
    place = ctypes.c_uint32.from_address(warp + at.WARP_SCRATCH + 128 * ADDRESSES + 4 * lane).value
    offset = place & _OFFSET
    if place != offset or offset % 8 or offset + 8 > limit or not shared:
        return ""
    word = ctypes.c_uint64.from_address(shared + offset).value
    arrivals = -(word >> 43) & _LOW20
    signed = (word >> 22 & (1 << 21) - 1) ^ 1 << 20
    expected = signed - (1 << 20)
    parts = []
    if arrivals:
        parts.append(f"{arrivals} more arrival{'s' if arrivals > 1 else ''}")
    if expected > 0:
        parts.append(f"{expected:,} more bytes")
    if expected < 0:
        parts.append(f"{-expected:,} bytes fewer than have come")
    return f" (it expects {' and '.join(parts)})" if parts else ""
