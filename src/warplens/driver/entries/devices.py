"""Initialisation, versions, error texts and devices."""

from __future__ import annotations

import ctypes
from functools import lru_cache

from warplens.driver.attributes import device_attribute
from warplens.driver.cells import get_text, put_bytes, put_i32, put_text, put_u64
from warplens.driver.entries.table import I32, U32, Pointer, entry
from warplens.driver.machine import Driver
from warplens.driver.status import DriverError, Status

VERSION = 13000  # the API that is served: CUDA 13.0
_UUID = b"warplens-simgpu"
_PEER_ACCESS, _PEER_ATOMICS = 2, 3  # CUdevice_P2PAttribute


@entry("cuInit")
def init(driver: Driver, flags: U32) -> None:
    """Nothing is left to do: a driver is ready when it is made."""
    if flags:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"cuInit with flags {flags}")


@entry("cuDriverGetVersion")
def driver_version(driver: Driver, version: Pointer) -> None:
    """The version of the API."""
    put_i32(version, VERSION)


@lru_cache(maxsize=256)
def kept_text(text: str) -> ctypes.Array[ctypes.c_char]:
    """Text that a caller may read for as long as the process lives."""
    return ctypes.create_string_buffer(text.encode())


@entry("cuGetErrorName")
def error_name(driver: Driver, code: I32, text: Pointer) -> None:
    """The name of a code."""
    try:
        name = Status(code).name
    except ValueError:
        put_u64(text, 0)
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"code {code}") from None
    put_u64(text, ctypes.addressof(kept_text(name)))


@entry("cuGetErrorString")
def error_string(driver: Driver, code: I32, text: Pointer) -> None:
    """A code in words; a kernel's fault says where it was."""
    words = driver.explained(code)
    if not words:
        put_u64(text, 0)
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"code {code}")
    put_u64(text, ctypes.addressof(kept_text(words)))


@entry("cuDeviceGetCount")
def device_count(driver: Driver, count: Pointer) -> None:
    """How many GPUs there are."""
    put_i32(count, len(driver.gpus))


@entry("cuDeviceGet")
def device_get(driver: Driver, device: Pointer, ordinal: I32) -> None:
    """A device's handle is its ordinal."""
    put_i32(device, driver.gpu(ordinal).index)


@entry("cuDeviceGetName")
def device_name(driver: Driver, name: Pointer, room: I32, device: I32) -> None:
    """The GPU's name, which says that it is simulated."""
    put_text(name, driver.gpu(device).name, room)


@entry("cuDeviceTotalMem_v2")
def device_memory(driver: Driver, nbytes: Pointer, device: I32) -> None:
    """The size of the GPU's memory."""
    put_u64(nbytes, driver.gpu(device).spec.dram_size_bytes)


@entry("cuDeviceGetAttribute")
def attribute(driver: Driver, value: Pointer, attribute: I32, device: I32) -> None:
    """One number about a GPU."""
    put_i32(value, device_attribute(driver.gpu(device), attribute))


@entry("cuDeviceGetUuid", "cuDeviceGetUuid_v2")
def device_uuid(driver: Driver, uuid: Pointer, device: I32) -> None:
    """Sixteen bytes that say what the device is."""
    put_bytes(uuid, _UUID + bytes((driver.gpu(device).index,)))


@entry("cuDeviceGetLuid")
def device_luid(driver: Driver, luid: Pointer, mask: Pointer, device: I32) -> None:
    """Only Windows has these."""
    raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "cuDeviceGetLuid")


@entry("cuDeviceComputeCapability")
def compute_capability(driver: Driver, major: Pointer, minor: Pointer, device: I32) -> None:
    """The compute capability."""
    sm = driver.gpu(device).spec.sm
    put_i32(major, sm // 10)
    put_i32(minor, sm % 10)


@entry("cuDeviceGetPCIBusId")
def pci_bus(driver: Driver, text: Pointer, room: I32, device: I32) -> None:
    """Where the GPU would be plugged in."""
    put_text(text, f"0000:{1 + driver.gpu(device).index:02x}:00.0", room)


@entry("cuDeviceGetByPCIBusId")
def by_pci_bus(driver: Driver, device: Pointer, text: Pointer) -> None:
    """The device at such a place."""
    words = get_text(text).split(":")
    try:
        bus = int(words[-2], 16)
    except (IndexError, ValueError):
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "no PCI bus") from None
    put_i32(device, driver.gpu(bus - 1).index)


@entry("cuDeviceCanAccessPeer")
def can_access_peer(driver: Driver, answer: Pointer, device: I32, peer: I32) -> None:
    """Every other GPU's memory can be made accessible."""
    put_i32(answer, int(driver.gpu(device) is not driver.gpu(peer)))


@entry("cuDeviceGetP2PAttribute")
def peer_attribute(
    driver: Driver, value: Pointer, attribute: I32, source: I32, target: I32
) -> None:
    """Accesses and atomics are possible between GPUs; arrays are not served."""
    if driver.gpu(source) is driver.gpu(target):
        raise DriverError(Status.CUDA_ERROR_INVALID_DEVICE, "a GPU is no peer of itself")
    if not 1 <= attribute <= 5:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"peer attribute {attribute}")
    put_i32(value, int(attribute in (_PEER_ACCESS, _PEER_ATOMICS)))


@entry("cuDeviceGetTexture1DLinearMaxWidth")
def texture_width(
    driver: Driver, width: Pointer, format: I32, channels: U32, device: I32
) -> None:
    """Textures are not served."""
    driver.gpu(device)
    put_u64(width, 0)


@entry("cuDeviceGetExecAffinitySupport")
def affinity(driver: Driver, answer: Pointer, kind: I32, device: I32) -> None:
    """A context always has the whole GPU."""
    driver.gpu(device)
    put_i32(answer, 0)


@entry("cuProfilerStart")
def start_profiling(driver: Driver) -> None:
    """Launches are to be profiled from now on."""
    driver.context()
    driver.is_profiled = True


@entry("cuProfilerStop")
def stop_profiling(driver: Driver) -> None:
    """Launches are no longer to be profiled."""
    driver.context()
    driver.is_profiled = False


@entry("cuGetExportTable")
def export_table(driver: Driver, table: Pointer, identifier: Pointer) -> None:
    """Undocumented tables: there are none."""
    put_u64(table, 0)
    raise DriverError(Status.CUDA_ERROR_NOT_FOUND, "an undocumented table of the driver")
