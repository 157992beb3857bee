"""Launches of kernels, what kernels are, and how many of their blocks fit on an SM."""

from __future__ import annotations

import struct
from math import prod

from warplens.driver.cells import put_bytes, put_i32, put_u64
from warplens.driver.entries import launches as driver_launches
from warplens.driver.launching import Shape, launch, shape_at
from warplens.driver.modules import Function, attribute_of, set_attribute
from warplens.driver.status import DriverError, Status
from warplens.programs.program import Program, RuntimeFault
from warplens.programs.runtime.table import I32, U32, U64, Data, Pointer, entry

INVALID_CONFIGURATION = 9
# cudaFuncAttributes and the driver's numbers agree but for these two.
_ORDER = (1, 2, 3, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14)


@entry("__warplens_layout", kind="plain", internal=True)
def layout(program: Program, function: Pointer, sizes: Pointer) -> None:
    """How many parameters a kernel has, and the bytes of each."""
    parameters = program.function(function).sass.parameters
    put_bytes(sizes, struct.pack(f"<{1 + len(parameters)}I", len(parameters),
                                 *(p.size for p in parameters)))  # fmt: skip


@entry("__cudaInitModule", kind="plain", written=True)
def init_module(program: Program, image: U64) -> None:
    """Managed variables get their place."""
    program.load_managed(image)


def _launch(program: Program, host: int, shape: Shape, stream: int, data: bytes) -> None:
    program.print()
    program.context()
    function = program.function(host)
    _check(function, shape)
    arguments, place = [], 0
    for parameter in function.sass.parameters:
        arguments.append(data[place : place + parameter.size])
        place += parameter.size
    driver = program.driver
    driver.context()
    launch(driver, function, shape, driver.stream(stream), tuple(arguments))


def _check(function: Function, shape: Shape) -> None:
    """Refuses with the runtime's codes what no GPU of this kind launches."""
    spec = function.module.gpu.spec
    limits = (spec.max_block_x, spec.max_block_y, spec.max_block_z)
    grid_limits = (spec.max_grid_x, spec.max_grid_y, spec.max_grid_z)
    fits = (
        all(0 < n <= most for n, most in zip(shape.block, limits, strict=True))
        and all(0 < n <= most for n, most in zip(shape.grid, grid_limits, strict=True))
        and prod(shape.block) <= spec.max_threads_per_block
    )
    if not fits:
        raise RuntimeFault(INVALID_CONFIGURATION, f"grid {shape.grid}, block {shape.block}")
    bounds = function.sass.max_threads
    if bounds is not None and prod(shape.block) > prod(bounds):
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"launch bounds of {prod(bounds)}")
    if prod(shape.block) > function.most_threads:
        raise DriverError(Status.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    cluster = shape.cluster or (1, 1, 1)
    whole = all(n % size == 0 for n, size in zip(shape.grid, cluster, strict=True) if size)
    if not whole or not 0 < prod(cluster) <= function.most_cluster_blocks:
        raise DriverError(Status.CUDA_ERROR_INVALID_CLUSTER_SIZE, f"cluster {cluster}")


@entry("cudaLaunchKernel", kind="work", written=True)
def launch_kernel(
    program: Program, function: Pointer, gx: U32, gy: U32, gz: U32, bx: U32, by: U32, bz: U32,
    shared: U64, stream: Pointer, is_cooperative: U64, data: Data,
) -> None:  # fmt: skip
    """Runs a kernel."""
    shape = Shape(
        grid=(gx, gy, gz), block=(bx, by, bz), shared=shared, is_cooperative=bool(is_cooperative)
    )
    _launch(program, function, shape, stream, data)


@entry("cudaLaunchKernelExC", kind="work", written=True)
def launch_ex(program: Program, config: Pointer, function: Pointer, data: Data) -> None:
    """Runs a kernel with attributes: clusters, cooperation."""
    shape, stream = shape_at(config)
    _launch(program, function, shape, stream, data)


# --- kernels -------------------------------------------------------------------------------------


@entry("cudaFuncGetAttributes", kind="plain")
def attributes(program: Program, attributes: Pointer, function: Pointer) -> None:
    """What a kernel needs."""
    found = program.function(function)
    values = [attribute_of(found, number) for number in _ORDER]
    put_bytes(attributes, struct.pack("<3Q13i16i", *values, *[0] * 16))


@entry("cudaFuncSetAttribute", kind="plain")
def change_attribute(program: Program, function: Pointer, attribute: I32, value: I32) -> None:
    """Changes what may be changed."""
    set_attribute(program.function(function), attribute, value)


@entry("cudaFuncSetCacheConfig", "cudaFuncSetSharedMemConfig", kind="plain")
def prefer_cache(program: Program, function: Pointer, preference: I32) -> None:
    """Preferences that newer GPUs ignore as well."""
    program.function(function)


@entry("cudaFuncGetName", kind="plain")
def name(program: Program, text: Pointer, function: Pointer) -> None:
    """A kernel's mangled name, kept for the program."""
    raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "cudaFuncGetName")


@entry("cudaFuncGetParamInfo", kind="plain")
def parameter(
    program: Program, function: Pointer, index: U64, offset: Pointer, size: Pointer
) -> None:
    """Where a parameter lies."""
    parameters = program.function(function).sass.parameters
    if index >= len(parameters):
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"parameter {index}")
    put_u64(offset, parameters[index].offset)
    if size:
        put_u64(size, parameters[index].size)


# --- occupancy -----------------------------------------------------------------------------------


@entry("cudaOccupancyMaxActiveBlocksPerMultiprocessor", kind="plain")
def active_blocks(
    program: Program, count: Pointer, function: Pointer, threads: I32, shared: U64
) -> None:
    """Blocks that fit on an SM."""
    _put_blocks(program, count, function, threads, shared)


@entry("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", kind="plain")
def active_blocks_with_flags(
    program: Program, count: Pointer, function: Pointer, threads: I32, shared: U64, flags: U32
) -> None:
    """Blocks that fit on an SM."""
    _put_blocks(program, count, function, threads, shared)


def _put_blocks(program: Program, count: int, host: int, threads: int, shared: int) -> None:
    """How many fit; of blocks that are too large none, which is no error."""
    function = program.function(host)
    fits = threads <= function.module.gpu.spec.max_threads_per_block
    bounds = function.sass.max_threads
    fits = fits and (bounds is None or threads <= prod(bounds))
    put_i32(count, function.resident_blocks(threads, shared) if fits else 0)


@entry("cudaOccupancyAvailableDynamicSMemPerBlock", kind="plain")
def available_shared(
    program: Program, nbytes: Pointer, function: Pointer, blocks: I32, threads: I32
) -> None:
    """Dynamic shared memory with which so many blocks still fit."""
    number = program.function(function).number
    driver_launches.available_shared(program.driver, nbytes, number, blocks, threads)


@entry("cudaOccupancyMaxActiveClusters", kind="plain")
def active_clusters(
    program: Program, count: Pointer, function: Pointer, config: Pointer
) -> None:
    """Clusters of a launch that the GPU holds at a time."""
    number = program.function(function).number
    driver_launches.active_clusters(program.driver, count, number, config)


@entry("cudaOccupancyMaxPotentialClusterSize", kind="plain")
def potential_cluster(
    program: Program, size: Pointer, function: Pointer, config: Pointer
) -> None:
    """Blocks of the largest cluster that could be launched."""
    number = program.function(function).number
    driver_launches.potential_cluster(program.driver, size, number, config)
