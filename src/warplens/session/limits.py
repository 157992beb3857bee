"""What a GPU refuses to launch, refused here with the limit's name."""

from __future__ import annotations

from math import prod
from typing import Any

from warplens.errors import LaunchError
from warplens.execute.executable import LaunchShape
from warplens.gpus.spec import GpuSpec
from warplens.occupancy_calculator.occupancy import occupancy_of_kernel
from warplens.sass.model import SassKernel
from warplens.wording import count


def shared_bytes(value: Any) -> int:
    """The bytes of dynamic shared memory that a launch asks for."""
    try:
        number = int(value)
        exact = number == value
    except (TypeError, ValueError):
        exact = False
    if not exact or number < 0:
        raise LaunchError(f"dynamic shared memory {value!r} is not a size in bytes")
    return number


def check_launch(kernel: SassKernel, gpu: GpuSpec, shape: LaunchShape) -> None:
    """Refuses what the GPU would refuse, naming the limit.

    Raises:
        LaunchError: a dimension, the threads, the registers or the shared memory are too many, or
            the kernel's launch bounds or cluster do not allow the shape.
    """
    _check_dimensions(gpu, shape)
    threads = prod(shape.block)
    if threads > gpu.max_threads_per_block:
        raise LaunchError(
            f"{kernel.demangled}: {threads:,} threads per block; {gpu.name} allows "
            f"{gpu.max_threads_per_block:,}"
        )
    _check_bounds(kernel, gpu, shape, threads)
    shared = kernel.static_shared + shape.dynamic_shared
    most = gpu.shared_per_block_optin_bytes
    if shared > most:
        raise LaunchError(
            f"{kernel.demangled}: a block needs {shared:,} bytes of shared memory "
            f"({kernel.static_shared:,} static, {shape.dynamic_shared:,} dynamic); {gpu.name} "
            f"allows {most:,}"
        )
    fits = occupancy_of_kernel(kernel, gpu, shape.block, shape.dynamic_shared).blocks
    if fits == 0:
        raise LaunchError(
            f"{kernel.demangled}: a block of {threads:,} threads with {kernel.registers} "
            f"registers each does not fit on an SM of {gpu.name} "
            f"({gpu.registers_per_block:,} registers)",
            hint="Use a smaller block, or compile with -maxrregcount or __launch_bounds__.",
        )


def _check_dimensions(gpu: GpuSpec, shape: LaunchShape) -> None:
    grids = (gpu.max_grid_x, gpu.max_grid_y, gpu.max_grid_z)
    blocks = (gpu.max_block_x, gpu.max_block_y, gpu.max_block_z)
    for name, sizes, limits in (("grid", shape.grid, grids), ("block", shape.block, blocks)):
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if not 1 <= size <= limit:
                raise LaunchError(
                    f"{name} {axis} = {size:,} is outside 1 to {limit:,}, the range of {gpu.name}"
                )


def _check_bounds(
    kernel: SassKernel, gpu: GpuSpec, shape: LaunchShape, threads: int
) -> None:
    if kernel.required_threads is not None and shape.block != kernel.required_threads:
        raise LaunchError(
            f"{kernel.demangled} must be launched with blocks of {kernel.required_threads}, "
            f"not {shape.block}"
        )
    if kernel.max_threads is not None and threads > prod(kernel.max_threads):
        raise LaunchError(
            f"{kernel.demangled}: {threads} threads per block exceed its __launch_bounds__ of "
            f"{prod(kernel.max_threads)}",
            hint="Raise __launch_bounds__ or choose a smaller block.",
        )
    if kernel.cluster is not None:
        most = gpu.cluster_blocks_max
        if kernel.cluster_blocks > most:
            raise LaunchError(
                f"{kernel.demangled}: clusters of {kernel.cluster_blocks} blocks; {gpu.name} "
                f"allows {count(most, 'block')}"
            )
        for axis, blocks, per_cluster in zip("xyz", shape.grid, kernel.cluster_shape, strict=True):
            if blocks % per_cluster:
                raise LaunchError(
                    f"{kernel.demangled}: grid {axis} = {blocks:,} is not a multiple of the "
                    f"cluster size, {per_cluster}"
                )
