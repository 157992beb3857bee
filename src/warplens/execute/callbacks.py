"""What the observers of this package share: signatures, and functions for what they do not ask."""

from __future__ import annotations

from typing import Any

from warplens.compiled import cfunc, native, types
from warplens.execute.native import peek32

_I64, _I32 = types.int64, types.int32
SPLIT = types.void(types.pointer, _I64, _I32, _I32)  # `block` and `sync` of observe.py
ACCESS = types.void(types.pointer, _I64, _I32, _I32, _I32, _I32, _I32, _I64, _I64)
RELEASE = types.void(types.pointer, _I64, _I64)


@native
def peek64(address: int) -> int:
    """The 64-bit word at a host address."""
    return int(peek32(address) | peek32(address + 4) << 32)


@cfunc(ACCESS)
def ignore_access(env: Any, warp: int, inst: int, mask: int, space: int, kind: int, size: int,
                  base: int, host: int) -> None:  # fmt: skip
    """Accesses are not asked for."""
    return


@cfunc(SPLIT)
def ignore_sync(env: Any, warp: int, inst: int, mask: int) -> None:
    """Synchronisation is not asked for."""
    return


@cfunc(RELEASE)
def ignore_release(env: Any, slot: int, barrier: int) -> None:
    """Opening barriers are not asked for."""
    return
