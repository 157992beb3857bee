"""The driver's semantics, called as C does: results beside NumPy's, the codes of mistakes."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from tests.driver.calls import COMPILED, Api, pointer
from warplens.driver.images import code_of
from warplens.driver.machine import Driver
from warplens.driver.status import Status
from warplens.errors import CubinError, InputError


def test_launch_equals_numpy(api: Api) -> None:
    """A kernel through the driver computes what NumPy computes, constants included."""
    x = np.arange(1000, dtype=np.float32)
    address = api.array(x)

    status = api.launch("scale", 4, 256, pointer(address), ctypes.c_float(3), ctypes.c_int(1000))

    assert status == 0
    assert np.array_equal(api.read(address, x), 3 * x + 2)


def test_constant_memory_is_written(api: Api) -> None:
    """A copy to a __constant__ variable changes what kernels read."""
    name, size = ctypes.create_string_buffer(b"factor"), ctypes.c_uint64()
    where = api.value("cuModuleGetGlobal_v2", size, api.module, name)
    new, x = np.array([10, 0, 0, 0], np.float32), np.zeros(32, np.float32)
    api("cuMemcpyHtoD_v2", where, new.ctypes.data, 16)
    address = api.array(x)
    api.launch("scale", 1, 32, pointer(address), ctypes.c_float(1), ctypes.c_int(32))

    assert size.value == 16
    assert np.array_equal(api.read(address, x), x + 10)


def test_pointers_in_arrays(api: Api) -> None:
    """Addresses that are stored in device memory can be followed by kernels."""
    rows = [api.array(np.full(8, i, np.float32)) for i in range(8)]
    table, out = api.array(np.array(rows, np.uint64)), api.array(np.zeros(8, np.float32))

    assert api.launch("follow", 1, 32, pointer(table), pointer(out), ctypes.c_int(8)) == 0
    assert np.array_equal(api.read(out, np.zeros(8, np.float32)), np.arange(8))


def test_managed_and_pinned_memory_have_one_address(api: Api) -> None:
    """The host writes and reads managed and pinned memory through the pointer kernels get."""
    for name, extra in (("cuMemAllocManaged", (1,)), ("cuMemHostAlloc", (0,))):
        address = api.value(name, 128, *extra)
        view = np.ctypeslib.as_array((ctypes.c_float * 32).from_address(address))
        view[:] = np.arange(32)
        api.launch("scale", 1, 32, pointer(address), ctypes.c_float(2), ctypes.c_int(32))

        assert np.array_equal(view, 2 * np.arange(32) + 2)


def test_registered_memory(api: Api) -> None:
    """A program's own memory is reached by kernels once it is registered, and no longer after."""
    x = np.ones(32, np.float32)
    api("cuMemHostRegister_v2", x.ctypes.data, x.nbytes, 0)
    address = api.value("cuMemHostGetDevicePointer_v2", x.ctypes.data, 0)
    api.launch("scale", 1, 32, pointer(address), ctypes.c_float(5), ctypes.c_int(32))
    api("cuMemHostUnregister", x.ctypes.data)

    assert np.array_equal(x, np.full(32, 7))
    assert api.launch("scale", 1, 32, pointer(address), ctypes.c_float(5), ctypes.c_int(32)) == (
        Status.CUDA_ERROR_ILLEGAL_ADDRESS
    )


@pytest.mark.parametrize("width", [8, 16, 32])
def test_fill(api: Api, width: int) -> None:
    """Memory is filled with elements of each width."""
    address = api.array(np.zeros(64, np.uint8))
    api(f"cuMemsetD{width}_v2", address, 0x5A, 3)
    expected = np.zeros(64, np.uint8)
    expected.view(f"u{width // 8}")[:3] = 0x5A

    assert np.array_equal(api.read(address, expected), expected)


