"""Texture and surface objects."""

from __future__ import annotations

from warplens.driver.cells import get_bytes, put_bytes, put_u64
from warplens.driver.entries.table import Pointer, entry
from warplens.driver.machine import Driver, ObjectBytes
from warplens.driver.status import DriverError, Status
from warplens.driver.textures import RESOURCE_BYTES, TEXTURE_BYTES, surface, texture


def add_object(driver: Driver, resource: bytes, view: bytes | None) -> int:
    """The number of a new texture object, or without a view of a surface object."""
    gpu = driver.context().gpu
    made = surface(driver, resource) if view is None else texture(driver, resource, view)
    number = gpu.device.memory.textures.add(made)
    gpu.objects[number] = ObjectBytes(resource, view)
    return number


def object_bytes(driver: Driver, number: int, is_surface: bool) -> ObjectBytes:
    """What an object was made of."""
    found = driver.context().gpu.objects.get(number)
    if found is None or (found.view is None) != is_surface:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{number:#x} is no such object")
    return found


def end_object(driver: Driver, number: int, is_surface: bool) -> None:
    """Ends an object."""
    object_bytes(driver, number, is_surface)
    gpu = driver.context().gpu
    del gpu.objects[number]
    gpu.device.memory.textures.objects.pop(number, None)


@entry("cuTexObjectCreate")
def create_texture(
    driver: Driver, handle: Pointer, resource: Pointer, view: Pointer, other: Pointer
) -> None:
    """A texture object; views of other formats or parts are not served."""
    if other and any(get_bytes(other, 4)):
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "a resource view of another format")
    named, seen = get_bytes(resource, RESOURCE_BYTES), get_bytes(view, TEXTURE_BYTES)
    put_u64(handle, add_object(driver, named, seen))


@entry("cuTexObjectDestroy")
def destroy_texture(driver: Driver, number: Pointer) -> None:
    """Ends a texture object."""
    end_object(driver, number, is_surface=False)


@entry("cuTexObjectGetResourceDesc")
def texture_resource(driver: Driver, description: Pointer, number: Pointer) -> None:
    """What a texture is of."""
    put_bytes(description, object_bytes(driver, number, is_surface=False).resource)


@entry("cuTexObjectGetTextureDesc")
def texture_view(driver: Driver, description: Pointer, number: Pointer) -> None:
    """How a texture is sampled."""
    put_bytes(description, object_bytes(driver, number, is_surface=False).view or b"")


@entry("cuSurfObjectCreate")
def create_surface(driver: Driver, handle: Pointer, resource: Pointer) -> None:
    """A surface object."""
    put_u64(handle, add_object(driver, get_bytes(resource, RESOURCE_BYTES), None))


@entry("cuSurfObjectDestroy")
def destroy_surface(driver: Driver, number: Pointer) -> None:
    """Ends a surface object."""
    end_object(driver, number, is_surface=True)


@entry("cuSurfObjectGetResourceDesc")
def surface_resource(driver: Driver, description: Pointer, number: Pointer) -> None:
    """What a surface is of."""
    put_bytes(description, object_bytes(driver, number, is_surface=True).resource)
