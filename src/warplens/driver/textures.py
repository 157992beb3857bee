"""Texture and surface objects as programs ask the driver for them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from warplens.driver.arrays import CUBE, FORMATS, SURFACE, CudaArray, MipmappedArray, Shape
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status
from warplens.execute.textures import objects as tx

RESOURCE_BYTES, TEXTURE_BYTES = 144, 104
_ARRAY, _MIPMAP, _LINEAR, _PITCH = range(4)
_AS_INTEGER, _NORMALISED, _SRGB, _SEAMLESS = 1, 2, 0x10, 0x40
_HINTS = 0x20  # trilinear optimisation
_FACES = 6


@dataclass(frozen=True, slots=True)
class _Source:
    """What an object is of."""

    shape: Shape
    levels: tuple[tx.Level, ...]
    is_memory: bool = False
    is_pitched: bool = False


def _invalid(text: str) -> DriverError:
    return DriverError(Status.CUDA_ERROR_INVALID_VALUE, text)


def _plain(data: bytes, kind: int) -> _Source:
    """Linear or pitched memory."""
    address, form, channels, size = struct.unpack_from("<QiIQ", data, 8)
    if form not in FORMATS or channels not in (1, 2, 4):
        raise _invalid(f"memory of format {form} with {channels} channels")
    if kind == _LINEAR:
        width = size // (FORMATS[form][1] * channels)
        shape = Shape(width, 0, 0, form, channels, 0)
        return _Source(shape, (tx.Level(address, width, 1, 1, size, size),), is_memory=True)
    height, pitch = struct.unpack_from("<QQ", data, 32)
    if pitch % 32 or not size or not height:
        raise _invalid(f"rows of {pitch} bytes")
    shape = Shape(size, height, 0, form, channels, 0)
    level = tx.Level(address, size, height, 1, pitch, pitch * height)
    return _Source(shape, (level,), is_pitched=True)


def source_of(driver: Driver, data: bytes) -> _Source:
    """What a CUDA_RESOURCE_DESC names."""
    kind, handle = struct.unpack_from("<i4xQ", data)
    if kind == _ARRAY:
        found = driver.thing(handle, CudaArray)
        return _Source(found.shape, (found.image(),))
    if kind == _MIPMAP:
        levels = driver.thing(handle, MipmappedArray).levels
        return _Source(levels[0].shape, tuple(level.image() for level in levels))
    if kind not in (_LINEAR, _PITCH):
        raise _invalid(f"a resource of kind {kind}")
    return _plain(data, kind)


def _object(source: _Source, use: int) -> tx.TextureObject:
    shape = source.shape
    kind, size = FORMATS[shape.format]
    return tx.TextureObject(
        use=use, rank=shape.rank, levels=source.levels, kind=kind, size=size,
        channels=shape.channels, is_cube=bool(shape.flags & CUBE), is_layered=shape.is_layered,
        is_memory=source.is_memory, is_pitched=source.is_pitched,
        layers=shape.slices if shape.rank < 3 else 1,
    )  # fmt: skip


def texture(driver: Driver, resource: bytes, view: bytes) -> tx.TextureObject:
    """The texture object of two descriptions."""
    source = source_of(driver, resource)
    found = struct.unpack("<3iiIIifff4f12i", view)
    modes, filtering, flags, anisotropy = found[:3], found[3], found[4], found[5]
    plain = _object(source, tx.TEXTURE)
    if any(not 0 <= mode <= tx.BORDER for mode in modes) or not 0 <= filtering <= tx.LINEAR:
        raise _invalid(f"address modes {modes}, filter {filtering}")
    if flags & ~(_AS_INTEGER | _NORMALISED | _SRGB | _SEAMLESS | _HINTS):
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, f"texture flags {flags:#x}")
    promotes = plain.kind != tx.FLOAT and plain.size < 4 and not flags & _AS_INTEGER
    is_linear = filtering == tx.LINEAR
    if not flags & _NORMALISED:  # others need normalised coordinates, and are clamped without
        modes = tuple(mode if mode == tx.BORDER else tx.CLAMP for mode in modes)
    if is_linear and plain.kind != tx.FLOAT and not promotes:
        raise _invalid("a linear filter of integers")
    if len(source.levels) > 1 and not flags & _NORMALISED:
        raise _invalid("mipmaps need normalised coordinates")
    return tx.TextureObject(
        use=tx.TEXTURE, rank=plain.rank, levels=plain.levels, kind=plain.kind, size=plain.size,
        channels=plain.channels, is_cube=plain.is_cube, is_layered=plain.is_layered,
        is_memory=plain.is_memory, is_pitched=plain.is_pitched, layers=plain.layers,
        promotes=promotes,
        is_srgb=bool(flags & _SRGB), is_normalised=bool(flags & _NORMALISED),
        modes=(modes[0], modes[1], modes[2]), filter=filtering,
        is_seamless=bool(flags & _SEAMLESS), mip_filter=found[6], bias=found[7], low=found[8],
        high=found[9], anisotropy=anisotropy, border=(found[10], found[11], found[12], found[13]),
    )  # fmt: skip


def surface(driver: Driver, resource: bytes) -> tx.TextureObject:
    """The surface object of a description."""
    source = source_of(driver, resource)
    if struct.unpack_from("<i", resource)[0] != _ARRAY or not source.shape.flags & SURFACE:
        raise _invalid("a surface needs an array made for surfaces")
    return _object(source, tx.SURFACE)
