"""Texture and surface objects."""

from __future__ import annotations

from warplens.driver.cells import get_bytes, put_bytes, put_u64
from warplens.driver.entries.table import Pointer, entry
from warplens.driver.machine import Driver, ObjectBytes
from warplens.driver.status import DriverError, Status
from warplens.driver.textures import RESOURCE_BYTES, TEXTURE_BYTES, surface, texture


def _kept(driver: Driver, number: int, is_surface: bool) -> ObjectBytes:
    """What an object was made of."""
    found = driver.context().gpu.objects.get(number)
    if found is None or (found.view is None) != is_surface:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{number:#x} is no such object")
    return found


def _end(driver: Driver, number: int, is_surface: bool) -> None:
    _kept(driver, number, is_surface)
    gpu = driver.context().gpu
    del gpu.objects[number]
    gpu.device.memory.textures.objects.pop(number, None)


@entry("cuTexObjectCreate")
def create_texture(
    driver: Driver, handle: Pointer, resource: Pointer, view: Pointer, other: Pointer
) -> None:
    """A texture object; views of other formats or parts are not served."""
    gpu = driver.context().gpu
    if other and any(get_bytes(other, 4)):
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "a resource view of another format")
    named, seen = get_bytes(resource, RESOURCE_BYTES), get_bytes(view, TEXTURE_BYTES)
    number = gpu.device.memory.textures.add(texture(driver, named, seen))
    gpu.objects[number] = ObjectBytes(named, seen)
    put_u64(handle, number)


@entry("cuTexObjectDestroy")
def destroy_texture(driver: Driver, number: Pointer) -> None:
    """Ends a texture object."""
    _end(driver, number, is_surface=False)


@entry("cuTexObjectGetResourceDesc")
def texture_resource(driver: Driver, description: Pointer, number: Pointer) -> None:
    """What a texture is of."""
    put_bytes(description, _kept(driver, number, is_surface=False).resource)


@entry("cuTexObjectGetTextureDesc")
def texture_view(driver: Driver, description: Pointer, number: Pointer) -> None:
    """How a texture is sampled."""
    put_bytes(description, _kept(driver, number, is_surface=False).view or b"")


@entry("cuSurfObjectCreate")
def create_surface(driver: Driver, handle: Pointer, resource: Pointer) -> None:
    """A surface object."""
    gpu = driver.context().gpu
    named = get_bytes(resource, RESOURCE_BYTES)
    number = gpu.device.memory.textures.add(surface(driver, named))
    gpu.objects[number] = ObjectBytes(named)
    put_u64(handle, number)


@entry("cuSurfObjectDestroy")
def destroy_surface(driver: Driver, number: Pointer) -> None:
    """Ends a surface object."""
    _end(driver, number, is_surface=True)


@entry("cuSurfObjectGetResourceDesc")
def surface_resource(driver: Driver, description: Pointer, number: Pointer) -> None:
    """What a surface is of."""
    put_bytes(description, _kept(driver, number, is_surface=True).resource)
