"""What the simulated driver costs beyond the kernels: calls a second, launches, copies, memory.

    python benchmarks/driver.py [--launches 1000]

Calls go the whole way, as a C program's do: through `libcuda.so.1` into Python and back. The launch
overhead is the time of a launch of one empty block beyond the same launch through the session.
"""

from __future__ import annotations

import argparse
import ctypes
import resource
import time
from collections.abc import Callable

import numpy as np

import warplens.cuda
from warplens.libcuda import place
from warplens.toolchain.nvrtc import compile_source

SOURCE = 'extern "C" __global__ void nothing(float *x) {}'


def seconds_of(action: Callable[[], object], times: int) -> float:
    """The processor time of one of so many calls; other load disturbs little."""
    start = time.process_time()
    for _ in range(times):
        action()
    return (time.process_time() - start) / times


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=1000)
    times = parser.parse_args().launches
    driver = warplens.cuda.choose("RTX 4060")
    library = place.library()
    number, context = ctypes.c_int(), ctypes.c_uint64()
    library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    library.cuCtxSetCurrent(context)
    call = seconds_of(lambda: library.cuDeviceGetCount(ctypes.byref(number)), 100_000)
    print(f"driver calls: {1 / call:,.0f} a second")

    cubin = compile_source(SOURCE, sm=89).cubin
    image = ctypes.create_string_buffer(cubin, len(cubin))
    module, function, memory = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint64()
    library.cuModuleLoadData(ctypes.byref(module), image)
    library.cuModuleGetFunction(ctypes.byref(function), module, b"nothing")
    library.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_uint64(64 << 20))
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))

    def launch() -> None:
        status = library.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
        assert status == 0

    kernel = driver.gpus[0].device.load(cubin)["nothing"]
    launch()
    kernel[1, 32](np.uint64(memory.value))
    through_session = seconds_of(lambda: kernel[1, 32](np.uint64(memory.value)), times)
    through_driver = seconds_of(launch, times)
    beyond = through_driver - through_session
    print(f"launch: {through_driver * 1e6:,.0f} us, {beyond * 1e6:,.0f} us beyond the session's")

    driver.launches.clear()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds_of(launch, times)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"memory: {grown / times * 1024:,.0f} bytes a launch ({driver.launches.maxlen} are kept)")

    host = np.ones(64 << 20, np.uint8)
    other = host.copy()  # its pages are there

    def copy() -> None:
        size = ctypes.c_uint64(host.nbytes)
        assert library.cuMemcpyHtoD_v2(memory, ctypes.c_void_p(host.ctypes.data), size) == 0

    copy()
    copied = seconds_of(copy, 10)
    plain = seconds_of(lambda: np.copyto(other, host), 10)
    print(f"copy of 64 MiB: {plain / copied:.2f} of memcpy's speed")


if __name__ == "__main__":
    main()
