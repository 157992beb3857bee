"""Texels under the sanitizers: reads and writes of them are accesses to device memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warplens as wl

SOURCE = r"""
extern "C" __global__ void fetch(cudaTextureObject_t t, float* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float>(t, i);
}
extern "C" __global__ void sample(cudaTextureObject_t t, float* out, float x) {
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x + x, 0.5f);
}
extern "C" __global__ void put(cudaSurfaceObject_t s, int shift, float step) {
    surf2Dwrite(1 + step * threadIdx.x, s, (threadIdx.x >> shift) * 4, 0);
}
extern "C" __global__ void bytes(cudaSurfaceObject_t s) {
    surf2Dwrite((unsigned char)threadIdx.x, s, threadIdx.x, 0);
}
extern "C" __global__ void exchange(cudaSurfaceObject_t s, float* out) {
    int i = threadIdx.x;
    surf2Dwrite(1.0f, s, i * 4, 0);
#ifdef WAITS
    __syncthreads();
#endif
    out[i] = surf2Dread<float>(s, (i ^ 33) * 4, 0);
}
extern "C" __global__ void sum(cudaSurfaceObject_t s) {
    asm volatile("sured.b.2d.add.u32.trap [%0, {%1, %2}], %3;" :: "l"(s), "r"(4), "r"(0), "r"(1));
}
"""
OUT = np.zeros(64, np.float32)


@pytest.fixture(scope="module")
def module() -> Any:
    """The kernels above."""
    return wl.Device("H200").compile(SOURCE)


def found(kernel: Any, *arguments: Any, threads: int = 64) -> list[tuple[str, int]]:
    """Checks of the errors, and how often."""
    report = kernel.sanitize[1, threads](*arguments)
    return [(one.check, one.count) for one in report.errors]


def test_memory_that_is_written_in_part(module: Any) -> None:
    """Each texel that was read and never written counts, with the thread that read it."""
    array = wl.uninitialized(64, np.float32)
    array[:40] = 1
    texture = wl.Texture(array, linear_memory=True)

    assert found(module["fetch"], texture, OUT, 40) == []
    report = module["fetch"].sanitize[1, 64](texture, OUT, 64)
    (error,) = report.errors
    assert (error.check, error.count) == ("uninitialised-global-read", 24)
    assert (error.accesses[0].line, error.accesses[0].thread) == (4, (40, 0, 0))


def test_a_filter_reads_what_has_a_weight(module: Any) -> None:
    """At the middle of a texel its neighbours do not count; between two of them both do."""
    array = wl.uninitialized((2, 65), np.float32)
    array[0, :64] = 1
    texture = wl.Texture(array, filter="linear")

    assert found(module["sample"], texture, OUT, np.float32(0.5)) == []
    assert found(module["sample"], texture, OUT, np.float32(0.75)) == [
        ("uninitialised-global-read", 1)
    ]


def test_a_surface_write_counts_as_written(module: Any) -> None:
    """What one kernel writes through a surface the next may read through a texture."""
    array = wl.uninitialized((2, 64), np.float32)

    assert found(module["put"], wl.Surface(array), 0, np.float32(1)) == []
    assert found(module["sample"], wl.Texture(array), OUT, np.float32(0.5)) == []
    assert array[0, 63] == 64


def test_races_of_surfaces(module: Any) -> None:
    """Unordered accesses to one texel race; equal values are a remark, reductions are atomic."""
    surface = wl.Surface(np.zeros((2, 64), np.float32))
    waits = wl.Device("H200").compile(SOURCE, options=("-DWAITS",))["exchange"]

    assert found(module["put"], surface, 1, np.float32(1)) == [("global-write-race", 32)]
    assert found(module["put"], surface, 1, np.float32(0)) == []
    assert [check for check, _ in found(module["exchange"], surface, OUT)] == [
        "global-read-write-race"
    ]
    assert found(waits, surface, OUT) == []
    assert found(module["bytes"], wl.Surface(np.zeros((2, 64), np.uint8))) == []
    total = np.zeros((1, 64), np.uint32)
    assert found(module["sum"], wl.Surface(total)) == []
    assert total[0, 1] == 64


def test_a_surface_that_traps(module: Any) -> None:
    """A write beside a surface names the thread and the line."""
    surface = wl.Surface(np.zeros((2, 32), np.float32))

    (error,) = module["put"].sanitize[1, 64](surface, 0, np.float32(1)).errors

    assert error.check == "out-of-bounds"
    assert "thread (32,0,0)" in str(error.details)