def test_copy_of_rows(api: Api) -> None:
    """A two-dimensional copy moves a rectangle between pitches, as slices of NumPy."""
    x = np.arange(12 * 20, dtype=np.uint8).reshape(12, 20)
    pitch, out = ctypes.c_uint64(), np.zeros((5, 7), np.uint8)
    address = api.value("cuMemAllocPitch_v2", pitch, 20, 12, 4)
    device = np.zeros((12, pitch.value), np.uint8)
    device[:, :20] = x
    api("cuMemcpyHtoD_v2", address, device.ctypes.data, device.nbytes)
    words = (3, 2, 2, 0, address, 0, pitch.value, 0, 0, 1, out.ctypes.data, 0, 0, 7, 7, 5)
    description = ctypes.create_string_buffer(struct.pack("<16Q", *words))
    api("cuMemcpy2D_v2", description)

    assert pitch.value == 512
    assert np.array_equal(out, x[2:7, 3:10])


def test_ptx(api: Api) -> None:
    """PTX is compiled by nvJitLink and gives the same results."""
    text = ctypes.create_string_buffer(COMPILED.ptx.encode())
    api.module = api.value("cuModuleLoadDataEx", text, 0, 0, 0)
    x = np.arange(64, dtype=np.float32)
    address = api.array(x)
    api.launch("scale", 1, 64, pointer(address), ctypes.c_float(4), ctypes.c_int(64))

    assert np.array_equal(api.read(address, x), 4 * x + 2)


def test_fault_is_sticky_until_reset(api: Api) -> None:
    """After an access out of bounds every call fails, until the context is reset."""
    address = api.array(np.zeros(32, np.float32))
    text = ctypes.c_uint64()
    code = api.launch("beyond", 1, 32, pointer(address), ctypes.c_int(1 << 20))
    api("cuGetErrorString", code, text)

    assert code == Status.CUDA_ERROR_ILLEGAL_ADDRESS
    assert b"invalid __global__ write of size 4" in ctypes.string_at(text.value)
    assert api.status("cuCtxSynchronize") == code
    assert api.status("cuMemAlloc_v2", ctypes.c_uint64(), 16) == code
    api("cuDevicePrimaryCtxReset_v2", 0)
    api("cuCtxSynchronize")
    assert api.launch("beyond", 1, 32, pointer(address), ctypes.c_int(0)) == 0


def test_capture_and_replay(api: Api) -> None:
    """Captured work does nothing before its graph is launched, and again at every launch."""
    x = np.ones(32, np.float32)
    address = api.array(x)
    stream, graph, ready = api.value("cuStreamCreate", 1), ctypes.c_uint64(), ctypes.c_uint64()
    api("cuStreamBeginCapture_v2", stream, 0)
    api.launch("scale", 1, 32, pointer(address), ctypes.c_float(2), ctypes.c_int(32),
               stream=stream)  # fmt: skip
    assert api.status("cuStreamSynchronize", stream) == Status.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    api("cuStreamEndCapture", stream, graph)
    before = api.read(address, x)
    api("cuGraphInstantiateWithFlags", ready, graph.value, 0)
    for _ in range(3):
        api("cuGraphLaunch", ready.value, stream)

    assert np.array_equal(before, x)
    assert np.array_equal(api.read(address, x), np.full(32, 8 + 14))


def test_events_tell_modelled_time(api: Api) -> None:
    """The time between events is the launch's modelled time, whatever the CPU needed."""
    address = api.array(np.ones(1024, np.float32))
    first, last = api.value("cuEventCreate", 0), api.value("cuEventCreate", 0)
    api("cuEventRecord", first, 0)
    api.launch("scale", 4, 256, pointer(address), ctypes.c_float(1), ctypes.c_int(1024))
    api("cuEventRecord", last, 0)
    milliseconds = api.value("cuEventElapsedTime_v2", first, last, kind=ctypes.c_float)
    expected = api.driver.launches[-1].metric("gpu__time_duration.sum")

    assert milliseconds == pytest.approx(float(expected or 0) / 1e6, rel=1e-6)
    assert milliseconds > 0


