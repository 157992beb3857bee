"""Listings of many cubins made in one call, compared with those of nvdisasm called for each."""

from __future__ import annotations

from pathlib import Path

import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.sass.parser import KernelSet, load_kernels
from warplens.toolchain import nvdisasm
from warplens.toolchain.cache import Cache
from warplens.toolchain.cubin import read_cubin
from warplens.toolchain.nvrtc import compile_source
from warplens.toolchain.together import disassemble_together

PLAIN = """
__constant__ float weights[9];
__device__ float total;
template <int N> __global__ void sums(const float* a, float* b, int n) {
    __shared__ float part[128];
    float sum = 0;
    for (int k = 0; k < N; k++) if (a[k] > weights[k % 9]) sum += a[k * n + threadIdx.x] / 3;
    part[threadIdx.x] = sum;
    __syncthreads();
    if (n % 3 == 0) total = sum; else b[threadIdx.x] = part[127 - threadIdx.x];
}
"""
PRINTS = '#include <cstdio>\n__global__ void prints(int n) { printf("%d", n); }'
SWITCH = """
__global__ void many(int* a, int n) {
    switch (a[n]) {
        case 0: a[0] = __popc(n); break; case 1: a[1] = __brev(n); break;
        case 2: a[2] = n / 7; break; case 3: a[3] = __clz(n); break;
        case 4: atomicAdd(a, n); break; case 5: a[5] = n % 11; break;
        case 6: __syncthreads(); break; case 7: a[7] = __ffs(n); break;
    }
}
"""


def cubin(source: str, sm: int = 90, *expressions: str) -> bytes:
    """A source compiled."""
    return compile_source(source, sm=sm, name_expressions=expressions).cubin


@pytest.mark.parametrize("sm", one_in(3, [90, 75, 120], str))
def test_the_same_as_one_by_one(tmp_path: Path, sm: int) -> None:
    """Instance by instance the same instructions; what cannot be merged is left for later."""
    few = [cubin(PLAIN, sm, f"sums<{n}>") for n in (1, 2, 5)]
    two = cubin(PLAIN, sm, "sums<3>", "sums<4>")
    rest = [cubin(PRINTS, sm), b"no cubin"]
    cache = Cache(tmp_path)

    assert disassemble_together([*few, two, *rest], cache=cache) == 4
    assert disassemble_together([*few, two], cache=cache) == 0  # all known now
    for one in [*few, two]:
        assert cache.get("listing", nvdisasm.listing_key(one)) is not None
        together = nvdisasm.disassemble(one, cache=cache)
        assert together == nvdisasm.disassemble(one, cache=Cache(None))
        assert list(read_cubin(one).kernels) == list(together)
    assert cache.get("listing", nvdisasm.listing_key(rest[0])) is None


def test_tables_of_branches_and_other_architectures(tmp_path: Path) -> None:
    """Each is either listed as alone, or left out."""
    cache = Cache(tmp_path)
    every = [cubin(SWITCH), cubin(PLAIN, 90, "sums<2>"), cubin(PLAIN, 80, "sums<2>")]
    disassemble_together(every, cache=cache)

    known = [c for c in every if cache.get("listing", nvdisasm.listing_key(c)) is not None]
    assert known
    for one in known:
        assert nvdisasm.disassemble(one, cache=cache) == nvdisasm.disassemble(
            one, cache=Cache(None)
        )


def test_without_a_cache_nothing_is_done() -> None:
    """There is nowhere to put listings."""
    assert disassemble_together([cubin(PLAIN, 90, "sums<2>")], cache=Cache(None)) == 0


@pytest.mark.parametrize("options", one_in(2, [(), ("-G",)], str))
def test_an_outline_has_the_same_resources(options: tuple[str, ...]) -> None:
    """Registers, memory and limits of a kernel need no instructions; debug builds read them."""
    source = """
    __device__ __noinline__ float third(float x) { return x / 3; }
    __global__ void __launch_bounds__(256) bounded(float* a) {
        __shared__ float part[256];
        part[threadIdx.x] = third(a[threadIdx.x]);
        __syncthreads();
        a[threadIdx.x] = part[255 - threadIdx.x];
    }
    """
    kernels: KernelSet = load_kernels(compile_source(source, sm=90, options=options).cubin)
    (name,) = kernels
    outline, whole = kernels.outline(name), kernels[name]

    for fact in ("registers", "static_shared", "local_bytes", "n_barriers", "max_threads",
                 "cluster", "parameters", "parameter_bytes"):  # fmt: skip
        assert getattr(outline, fact) == getattr(whole, fact), fact


def test_an_outline_refuses_what_the_kernel_refuses() -> None:
    """Blocks beyond the limits, and clusters where there are none."""
    source = "__global__ void __launch_bounds__(128) k(float* a) { a[threadIdx.x] = 1; }"
    device = wl.Device("A100")
    module = device.compile(source)
    for kernel in (module.outline("k"), module["k"]):
        assert kernel.occupancy(128).blocks == 16
        with pytest.raises(wl.LaunchError, match="__launch_bounds__"):
            kernel[1, 256]
        with pytest.raises(wl.LaunchError, match="no thread block clusters"):
            kernel.clustered(2)
