"""Texture and surface objects of the runtime: its structures as the driver's."""

from __future__ import annotations

import struct

from warplens.driver.arrays import Shape
from warplens.driver.cells import get_bytes, put_bytes, put_u64
from warplens.driver.entries.textures import add_object, end_object, object_bytes
from warplens.driver.status import DriverError, Status
from warplens.programs.program import Program
from warplens.programs.runtime.arrays import channels_of, format_of
from warplens.programs.runtime.table import Pointer, entry

_RESOURCE_BYTES = 144
_LINEAR, _PITCH = 2, 3
_AS_INTEGER, _NORMALISED, _SRGB, _NO_TRILINEAR, _SEAMLESS = 1, 2, 0x10, 0x20, 0x40
_VIEW = "<3iiii4fiIifffii"  # cudaTextureDesc
_DRIVER_VIEW = "<3iiIIifff4f12i"


def resource_for_driver(data: bytes) -> bytes:
    """A cudaResourceDesc as a CUDA_RESOURCE_DESC."""
    kind = struct.unpack_from("<i", data)[0]
    if kind not in (_LINEAR, _PITCH):
        return data
    address = struct.unpack_from("<Q", data, 8)[0]
    form, channels = format_of(data[16:36])
    rest = data[40:64] if kind == _PITCH else data[40:48]
    union = struct.pack("<QiI", address, form, channels) + rest
    return struct.pack("<i4x128sQ", kind, union, 0)


def resource_for_program(data: bytes) -> bytes:
    """A CUDA_RESOURCE_DESC as a cudaResourceDesc."""
    kind = struct.unpack_from("<i", data)[0]
    if kind not in (_LINEAR, _PITCH):
        return data
    address, form, channels = struct.unpack_from("<QiI", data, 8)
    described = channels_of(Shape(1, 0, 0, form, channels, 0))
    union = struct.pack("<Q20s4x", address, described) + data[24 : 48 if kind == _PITCH else 32]
    return struct.pack("<i4x128sQ", kind, union, 0)


def view_for_driver(data: bytes) -> bytes:
    """A cudaTextureDesc as a CUDA_TEXTURE_DESC."""
    found = struct.unpack(_VIEW, data)
    modes, filtering, reading, srgb, border = found[:3], found[3], found[4], found[5], found[6:10]
    normalised, anisotropy, mip_filter, bias, low, high, no_trilinear, seamless = found[10:]
    flags = (0 if reading else _AS_INTEGER) | (_NORMALISED if normalised else 0)
    flags |= (_SRGB if srgb else 0) | (_SEAMLESS if seamless else 0)
    flags |= _NO_TRILINEAR if no_trilinear else 0
    return struct.pack(
        _DRIVER_VIEW, *modes, filtering, flags, anisotropy, mip_filter, bias, low, high, *border,
        *[0] * 12,
    )  # fmt: skip


def view_for_program(data: bytes) -> bytes:
    """A CUDA_TEXTURE_DESC as a cudaTextureDesc."""
    found = struct.unpack(_DRIVER_VIEW, data)
    flags, levels, border = found[4], found[7:10], found[10:14]
    return struct.pack(
        _VIEW, *found[:4], int(not flags & _AS_INTEGER), int(bool(flags & _SRGB)), *border,
        int(bool(flags & _NORMALISED)), found[5], found[6], *levels,
        int(bool(flags & _NO_TRILINEAR)), int(bool(flags & _SEAMLESS)),
    )  # fmt: skip


@entry("cudaCreateTextureObject")
def create_texture(
    program: Program, handle: Pointer, resource: Pointer, view: Pointer, other: Pointer
) -> None:
    """A texture object; views of other formats or parts are not served."""
    program.context()
    if other and any(get_bytes(other, 4)):
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "a resource view of another format")
    named = resource_for_driver(get_bytes(resource, _RESOURCE_BYTES))
    seen = view_for_driver(get_bytes(view, struct.calcsize(_VIEW)))
    put_u64(handle, add_object(program.driver, named, seen))


@entry("cudaDestroyTextureObject")
def destroy_texture(program: Program, number: Pointer) -> None:
    """Ends a texture object; none for 0."""
    program.context()
    if number:
        end_object(program.driver, number, is_surface=False)


@entry("cudaGetTextureObjectResourceDesc", kind="plain")
def texture_resource(program: Program, description: Pointer, number: Pointer) -> None:
    """What a texture is of."""
    found = object_bytes(program.driver, number, is_surface=False)
    put_bytes(description, resource_for_program(found.resource))


@entry("cudaGetTextureObjectTextureDesc", kind="plain")
def texture_view(program: Program, description: Pointer, number: Pointer) -> None:
    """How a texture is sampled."""
    found = object_bytes(program.driver, number, is_surface=False)
    put_bytes(description, view_for_program(found.view or b""))


@entry("cudaCreateSurfaceObject")
def create_surface(program: Program, handle: Pointer, resource: Pointer) -> None:
    """A surface object."""
    program.context()
    named = get_bytes(resource, _RESOURCE_BYTES)
    put_u64(handle, add_object(program.driver, named, None))


@entry("cudaDestroySurfaceObject")
def destroy_surface(program: Program, number: Pointer) -> None:
    """Ends a surface object; none for 0."""
    program.context()
    if number:
        end_object(program.driver, number, is_surface=True)


@entry("cudaGetSurfaceObjectResourceDesc", kind="plain")
def surface_resource(program: Program, description: Pointer, number: Pointer) -> None:
    """What a surface is of."""
    put_bytes(description, object_bytes(program.driver, number, is_surface=True).resource)
