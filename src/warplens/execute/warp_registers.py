"""Registers of a suspended warp, lane by lane, as they stand in its record."""

from __future__ import annotations

import ctypes

from warplens.lift import layout as at


def lanes_of(mask: int) -> list[int]:
    """Lane numbers of a mask, ascending."""
    return [lane for lane in range(32) if mask >> lane & 1]


def read_register(warp: int, register: int, lane: int) -> int:
    """A lane's 32-bit register of a suspended warp."""
    return ctypes.c_uint32.from_address(
        warp + at.WARP_REGISTERS + 128 * register + 4 * lane
    ).value


def write_register(warp: int, register: int, lane: int, value: int) -> None:
    """Sets a lane's 32-bit register of a suspended warp."""
    place = ctypes.c_uint32.from_address(warp + at.WARP_REGISTERS + 128 * register + 4 * lane)
    place.value = value & 0xFFFFFFFF


def read_pair(warp: int, register: int, lane: int) -> int:
    """A lane's 64-bit register pair."""
    low = read_register(warp, register, lane)
    return low | read_register(warp, register + 1, lane) << 32
