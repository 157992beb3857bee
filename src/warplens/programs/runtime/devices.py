"""Devices, their properties, versions and error texts."""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from typing import Any

from warplens.driver.attributes import DeviceAttribute, device_attributes
from warplens.driver.cells import get_bytes, get_text, put_bytes, put_i32, put_text, put_u32
from warplens.driver.entries.devices import _UUID, VERSION
from warplens.driver.machine import SimulatedGpu
from warplens.driver.status import DriverError, Status
from warplens.libcuda.header import driver_api
from warplens.libcuda.lookup import exported_name
from warplens.programs.program import Program
from warplens.programs.runtime.table import I32, U32, U64, Pointer, entry
from warplens.toolchain import packages

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_STRUCTURE = re.compile(r"struct __device_builtin__ cudaDeviceProp\s*\{(.*?)\n\};", re.DOTALL)
_FIELD = re.compile(r"(unsigned int|size_t|int|char|cudaUUID_t)\s+(\w+)(?:\[(\d+)\])?\s*;")
# Fields that CUDA 12 had behind others.
_ONLY_12 = {
    "maxGridSize": "clockRate", "texturePitchAlignment": "deviceOverlap",
    "multiProcessorCount": "kernelExecTimeoutEnabled", "canMapHostMemory": "computeMode",
    "maxTexture1DMipmap": "maxTexture1DLinear", "unifiedAddressing": "memoryClockRate",
    "hostNativeAtomicSupported": "singleToDoublePrecisionPerfRatio",
    "cooperativeLaunch": "cooperativeMultiDeviceLaunch",
}  # fmt: skip
# The driver's numbers of what the runtime says of the largest textures and surfaces.
_LARGEST = {
    "maxTexture1D": (21,), "maxTexture1DMipmap": (77,), "maxTexture1DLinear": (69,),
    "maxTexture2D": (22, 23), "maxTexture2DMipmap": (73, 74), "maxTexture2DLinear": (70, 71, 72),
    "maxTexture2DGather": (45, 46), "maxTexture3D": (24, 25, 26), "maxTexture3DAlt": (47, 48, 49),
    "maxTextureCubemap": (52,), "maxTexture1DLayered": (42, 43),
    "maxTexture2DLayered": (27, 28, 29), "maxTextureCubemapLayered": (53, 54),
    "maxSurface1D": (55,), "maxSurface2D": (56, 57), "maxSurface3D": (58, 59, 60),
    "maxSurface1DLayered": (61, 62), "maxSurface2DLayered": (63, 64, 65),
    "maxSurfaceCubemap": (66,), "maxSurfaceCubemapLayered": (67, 68),
    "persistingL2CacheMaxSize": (108,), "accessPolicyMaxWindowSize": (109,),
}  # fmt: skip
_FORMATS = {"unsigned int": "I", "size_t": "Q", "int": "i"}


@entry("cudaSetDevice", kind="plain")
def set_device(program: Program, device: I32) -> None:
    """Chooses the calling thread's GPU."""
    program.choose(device)


@entry("cudaInitDevice", kind="plain")
def init_device(program: Program, device: I32, device_flags: U32, flags: U32) -> None:
    """Nothing is left to do before a device is used."""
    program.driver.gpu(device)


@entry("cudaGetDevice", kind="plain")
def get_device(program: Program, device: Pointer) -> None:
    """The calling thread's GPU."""
    put_i32(device, program.gpu().index)


@entry("cudaSetDeviceFlags", kind="plain")
def set_flags(program: Program, flags: U32) -> None:
    """How a host would wait."""
    program.context().flags = flags


@entry("cudaGetDeviceFlags", kind="plain")
def get_flags(program: Program, flags: Pointer) -> None:
    """How a host would wait; pinned memory is always mapped."""
    put_u32(flags, program.context().flags | 8)


@entry("cudaSetValidDevices", kind="plain")
def set_valid(program: Program, devices: Pointer, count: I32) -> None:
    """Every thread begins with device 0."""


