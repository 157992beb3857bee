"""Virtual memory management, peer access and tensor maps."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from tests.driver.calls import COMPILED, Api, pointer
from warplens import TensorMap
from warplens.driver.machine import Driver
from warplens.driver.status import Status

MIB = 1 << 20
PROPERTIES = ctypes.create_string_buffer(struct.pack("<iiii16x", 1, 0, 1, 0), 32)
READ_WRITE = ctypes.create_string_buffer(struct.pack("<iii", 1, 0, 3), 12)
READ_ONLY = ctypes.create_string_buffer(struct.pack("<iii", 1, 0, 1), 12)
NO_ACCESS = ctypes.create_string_buffer(struct.pack("<iii", 1, 0, 0), 12)


def scaled(api: Api, address: int) -> int:
    """The code of a launch that doubles 32 floats and adds 2."""
    return api.launch("scale", 1, 32, pointer(address), ctypes.c_float(2), ctypes.c_int(32))


def test_mapped_memory_is_one_range(api: Api) -> None:
    """Two allocations mapped side by side are copied and used as one, and keep their content."""
    base = api.value("cuMemAddressReserve", 8 * MIB, 0, 0, 0)
    parts = [api.value("cuMemCreate", 2 * MIB, PROPERTIES, 0) for _ in range(2)]
    for place, part in enumerate(parts):
        api("cuMemMap", base + 2 * MIB * place, 2 * MIB, 0, part, 0)
    border = base + 2 * MIB - 64  # 16 floats on either side
    assert api.status("cuMemcpyHtoD_v2", border, np.zeros(4).ctypes.data, 32) == (
        Status.CUDA_ERROR_INVALID_VALUE
    )
    api("cuMemSetAccess", base, 4 * MIB, READ_WRITE, 1)
    x = np.arange(32, dtype=np.float32)
    api("cuMemcpyHtoD_v2", border, x.ctypes.data, 128)
    assert scaled(api, border) == 0
    assert np.array_equal(api.read(border, x), 2 * x + 2)

    api("cuMemUnmap", base, 4 * MIB)
    api("cuMemMap", base + 4 * MIB, 2 * MIB, 0, parts[1], 0)
    api("cuMemSetAccess", base + 4 * MIB, 2 * MIB, READ_WRITE, 1)
    assert np.array_equal(api.read(base + 4 * MIB, x[:16]), (2 * x + 2)[16:])


def test_access_is_what_was_set(api: Api) -> None:
    """Memory mapped for reading is not written, without access not read; it ends for good."""
    base = api.value("cuMemAddressReserve", 2 * MIB, 0, 0, 0)
    part = api.value("cuMemCreate", 2 * MIB, PROPERTIES, 0)
    used = api.driver.gpus[0].used_bytes
    api("cuMemMap", base, 2 * MIB, 0, part, 0)
    codes = []
    for rights in (READ_ONLY, NO_ACCESS, READ_WRITE):
        api("cuMemSetAccess", base, 2 * MIB, rights, 1)
        codes.append(scaled(api, base))
        api("cuDevicePrimaryCtxReset_v2", 0)
    api("cuMemUnmap", base, 2 * MIB)
    api("cuMemAddressFree", base, 2 * MIB)
    api("cuMemRelease", part)

    assert codes == [Status.CUDA_ERROR_ILLEGAL_ADDRESS] * 2 + [0]
    assert used - api.driver.gpus[0].used_bytes == 2 * MIB
    assert scaled(api, base) == Status.CUDA_ERROR_ILLEGAL_ADDRESS


def test_sizes_are_multiples(api: Api) -> None:
    """Anything but multiples of the granularity is refused."""
    size = api.value("cuMemGetAllocationGranularity", PROPERTIES, 0)

    assert size == 2 * MIB
    assert api.status("cuMemCreate", ctypes.c_uint64(), size + 1, PROPERTIES, 0) == (
        Status.CUDA_ERROR_INVALID_VALUE
    )


class TwoGpus(Api):
    """A driver of two GPUs with the module loaded on both; the first is current."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver(("RTX 4060", "RTX 4090"))
        self.contexts, self.modules = [], []
        cubin = ctypes.create_string_buffer(COMPILED.cubin, len(COMPILED.cubin))
        for device in (0, 1):
            context = self.value("cuDevicePrimaryCtxRetain", device)
            self("cuCtxSetCurrent", context)
            self.contexts.append(context)
            self.modules.append(self.value("cuModuleLoadData", ctypes.addressof(cubin)))
        self.use(0)

    def use(self, device: int) -> None:
        """Makes a GPU current."""
        self("cuCtxSetCurrent", self.contexts[device])
        self.module = self.modules[device]


