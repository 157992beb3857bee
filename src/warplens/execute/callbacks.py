"""What the observers of this package share: signatures, and functions for what they do not ask."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.compiled import carray, cfunc, native, types
from warplens.execute.native import peek32
from warplens.lift import layout as at

_I64, _I32 = types.int64, types.int32
ON_SPLIT = types.void(types.pointer, _I64, _I32, _I32)  # `block` and `sync` of observe.py
ON_ACCESS = types.void(types.pointer, _I64, _I32, _I32, _I32, _I32, _I32, _I64, _I64)
ON_RELEASE = types.void(types.pointer, _I64, _I64)


@native
def peek64(address: int) -> int:
    """The 64-bit word at a host address."""
    return int(peek32(address) | peek32(address + 4) << 32)


@native
def lane_addresses(warp: int) -> Any:
    """The lanes' addresses of the global access that an observer is told of."""
    return carray(warp + at.WARP_SCRATCH + 128 * 20, (32,), np.int64)


@native
def lane_offsets(warp: int) -> Any:
    """The lanes' offsets of any other access that an observer is told of."""
    return carray(warp + at.WARP_SCRATCH, (32,), np.uint32)


@cfunc(ON_SPLIT)
def ignore_sync(env: Any, warp: int, inst: int, mask: int) -> None:
    """Synchronisation is not asked for."""
    return


@cfunc(ON_RELEASE)
def ignore_release(env: Any, slot: int, barrier: int) -> None:
    """Opening barriers are not asked for."""
    return