def test_shared_memory_must_be_raised(api: Api) -> None:
    """More than 48 KiB of dynamic shared memory need the function's attribute, as on hardware."""
    out = api.array(np.zeros(64, np.float32))
    refused = api.launch("stage", 1, 64, pointer(out), shared=60_000)
    api("cuFuncSetAttribute", api.function("stage"), 8, 60_000)

    assert refused == Status.CUDA_ERROR_INVALID_VALUE
    assert api.launch("stage", 1, 64, pointer(out), shared=60_000) == 0
    assert np.array_equal(api.read(out, np.zeros(64, np.float32)), np.arange(64)[::-1])


def test_occupancy_agrees_with_the_kernel(api: Api) -> None:
    """The driver's occupancy is the calculator's."""
    function = api.function("stage")
    blocks = api.value("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, 256, 0,
                       kind=ctypes.c_int)  # fmt: skip

    assert blocks == 6  # 1,536 threads of an SM of compute capability 8.9


def test_name_and_attributes(api: Api) -> None:
    """The GPU says that it is simulated; its numbers are those of its file."""
    name = ctypes.create_string_buffer(64)
    api("cuDeviceGetName", name, 64, 0)

    assert name.value.endswith(b"(warplens)")
    assert api.value("cuDeviceGetAttribute", 16, 0, kind=ctypes.c_int) == 24
    assert api.value("cuDeviceGetAttribute", 75, 0, kind=ctypes.c_int) == 8


@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("cuDeviceGet", (ctypes.c_int(), 1), Status.CUDA_ERROR_INVALID_DEVICE),
        ("cuMemAlloc_v2", (ctypes.c_uint64(), 0), Status.CUDA_ERROR_INVALID_VALUE),
        ("cuMemAlloc_v2", (ctypes.c_uint64(), 1 << 40), Status.CUDA_ERROR_OUT_OF_MEMORY),
        ("cuMemFree_v2", (0x1234,), Status.CUDA_ERROR_INVALID_VALUE),
        ("cuEventRecord", (0x1234, 0), Status.CUDA_ERROR_INVALID_HANDLE),
        ("cuStreamDestroy_v2", (0x1234,), Status.CUDA_ERROR_INVALID_HANDLE),
        ("cuInit", (1,), Status.CUDA_ERROR_INVALID_VALUE),
        ("cuDeviceGetCount", (0,), Status.CUDA_ERROR_INVALID_VALUE),
        ("cuPointerGetAttribute", (ctypes.c_uint64(), 2, 0x1234), Status.CUDA_ERROR_INVALID_VALUE),
        ("cuCtxGetLimit", (ctypes.c_uint64(), 99), Status.CUDA_ERROR_UNSUPPORTED_LIMIT),
    ],
)
def test_mistakes(api: Api, name: str, arguments: tuple[Any, ...], status: Status) -> None:
    """A wrong call gives the code that its documentation names, and nothing else breaks."""
    assert api.status(name, *arguments) == status
    api("cuCtxSynchronize")


def test_copy_beyond_the_end(api: Api) -> None:
    """A copy that leaves its allocation is refused; the context stays usable."""
    address, x = api.array(np.zeros(16, np.uint8)), np.zeros(64, np.uint8)

    assert api.status("cuMemcpyHtoD_v2", address, x.ctypes.data, 64) == (
        Status.CUDA_ERROR_INVALID_VALUE
    )
    api("cuCtxSynchronize")


def test_no_context() -> None:
    """Work without a context is refused."""
    assert Api().status("cuMemAlloc_v2", ctypes.c_uint64(), 16) == (
        Status.CUDA_ERROR_INVALID_CONTEXT
    )


def test_memory_comes_back() -> None:
    """Freed memory is the host's again, and no address is used twice."""
    api = Api()
    api("cuCtxSetCurrent", api.value("cuDevicePrimaryCtxRetain", 0))
    addresses = set()
    for _ in range(50):
        address = api.value("cuMemAlloc_v2", 1 << 30)
        ctypes.memset(address, 1, 4096)
        addresses.add(address)
        api("cuMemFree_v2", address)

    assert len(addresses) == 50
    assert api.driver.gpus[0].used_bytes == 0


