"""Launches of kernels, and how many of their blocks fit on an SM."""

from __future__ import annotations

from math import prod

from warplens.driver.cells import SIZE_FUNCTION, called, put_i32, put_u64
from warplens.driver.entries.table import I32, U32, U64, Pointer, entry
from warplens.driver.launching import Shape, arguments_at, launch, shape_at
from warplens.driver.machine import Driver
from warplens.driver.modules import Function
from warplens.driver.status import DriverError, Status
from warplens.occupancy_calculator.clusters import cluster_occupancy
from warplens.occupancy_calculator.launch_choices import available_dynamic_shared


def _launch(
    driver: Driver, handle: int, shape: Shape, stream: int, parameters: int, extra: int
) -> None:
    driver.context()
    function = driver.thing(handle, Function)
    launch(driver, function, shape, driver.stream(stream), arguments_at(
        function, parameters, extra
    ))  # fmt: skip


@entry("cuLaunchKernel")
def launch_kernel(
    driver: Driver, function: Pointer, gx: U32, gy: U32, gz: U32, bx: U32, by: U32, bz: U32,
    shared: U32, stream: Pointer, parameters: Pointer, extra: Pointer,
) -> None:  # fmt: skip
    """Runs a kernel."""
    shape = Shape(grid=(gx, gy, gz), block=(bx, by, bz), shared=shared)
    _launch(driver, function, shape, stream, parameters, extra)


@entry("cuLaunchCooperativeKernel")
def launch_cooperative(
    driver: Driver, function: Pointer, gx: U32, gy: U32, gz: U32, bx: U32, by: U32, bz: U32,
    shared: U32, stream: Pointer, parameters: Pointer,
) -> None:  # fmt: skip
    """Runs a kernel all of whose blocks are resident together."""
    shape = Shape(grid=(gx, gy, gz), block=(bx, by, bz), shared=shared, is_cooperative=True)
    _launch(driver, function, shape, stream, parameters, 0)


@entry("cuLaunchKernelEx")
def launch_ex(
    driver: Driver, config: Pointer, function: Pointer, parameters: Pointer, extra: Pointer
) -> None:
    """Runs a kernel with attributes: clusters, cooperation."""
    shape, stream = shape_at(config)
    _launch(driver, function, shape, stream, parameters, extra)


# --- occupancy -----------------------------------------------------------------------------------


@entry("cuOccupancyMaxActiveBlocksPerMultiprocessor")
def active_blocks(
    driver: Driver, count: Pointer, function: Pointer, threads: I32, shared: U64
) -> None:
    """Blocks that fit on an SM."""
    put_i32(count, driver.thing(function, Function).resident_blocks(threads, shared))


@entry("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
def active_blocks_with_flags(
    driver: Driver, count: Pointer, function: Pointer, threads: I32, shared: U64, flags: U32
) -> None:
    """Blocks that fit on an SM."""
    put_i32(count, driver.thing(function, Function).resident_blocks(threads, shared))


@entry("cuOccupancyMaxPotentialBlockSize")
def potential_block(
    driver: Driver, grid: Pointer, block: Pointer, function: Pointer, shared_of: Pointer,
    shared: U64, limit: I32,
) -> None:  # fmt: skip
    """The block size with the most threads on an SM; of equals the largest."""
    _potential_block(driver, grid, block, function, shared_of, shared, limit)


@entry("cuOccupancyMaxPotentialBlockSizeWithFlags")
def potential_block_with_flags(
    driver: Driver, grid: Pointer, block: Pointer, function: Pointer, shared_of: Pointer,
    shared: U64, limit: I32, flags: U32,
) -> None:  # fmt: skip
    """The block size with the most threads on an SM; of equals the largest."""
    _potential_block(driver, grid, block, function, shared_of, shared, limit)


def _potential_block(
    driver: Driver, grid: int, block: int, handle: int, shared_of: int, shared: int, limit: int
) -> None:
    function = driver.thing(handle, Function)
    most = min(function.most_threads, limit or function.most_threads)
    def resident(threads: int) -> tuple[int, int]:
        nbytes = called(SIZE_FUNCTION, shared_of, threads) if shared_of else shared
        return function.resident_blocks(threads, nbytes) * threads, threads

    sizes = [*range(32, most + 1, 32), *([most] if most % 32 else [])]
    together, threads = max(map(resident, sizes))
    put_i32(block, threads)
    put_i32(grid, together // threads * function.module.gpu.spec.sm_count)


@entry("cuOccupancyMaxActiveClusters")
def active_clusters(driver: Driver, count: Pointer, function: Pointer, config: Pointer) -> None:
    """Clusters of a launch that the GPU holds at a time."""
    found = driver.thing(function, Function)
    shape, _ = shape_at(config)
    size = prod(shape.cluster or found.sass.cluster or (1, 1, 1))
    if size > found.most_cluster_blocks:
        raise DriverError(Status.CUDA_ERROR_INVALID_CLUSTER_SIZE, f"{size} blocks in a cluster")
    put_i32(count, _clusters(found, shape, size))


@entry("cuOccupancyMaxPotentialClusterSize")
def potential_cluster(driver: Driver, size: Pointer, function: Pointer, config: Pointer) -> None:
    """Blocks of the largest cluster that could be launched."""
    found = driver.thing(function, Function)
    shape, _ = shape_at(config)
    most = found.most_cluster_blocks
    fitting = (n for n in range(most, 1, -1) if not n & n - 1 and _clusters(found, shape, n))
    put_i32(size, next(fitting, 1))


def _clusters(found: Function, shape: Shape, size: int) -> int:
    blocks = found.resident_blocks(shape.block, shape.shared)
    spec = found.module.gpu.spec
    return cluster_occupancy(spec, spec.name, size, blocks).clusters


@entry("cuOccupancyAvailableDynamicSMemPerBlock")
def available_shared(
    driver: Driver, nbytes: Pointer, function: Pointer, blocks: I32, threads: I32
) -> None:
    """Dynamic shared memory with which so many blocks still fit."""
    found = driver.thing(function, Function)
    spec, sass = found.module.gpu.spec, found.sass
    put_u64(nbytes, int(available_dynamic_shared(
        spec, threads=threads, registers=sass.registers, blocks=blocks,
        static_shared=sass.static_shared,
    )))  # fmt: skip