@entry("cudaDeviceReset")
def reset(program: Program) -> None:
    """A fresh start: memory, streams and a kernel's fault are gone."""
    program.reset()


@entry("cudaRuntimeGetVersion", kind="plain")
def runtime_version(program: Program, version: Pointer) -> None:
    """The version of the API."""
    put_i32(version, VERSION)


@entry("cudaChooseDevice", kind="plain")
def choose(program: Program, device: Pointer, properties: Pointer) -> None:
    """The first one."""
    put_i32(device, 0)


@entry("cudaDeviceFlushGPUDirectRDMAWrites", kind="plain")
def flush_writes(program: Program, target: I32, scope: I32) -> None:
    """Nobody else writes to a simulated GPU."""


@entry("cudaDeviceEnablePeerAccess", kind="plain")
def enable_peer(program: Program, peer: I32, flags: U32) -> None:
    """Lets kernels use another GPU's memory, where the driver can."""
    program.enable_peer(peer)


@entry("cudaDeviceDisablePeerAccess", kind="plain")
def disable_peer(program: Program, peer: I32) -> None:
    """Ends that."""
    program.disable_peer(peer)


# --- properties ----------------------------------------------------------------------------------


@entry("cudaGetDeviceProperties", kind="plain")
def properties(program: Program, properties: Pointer, device: I32) -> None:
    """All there is to know about a GPU."""
    put_bytes(properties, properties_of(program.driver.gpu(device)))


@entry("cudaGetDeviceProperties_v2", kind="plain")
def properties_12(program: Program, properties: Pointer, device: I32) -> None:
    """The same in the structure of CUDA 12."""
    put_bytes(properties, properties_of(program.driver.gpu(device), is_12=True))


def properties_of(gpu: SimulatedGpu, *, is_12: bool = False) -> bytes:
    """A cudaDeviceProp as the installed headers declare it; what is not known is 0."""
    fields, size = _layout(is_12)
    data, values = bytearray(size), _values(gpu)
    for name, (offset, kind, count) in fields.items():
        value = values.get(name)
        if isinstance(value, bytes):
            data[offset : offset + len(value)] = value
        elif value is not None:
            numbers = value if isinstance(value, tuple) else (value,)
            struct.pack_into(f"<{count}{_FORMATS[kind]}", data, offset, *numbers)
    return bytes(data)