def test_no_gpu() -> None:
    """A driver without GPUs is refused."""
    with pytest.raises(InputError, match="at least one GPU"):
        Driver(())


def fatbin(flags: int, body: bytes, size: int, sm: int = 89) -> bytes:
    """A fat binary with one cubin in it."""
    packed = len(body) if flags else 0
    entry = struct.pack("<HHIQIIIIQQQ", 2, 0x101, 64, len(body), packed, 0, 0, sm, 0, flags, 0)
    entry += struct.pack("<Q", size)
    entry = entry[:40] + struct.pack("<QQQ", flags, 0, size)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64 + len(body)) + entry + body


def lz4_literals(data: bytes) -> bytes:
    """An LZ4 block that is one run of literals."""
    extra = len(data) - 15
    return b"\xf0" + b"\xff" * (extra // 255) + bytes((extra % 255,)) + data


def test_fat_binaries() -> None:
    """The cubin of a fat binary is found, plain and compressed; another architecture's is not."""
    cubin = COMPILED.cubin

    assert code_of(fatbin(0, cubin, len(cubin)), 89).cubin == cubin
    assert code_of(fatbin(0x2000, lz4_literals(cubin), len(cubin)), 89).cubin == cubin
    overlapping = b"\x18a\x01\x00"  # one literal, then twelve times the byte before
    assert code_of(fatbin(0x2000, overlapping, 13), 89).cubin == b"a" * 13
    with pytest.raises(Exception, match="the fat binary has sm_89; the GPU is sm_90"):
        code_of(fatbin(0, cubin, len(cubin)), 90)
    with pytest.raises(CubinError, match="no cubin, fat binary or PTX"):
        code_of(b"hello", 89)


def test_calls_without_a_context(api: Api) -> None:
    """Frees, waits and marks need no current context, others do: an H200's codes (2026-11-23)."""
    address, pinned = api.array(np.zeros(4)), api.value("cuMemAllocHost_v2", 64)
    stream, event = api.value("cuStreamCreate", 0), api.value("cuEventCreate", 0)
    api.value("cuCtxPopCurrent_v2")
    invalid = Status.CUDA_ERROR_INVALID_CONTEXT

    assert api.status("cuMemsetD8_v2", address, 1, 16) == invalid
    assert api.status("cuMemAlloc_v2", ctypes.c_uint64(), 64) == invalid
    api("cuStreamSynchronize", stream)
    api("cuEventRecord", event, stream)
    api("cuMemFree_v2", address)
    api("cuMemFreeHost", pinned)
    assert api.status("cuMemFree_v2", address) == Status.CUDA_ERROR_INVALID_VALUE


@pytest.mark.parametrize(
    ("place", "kind", "status", "is_host"),
    [((1, 0), 1, 0, False), ((1, 0), 2, 0, True), ((2, 0), 1, 0, True), ((0, 0), 2, 0, True),
     ((0, 0), 1, 1, False), ((1, 0), 0, 1, False), ((4, 0), 1, 801, False)],
)  # fmt: skip
def test_pools_by_place(
    api: Api, place: tuple[int, int], kind: int, status: int, is_host: bool
) -> None:
    """Default pools of places and kinds of memory: an H200's codes, and whose memory they give."""
    location = (ctypes.c_int * 2)(*place)
    pool, address, host = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint64()

    assert api.status("cuMemGetDefaultMemPool", pool, location, kind) == status
    if status:
        return
    api("cuMemAllocFromPoolAsync", address, 64, pool.value, 0)
    assert (api.status("cuPointerGetAttribute", host, 4, address.value) == 0) == is_host
    api("cuMemFreeAsync", address.value, 0)
    used = ctypes.c_uint64()
    api("cuMemPoolGetAttribute", pool.value, 7, used)
    assert used.value == 0
