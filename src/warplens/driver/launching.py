"""Kernel launches as the driver API describes them."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from warplens.driver.argument_names import argument_namer
from warplens.driver.cells import get_bytes, get_i32, get_u64
from warplens.driver.machine import Driver
from warplens.driver.modules import Function
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import NodeKind, Stream, Work
from warplens.errors import TimingUnavailable

if TYPE_CHECKING:
    from warplens.session.configured import ConfiguredKernel
    from warplens.session.launch import Launch

_END, _BUFFER, _BUFFER_SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_*
_ATTRIBUTE_BYTES = 72
_KEPT_SHAPES = 256  # launch shapes of a kernel that are remembered as checked
_COOPERATIVE, _CLUSTER = 2, 4
# Hints about priority, memory windows, synchronisation, completion events and scheduling, which
# change nothing in what a kernel computes.
_IGNORED = frozenset({0, 1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Grid, block, dynamic shared memory and cluster of a launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int = 0
    cluster: tuple[int, int, int] | None = None
    is_cooperative: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCall:
    """A kernel with its shape and the bytes of its parameters."""

    function: Function
    shape: Shape
    arguments: tuple[bytes, ...]

    def work(self, driver: Driver) -> Work:
        """The launch as work of a stream."""
        return lambda _: _run(driver, self.function, self.shape, self.arguments)


def checked_call(function: Function, shape: Shape, arguments: tuple[bytes, ...]) -> KernelCall:
    """A launch that the GPU would take.

    Raises:
        DriverError: it would refuse it.
    """
    return KernelCall(function=function, shape=_checked(function, shape), arguments=arguments)


def arguments_at(function: Function, parameters: int, extra: int) -> tuple[bytes, ...]:
    """The parameters' bytes from `kernelParams` or `extra`, copied as the driver does."""
    expected = function.sass.parameters
    if parameters:
        return tuple(
            get_bytes(get_u64(parameters + 8 * p.ordinal), p.size)
            for p in expected
        )
    if not expected:
        return ()
    buffer = place = 0
    while extra and (key := get_u64(extra + place)) != _END:
        if key == _BUFFER:
            buffer = get_u64(extra + place + 8)
        elif key != _BUFFER_SIZE:
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"launch parameter {key}")
        place += 16
    if not buffer:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "the launch has no parameters")
    return tuple(get_bytes(buffer + p.offset, p.size) for p in expected)


def shape_at(config: int) -> tuple[Shape, int]:
    """Shape and stream of a CUlaunchConfig."""
    gx, gy, gz, bx, by, bz, shared = struct.unpack("<7I", get_bytes(config, 28))
    stream, attributes, count = get_u64(config + 32), get_u64(config + 40), get_i32(config + 48)
    cluster, is_cooperative = None, False
    for index in range(count):
        place = attributes + _ATTRIBUTE_BYTES * index
        number = get_i32(place)
        if number == _CLUSTER:
            x, y, z = struct.unpack("<3I", get_bytes(place + 8, 12))
            cluster = (x, y, z)
        elif number == _COOPERATIVE:
            is_cooperative = bool(get_i32(place + 8))
        elif number not in _IGNORED:
            raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, f"launch attribute {number}")
    shape = Shape(
        grid=(gx, gy, gz), block=(bx, by, bz), shared=shared, cluster=cluster,
        is_cooperative=is_cooperative,
    )  # fmt: skip
    return shape, stream


def launch(
    driver: Driver, function: Function, shape: Shape, stream: Stream, arguments: tuple[bytes, ...]
) -> None:
    """Runs a kernel, or notes it while its stream is captured."""
    call = checked_call(function, shape, arguments)
    driver.submit(stream, call.work(driver), NodeKind.KERNEL, call)


def _checked(function: Function, shape: Shape) -> Shape:
    """The shape that runs; what hardware refuses at once is refused at once."""
    if shape.shared > function.most_dynamic_shared:
        raise DriverError(
            Status.CUDA_ERROR_INVALID_VALUE,
            f"{shape.shared} bytes of dynamic shared memory; {function.name} may ask for "
            f"{function.most_dynamic_shared} until its attribute is raised",
        )
    required = function.sass.required_threads
    if required is not None and shape.block == (1, 1, 1):  # Tile IR programs do not name a block
        shape = Shape(
            grid=shape.grid, block=required, shared=shape.shared, cluster=shape.cluster,
            is_cooperative=shape.is_cooperative,
        )  # fmt: skip
    if shape.is_cooperative:
        spec = function.module.gpu.spec
        fits = function.resident_blocks(shape.block, shape.shared) * spec.sm_count
        sass = function.sass
        blocks = prod(shape.grid) * (sass.cluster_blocks if sass.blocks_are_clusters else 1)
        if blocks > fits:
            raise DriverError(Status.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
    return shape


def _run(
    driver: Driver, function: Function, shape: Shape, arguments: tuple[bytes, ...]
) -> Callable[[], float]:
    function.module.gpu.memory.namer = argument_namer(function, arguments)
    done = _sampled(function, shape, arguments) if driver.samples else None
    done = done or _configured(function, shape)(*arguments)
    driver.launches.append(done)
    if driver.prints and done.output:
        _print(done.output)
    return lambda: duration(done)


def _sampled(function: Function, shape: Shape, arguments: tuple[bytes, ...]) -> Launch | None:
    """The launch from sampled blocks; None for blocks that cannot run on their own."""
    predictor = function.kernel.predict
    configured = predictor[shape.grid, shape.block, 0, shape.shared, shape.cluster]
    try:
        return configured(*arguments)
    except TimingUnavailable:
        return None


def _configured(function: Function, shape: Shape) -> ConfiguredKernel:
    """The kernel with that shape, checked once."""
    found = function.configured.get(shape)
    if found is None:
        if len(function.configured) == _KEPT_SHAPES:
            function.configured.clear()
        cluster = None if shape.cluster in (None, (1, 1, 1)) else shape.cluster
        found = function.kernel[shape.grid, shape.block, 0, shape.shared, cluster]
        function.configured[shape] = found
    return found


def duration(done: Launch) -> float:
    """A launch's modelled time in ns; 0 for one that kept no trace."""
    value = done.metric("gpu__time_duration.sum")
    return 0.0 if value is None else float(value)


def _print(text: str) -> None:
    """As CUDA prints: to the process's standard output, unless Python's goes elsewhere."""
    sys.stdout.flush()
    try:
        is_ours = sys.stdout.fileno() == 1
    except (OSError, ValueError, AttributeError):
        is_ours = False
    if is_ours:
        os.write(1, text.encode())
    else:
        sys.stdout.write(text)
