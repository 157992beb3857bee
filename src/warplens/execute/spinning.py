"""Finds launches that can never end: nothing has changed between two looks, and everybody spins.

The engine is deterministic. If all warps have the same registers and memory the same bytes as some
loop iterations before, the same iterations follow for ever. Registers that decide nothing in the
loop that a lane is in, such as a count of its rounds, may differ (`lift/decode/idle.py`).
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from warplens.execute.memory import DeviceMemory
from warplens.lift import layout as at
from warplens.lift.decode.binding import KEY_PREDICATE, members
from warplens.lift.regions.registers import record_offset

FIRST_LOOK = 1 << 21  # back edges until the first look; each later one waits twice as long
_LOOKS = 256  # in a row: the state repeats when every split of every warp has had its turns


class Spinner(Protocol):
    """What is looked at of a worker."""

    memory: DeviceMemory

    def steps(self) -> int:
        """Back edges taken so far."""

    def turn(self) -> int:
        """Which resident block comes next."""

    def running(self) -> Iterator[int]:
        """Addresses of the warp records of resident blocks."""

    def shared_bytes(self) -> Iterator[bytes]:
        """The shared memory of resident blocks."""

    def idle(self, pc: int) -> int:
        """The keys of registers that decide nothing in the loops around a lifted block."""

    @property
    def record_bytes(self) -> int:
        """Bytes of a warp record."""


@dataclass(slots=True)
class SpinWatch:
    """Looks at a worker now and then; remembers the first look of a row."""

    warps: bytes = b""
    memory: bytes = b""
    left: int = 0
    wait: int = FIRST_LOOK

    def repeats(self, worker: Spinner) -> bool:
        """Whether all is as it was at an earlier look."""
        if self.left:
            self.left -= 1
            return _warps(worker) == self.warps and _memory(worker) == self.memory
        self.warps, self.memory, self.left = _warps(worker), _memory(worker), _LOOKS
        return False

    def next_look(self, worker: Spinner) -> int:
        """The number of back edges at which to look again."""
        if self.left:
            return worker.steps()
        self.wait *= 2
        return worker.steps() + self.wait


def _word(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value


def _warps(worker: Spinner) -> bytes:
    digest = hashlib.blake2b(repr(worker.turn()).encode())
    for address in worker.running():
        record = _without_idle(worker, address)
        warp = int(record.ctypes.data)
        splits = at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * _word(warp + at.WARP_SPLITS)
        # With the order of the splits and what is left of their turns: it decides who runs next.
        for first, last in (
            (at.WARP_MASK, at.WARP_ARGS),
            (at.WARP_FUEL, at.WARP_INDEX),
            (at.WARP_YIELDED, at.WARP_PREDICATES),
            (at.WARP_PREDICATES, splits),
            (at.WARP_UNIFORM, at.WARP_TID),
            (at.WARP_BARRIERS, at.WARP_SCRATCH),
            (at.WARP_REGISTERS, worker.record_bytes),
        ):
            digest.update(ctypes.string_at(warp + first, last - first))
    return digest.digest()


def _without_idle(worker: Spinner, warp: int) -> npt.NDArray[np.uint8]:
    """A copy of a warp's record in which the registers that decide nothing are zero."""
    record = np.frombuffer(ctypes.string_at(warp, worker.record_bytes), np.uint8).copy()
    words = record.view(np.uint32)
    entries = [at.WARP_MASK] + [
        at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * j for j in range(int(words[at.WARP_SPLITS // 4]))
    ]
    everywhere = -1
    for entry in entries:
        mask, pc = int(words[entry // 4]), int(words[entry // 4 + 1])
        if mask == 0:
            continue
        idle = worker.idle(pc)
        everywhere &= idle
        lanes = np.flatnonzero(mask >> np.arange(32) & 1)
        for key in members(idle & ((1 << KEY_PREDICATE) - 1)):
            words[record_offset(key) // 4 + lanes] = 0
    for key in members(everywhere >> KEY_PREDICATE) if everywhere > 0 else ():
        words[record_offset(key + KEY_PREDICATE) // 4] = 0
    return record


def _memory(worker: Spinner) -> bytes:
    digest = hashlib.blake2b()
    for segment in worker.memory.segments:
        if segment.writable:
            digest.update(ctypes.string_at(segment.host, segment.size))
    for part in worker.shared_bytes():
        digest.update(part)
    return digest.digest()
