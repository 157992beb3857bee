"""Constant bank 0: launch dimensions, window bases, the stack pointer and the parameters."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from warplens.lift import layout as at
from warplens.sass.model import SassKernel

BANK_BYTES = 65536 + 64  # 16-bit offsets can never leave the buffer


def new_bank(content: bytes = b"") -> npt.NDArray[np.uint8]:
    """A constant bank holding `content`, zero behind it."""
    bank = np.zeros(BANK_BYTES, np.uint8)
    bank[: len(content)] = np.frombuffer(content, np.uint8)
    return bank


def bank_offsets(sm: int) -> dict[str, int]:
    """Where launch data stands in bank 0 (found by compiling kernels that read it)."""
    if sm >= 100:
        return {"block": 0x360, "grid": 0x370, "stack": 0x37C, "local_window": 0x2F8,
                "shared_window": 0x2F0, "dynamic": 0x38, "sm_count": 0x2D0,
                "grid_id": 0x140, "reserved": 0x16C, "constants": 0x120}  # fmt: skip
    return {"block": 0x0, "grid": 0xC, "stack": 0x28, "local_window": 0x20,
            "shared_window": 0x18, "dynamic": 0x2C, "sm_count": 0x10C, "grid_id": 0x30,
            "reserved": 0x114, "constants": 0xD0 if sm >= 90 else 0x50}  # fmt: skip


def bank0(
    kernel: SassKernel,
    *,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    dynamic_shared: int,
    local_bytes: int,
    sm_count: int,
    parameters: bytes,
    cluster: tuple[int, int, int] = (1, 1, 1),
    constants: int = 0,
) -> npt.NDArray[np.uint8]:
    """Bank 0 as the driver would fill it for a launch.

    Args:
        constants: device address of the module's `__constant__` variables.
    """
    bank = new_bank(kernel.constants.get(0, b""))
    where = bank_offsets(kernel.sm)

    def put(name: str, form: str, *values: int) -> None:
        struct.pack_into(form, bank.data, where[name], *values)

    put("block", "<3I", *block)
    put("grid", "<3I", *grid)
    put("stack", "<I", local_bytes)
    put("shared_window", "<Q", at.SHARED_WINDOW_HIGH << 32)
    put("local_window", "<Q", at.LOCAL_WINDOW_HIGH << 32)
    put("dynamic", "<I", dynamic_shared)
    put("grid_id", "<Q", 1)
    put("sm_count", "<I", sm_count)
    put("constants", "<Q", constants)
    put("reserved", "<I", 0x400 if kernel.sm >= 90 else 0)
    if kernel.sm >= 90:
        _put_cluster(bank, kernel.sm, grid, cluster)
    start = kernel.parameter_base
    bank[start : start + len(parameters)] = np.frombuffer(parameters, np.uint8)
    return bank


def _put_cluster(
    bank: npt.NDArray[np.uint8], sm: int, grid: tuple[int, int, int], cluster: tuple[int, int, int]
) -> None:
    """The cluster's shape, as compiled code reads it.

    From sm_100 on it stands twice: code computes the place from SR_CgaSize, 0 or 1. Compiled code
    divides by multiplying with the stored reciprocal and truncating, so that is rounded up.
    """
    reciprocals = [np.float32(1) / np.float32(n) for n in cluster]
    reciprocals = [
        r if float(r) * n >= 1 else np.nextafter(r, np.float32(2))
        for r, n in zip(reciprocals, cluster, strict=True)
    ]
    shape = struct.pack("<3I", *cluster)
    inverse = struct.pack("<3f", *map(float, reciprocals))
    clusters = struct.pack("<3I", *(g // c for g, c in zip(grid, cluster, strict=True)))
    blocks = struct.pack("<I", int(np.prod(cluster)))
    explicit = struct.pack("<I", 1 if cluster != (1, 1, 1) else 0)
    where = 0x140 if sm == 90 else 0x36C
    places = [(0x144, 0x150, 0x15C, 0x188)] if sm == 90 else [
        (start, start + 0x10, start + 0x20, start + 0x2C) for start in (0x200, 0x2A0)
    ]
    for four in places:
        for place, data in zip(four, (shape, inverse, clusters, blocks), strict=True):
            bank[place : place + len(data)] = np.frombuffer(data, np.uint8)
    bank[where : where + 4] = np.frombuffer(explicit, np.uint8)