@lru_cache(maxsize=2)
def _layout(is_12: bool) -> tuple[dict[str, tuple[int, str, int]], int]:
    """Offset, type and length of every field, by the rules of C; and the structure's size."""
    text = _COMMENT.sub("", (packages.include_dirs()[0] / "driver_types.h").read_text())
    found = _STRUCTURE.search(text)
    assert found is not None
    fields: dict[str, tuple[int, str, int]] = {}
    place = 0
    declared = [
        row
        for field in _FIELD.findall(found[1])
        for row in (field, *([("int", _ONLY_12[field[1]], "")] if is_12 and field[1] in _ONLY_12
                             else []))
    ]  # fmt: skip
    for kind, name, count in declared:
        n = int(count or 1) * (16 if kind == "cudaUUID_t" else 1)
        step = {"size_t": 8, "int": 4, "unsigned int": 4}.get(kind, 1)
        place = -(-place // step) * step
        fields[name] = (place, kind, n)
        place += step * n
    return fields, -(-place // 8) * 8


def _values(gpu: SimulatedGpu) -> dict[str, Any]:
    spec, a = gpu.spec, DeviceAttribute
    known = device_attributes(gpu)
    return {
        **{name: tuple(known[n] for n in numbers) for name, numbers in _LARGEST.items()},
        "name": gpu.name.encode()[:255],
        "uuid": _UUID + bytes((gpu.index,)),
        "totalGlobalMem": spec.dram_size_bytes,
        "sharedMemPerBlock": spec.shared_per_block_bytes,
        "regsPerBlock": spec.registers_per_block,
        "warpSize": spec.warp_size,
        "memPitch": known[a.MAX_PITCH],
        "maxThreadsPerBlock": spec.max_threads_per_block,
        "maxThreadsDim": (spec.max_block_x, spec.max_block_y, spec.max_block_z),
        "maxGridSize": (spec.max_grid_x, spec.max_grid_y, spec.max_grid_z),
        "totalConstMem": known[a.TOTAL_CONSTANT_MEMORY],
        "major": spec.sm // 10,
        "minor": spec.sm % 10,
        "textureAlignment": known[a.TEXTURE_ALIGNMENT],
        "texturePitchAlignment": known[a.TEXTURE_PITCH_ALIGNMENT],
        "multiProcessorCount": spec.sm_count,
        "canMapHostMemory": 1,
        "surfaceAlignment": known[a.SURFACE_ALIGNMENT],
        "concurrentKernels": 1,
        "pciBusID": known[a.PCI_BUS_ID],
        "asyncEngineCount": known[a.ASYNC_ENGINE_COUNT],
        "unifiedAddressing": 1,
        "memoryBusWidth": spec.dram_bus_bits,
        "l2CacheSize": spec.l2_size_bytes,
        "maxThreadsPerMultiProcessor": spec.max_threads_per_sm,
        "streamPrioritiesSupported": 1,
        "globalL1CacheSupported": 1,
        "localL1CacheSupported": 1,
        "sharedMemPerMultiprocessor": spec.shared_per_sm_bytes,
        "regsPerMultiprocessor": spec.registers_per_sm,
        "managedMemory": 1,
        "concurrentManagedAccess": 1,
        "computePreemptionSupported": 1,
        "cooperativeLaunch": 1,
        "sharedMemPerBlockOptin": spec.shared_per_block_optin_bytes,
        "maxBlocksPerMultiProcessor": spec.max_blocks_per_sm,
        "reservedSharedMemPerBlock": spec.shared_reserved_bytes,
        "hostRegisterSupported": 1,
        "memoryPoolsSupported": 1,
        "clusterLaunch": known[a.CLUSTER_LAUNCH],
        "deviceNumaId": -1,
        "hostNumaId": -1,
        # fields that CUDA 12 had
        "clockRate": known[a.CLOCK_RATE],
        "memoryClockRate": known[a.MEMORY_CLOCK_RATE],
        "deviceOverlap": 1,
        "singleToDoublePrecisionPerfRatio": known[a.SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO],
    }


@entry("cudaDeviceGetGraphMemAttribute", kind="plain")
def graph_memory(program: Program, device: I32, attribute: I32, value: Pointer) -> None:
    """Graphs hold no memory of their own."""
    program.driver.gpu(device)
    put_bytes(value, bytes(8))


@entry("cudaDeviceGraphMemTrim", kind="plain")
def trim_graph_memory(program: Program, device: I32) -> None:
    """The same."""
    program.driver.gpu(device)


@entry("cudaGetExportTable", kind="plain")
def export_table(program: Program, table: Pointer, identifier: Pointer) -> None:
    """Undocumented tables: there are none."""
    get_bytes(identifier, 16)
    raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "an undocumented table of the runtime")


@entry("__warplens_driver_error_name", kind="plain", internal=True)
def driver_error_name(program: Program, code: I32, text: Pointer, room: U64) -> None:
    """The name of a code of the driver."""
    try:
        put_text(text, Status(code).name, room)
    except ValueError:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"code {code}") from None


@entry("__warplens_exported_name", kind="plain", internal=True)
def exported(
    program: Program, symbol: Pointer, version: I32, text: Pointer, status: Pointer
) -> None:
    """Which function of the driver a program means by a name and a CUDA version."""
    name, api = get_text(symbol), driver_api()
    found = exported_name(api, name, version)
    put_text(text, found, 256)
    put_i32(status, 0 if found else 2 if name in api.versions else 1)
