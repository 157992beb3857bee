"""What a launch may need in memory: where the blocks of a grid meet, the parameters' bytes."""

from __future__ import annotations

import weakref

import numpy as np
import numpy.typing as npt

from warplens.execute.memory import DeviceMemory
from warplens.sass.model import Const, SassKernel

_BYTES = 256
_workspaces: weakref.WeakKeyDictionary[DeviceMemory, int] = weakref.WeakKeyDictionary()


def _places(sm: int) -> tuple[tuple[int, int], ...]:
    """Offsets of the (low, high) words of the pointer in bank 0.

    From sm_100 on code computes them as 0x258 and 0x254 less 0xa0 times SR_CgaSize, which is 1.
    """
    if sm >= 100:
        return ((0x1B8, 0x1B4),)
    return ((0x48, 0x44),) if sm >= 90 else ((0x90, 0x8C),)


def asks_for_workspace(kernel: SassKernel) -> bool:
    """Whether a kernel reads where the grid's blocks meet."""
    offsets = {0x258, 0x254} if kernel.sm >= 100 else set(_places(kernel.sm)[0])
    for instruction in kernel.instructions:
        for operand in instruction.operands:
            if isinstance(operand, Const) and operand.bank == 0 and operand.offset in offsets:
                return (operand.base is not None) == (kernel.sm >= 100)
    return False


def give_workspace(kernel: SassKernel, memory: DeviceMemory, bank: npt.NDArray[np.uint8]) -> None:
    """Puts the grid barrier's address into bank 0, the barrier zeroed."""
    address = _workspaces.get(memory)
    segment = memory.find(address) if address is not None else None
    if address is None or segment is None:
        address = memory.allocate(_BYTES, name="grid barrier")
        segment = memory.find(address)
        _workspaces[memory] = address
    if segment is not None:
        segment.buffer[:] = 0
    for low, high in _places(kernel.sm):
        for place, word in ((low, address & 0xFFFFFFFF), (high, address >> 32)):
            bank[place : place + 4] = np.frombuffer(word.to_bytes(4, "little"), np.uint8)


_parameters: weakref.WeakKeyDictionary[DeviceMemory, int] = weakref.WeakKeyDictionary()
_PARAMETER_BYTES = 32768


def _parameters_place(sm: int) -> int:
    return 0x348 if sm >= 100 else 0x198


def asks_for_parameters(kernel: SassKernel) -> bool:
    """Whether a kernel reads the address of its parameters.

    A tensor map that is a __grid_constant__ parameter is read by its address.
    """
    place = _parameters_place(kernel.sm)
    used = (o for i in kernel.instructions for o in i.operands if isinstance(o, Const))
    return kernel.sm >= 90 and any(o.bank == 0 and o.offset == place for o in used)


def give_parameters(
    kernel: SassKernel, memory: DeviceMemory, parameters: bytes, bank: npt.NDArray[np.uint8]
) -> None:
    """Puts the address of the parameters into bank 0."""
    place = _parameters_place(kernel.sm)
    address = _parameters.get(memory)
    segment = memory.find(address) if address is not None else None
    if address is None or segment is None:
        content = np.zeros(_PARAMETER_BYTES, np.uint8)
        address = memory.map_host(content, writable=False, name="parameters")
        segment = memory.find(address)
        _parameters[memory] = address
    if segment is not None:
        # aligned as in the bank, where a parameter's alignment is that of its offset
        start = kernel.parameter_base % 256
        segment.buffer[start : start + len(parameters)] = np.frombuffer(parameters, np.uint8)
        address += start
    bank[place : place + 8] = np.frombuffer(address.to_bytes(8, "little"), np.uint8)
