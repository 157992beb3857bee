"""Tensor maps (CUtensorMap)."""

from __future__ import annotations

import struct

from warplens.driver.cells import get_bytes, put_bytes
from warplens.driver.entries.table import I32, U32, Pointer, entry
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status
from warplens.driver.tensor_maps import encoded, encoded_im2col
from warplens.lift.layout import (
    MAP_ADDRESS,
    MAP_BYTES,
    MAP_MAGIC,
    MAP_MARK,
    MAP_TYPES,
    TMA_ADDRESS,
    TMA_MADE,
)

_MOST_DIMENSIONS = 5
_FOUR_BITS = MAP_TYPES.index("b4x16")


def _numbers(form: str, address: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}{form}", get_bytes(address, count * struct.calcsize(form)))


@entry("cuTensorMapEncodeTiled")
def encode_tiled(
    driver: Driver, tensor_map: Pointer, kind: I32, rank: U32, address: Pointer, sizes: Pointer,
    strides: Pointer, box: Pointer, steps: Pointer, interleave: I32, swizzle: I32, promotion: I32,
    fill: I32,
) -> None:  # fmt: skip
    """A map of tiles; how much L2 fetches ahead is a hint."""
    if not 1 <= rank <= _MOST_DIMENSIONS or tensor_map % 64:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"rank {rank}, at {tensor_map:#x}")
    if kind == _FOUR_BITS and max(gpu.spec.sm for gpu in driver.gpus) < 100:
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "elements of four bits before sm_100")
    put_bytes(tensor_map, encoded(
        kind=kind, address=address, sizes=_numbers("Q", sizes, rank),
        strides=_numbers("Q", strides, rank - 1) if rank > 1 else (),
        box=_numbers("I", box, rank), steps=_numbers("I", steps, rank), interleave=interleave,
        swizzle=swizzle, fill=fill,
    ))  # fmt: skip


@entry("cuTensorMapEncodeIm2col")
def encode_im2col(
    driver: Driver, tensor_map: Pointer, kind: I32, rank: U32, address: Pointer, sizes: Pointer,
    strides: Pointer, lower: Pointer, upper: Pointer, channels: U32, pixels: U32, steps: Pointer,
    interleave: I32, swizzle: I32, promotion: I32, fill: I32,
) -> None:  # fmt: skip
    """A map of pixels and their channels, for convolutions."""
    if not 3 <= rank <= _MOST_DIMENSIONS or tensor_map % 64:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"rank {rank}, at {tensor_map:#x}")
    put_bytes(tensor_map, encoded_im2col(
        kind=kind, address=address, sizes=_numbers("Q", sizes, rank),
        strides=_numbers("Q", strides, rank - 1), lower=_numbers("i", lower, rank - 2),
        upper=_numbers("i", upper, rank - 2), channels=channels, pixels=pixels,
        steps=_numbers("I", steps, rank), interleave=interleave, swizzle=swizzle, fill=fill,
    ))  # fmt: skip


@entry("cuTensorMapReplaceAddress")
def replace_address(driver: Driver, tensor_map: Pointer, address: Pointer) -> None:
    """The same map of a tensor that lies elsewhere."""
    data = get_bytes(tensor_map, MAP_BYTES)
    words = struct.unpack("<32I", data)
    is_tile = words[TMA_MADE] == MAP_MAGIC
    if not (is_tile or words[MAP_MARK] == MAP_MAGIC) or address % 16:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{tensor_map:#x} or {address:#x}")
    place = 4 * (TMA_ADDRESS if is_tile else MAP_ADDRESS)
    put_bytes(tensor_map, data[:place] + struct.pack("<Q", address) + data[place + 8 :])