def test_peer_access() -> None:
    """A kernel reaches another GPU's memory while that is enabled, and not before or after."""
    api = TwoGpus()
    x = np.arange(32, dtype=np.float32)
    address = api.array(x)
    api.use(1)
    codes = [scaled(api, address)]
    api("cuDevicePrimaryCtxReset_v2", 1)
    answer: Any = api.value("cuDeviceCanAccessPeer", 1, 0, kind=ctypes.c_int)
    api("cuCtxEnablePeerAccess", api.contexts[0], 0)
    codes += [scaled(api, address), api.status("cuCtxEnablePeerAccess", api.contexts[0], 0)]
    found = api.read(address, x)
    api("cuCtxDisablePeerAccess", api.contexts[0])
    codes.append(scaled(api, address))

    assert answer == 1
    assert codes == [
        Status.CUDA_ERROR_ILLEGAL_ADDRESS, 0, Status.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
        Status.CUDA_ERROR_ILLEGAL_ADDRESS,
    ]  # fmt: skip
    assert np.array_equal(found, 2 * x + 2)


def test_pinned_memory_is_every_gpus() -> None:
    """Pinned memory that was allocated with one GPU current is used by kernels of another."""
    api = TwoGpus()
    address = api.value("cuMemHostAlloc", 128, 0)
    view = np.ctypeslib.as_array((ctypes.c_float * 32).from_address(address))
    view[:] = 1
    api.use(1)

    assert scaled(api, address) == 0
    assert np.array_equal(view, np.full(32, 4))


def encode(api: Api, tensor: np.ndarray, box: tuple[int, ...], **options: int) -> tuple[int, bytes]:
    """The code and the bytes of a map of float16 in C order."""
    sizes = (ctypes.c_uint64 * tensor.ndim)(*tensor.shape[::-1])
    strides = (ctypes.c_uint64 * max(1, tensor.ndim - 1))(*tensor.strides[:-1][::-1])
    boxes, ones = ((ctypes.c_uint32 * tensor.ndim)(*n) for n in (box[::-1], (1,) * tensor.ndim))
    room = ctypes.create_string_buffer(256)
    place = -(-ctypes.addressof(room) // 64) * 64
    code = api.status(
        "cuTensorMapEncodeTiled", place, options.get("kind", 6), tensor.ndim, 0x5000, sizes,
        strides, boxes, ones, options.get("interleave", 0), options.get("swizzle", 0), 0,
        options.get("fill", 0),
    )  # fmt: skip
    return code, ctypes.string_at(place, 128)


@pytest.mark.parametrize("swizzle", [None, "32B", "64B", "128B"])
def test_tensor_maps_are_the_sessions(api: Api, swizzle: str | None) -> None:
    """The driver's encoding is that of `TensorMap`, whose copies equal an H100's."""
    tensor = np.zeros((64, 32, 128), np.float16)
    box = (1, 8, 64 if swizzle in (None, "128B") else int(swizzle[:2]) // 2)
    number = (None, "32B", "64B", "128B").index(swizzle)

    assert encode(api, tensor, box, swizzle=number, fill=1) == (
        0, TensorMap(tensor, box, swizzle=swizzle, fill="nan").packed(0x5000)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("box", "options", "status"),
    [
        ((8, 65), {}, Status.CUDA_ERROR_INVALID_VALUE),
        ((8, 128), {"swizzle": 3}, Status.CUDA_ERROR_INVALID_VALUE),
        ((300, 64), {}, Status.CUDA_ERROR_INVALID_VALUE),
        ((8, 64), {"interleave": 1}, Status.CUDA_ERROR_INVALID_VALUE),  # of fewer than three
        ((8, 64), {"kind": 13}, Status.CUDA_ERROR_NOT_SUPPORTED),  # of 4 bits, on an H200
        ((8, 64), {"kind": 14}, Status.CUDA_ERROR_NOT_SUPPORTED),  # of 4 bits, 16 in 16 bytes
    ],
)
def test_tensor_maps_that_are_refused(
    api: Api, box: tuple[int, ...], options: dict[str, int], status: Status,
) -> None:  # fmt: skip
    """What the driver refuses, and layouts that are not executed."""
    assert encode(api, np.zeros((64, 128), np.float16), box, **options)[0] == status
