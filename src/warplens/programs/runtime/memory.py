"""Memory of every kind, and what pointers and symbols are."""

from __future__ import annotations

import struct

from warplens.driver.cells import put_bytes, put_u64
from warplens.driver.entries import memory as driver_memory
from warplens.driver.machine import Pool
from warplens.driver.memory import DEVICE, MANAGED
from warplens.driver.status import DriverError, Status
from warplens.programs.program import Program
from warplens.programs.runtime.table import I32, U32, U64, Extent, Location, Pointer, entry

_PITCH = 512
_UNREGISTERED, _HOST, _DEVICE, _MANAGED = 0, 1, 2, 3


@entry("cudaMalloc")
def malloc(program: Program, address: Pointer, nbytes: U64) -> None:
    """Device memory; none for 0 bytes."""
    program.context()
    if nbytes:
        driver_memory.alloc(program.driver, address, nbytes)
    else:
        put_u64(address, 0)


@entry("cudaFree")
def free(program: Program, address: Pointer) -> None:
    """Ends device or managed memory."""
    program.context()
    if address:
        driver_memory.free(program.driver, address)


@entry("cudaMallocManaged")
def malloc_managed(program: Program, address: Pointer, nbytes: U64, flags: U32) -> None:
    """Memory that the host and kernels reach through one pointer."""
    program.context()
    driver_memory.alloc_managed(program.driver, address, nbytes, flags)


@entry("cudaMallocPitch")
def malloc_pitch(
    program: Program, address: Pointer, pitch: Pointer, width: U64, height: U64
) -> None:
    """Rows that begin at multiples of 512 bytes."""
    program.context()
    driver_memory.alloc_pitch(program.driver, address, pitch, width, height, 4)


@entry("cudaMalloc3D")
def malloc_3d(program: Program, pitched: Pointer, width: Extent, height: int, depth: int) -> None:
    """Slices of such rows."""
    context = program.context()
    pitch = -(-width // _PITCH) * _PITCH
    address = program.memory.allocate(
        pitch * height * depth, kind=DEVICE, device=context.gpu.index, context=context.number
    )
    context.gpu.used_bytes += pitch * height * depth
    put_bytes(pitched, struct.pack("<4Q", address, pitch, width, height))


@entry("cudaMemAdvise", kind="plain")
def advise(
    program: Program, address: Pointer, nbytes: U64, advice: I32, kind: Location,
    number: int,
) -> None:  # fmt: skip
    """Managed memory is near to everybody."""
    program.context()
    _check_managed(program, address)


def _check_managed(program: Program, address: int) -> None:
    """Hints are about memory that moves, which neither a device's own nor the program's does."""
    found = program.memory.allocation(address)
    if program.memory.find(address) is None or (found is not None and found[1].kind == DEVICE):
        raise DriverError(
            Status.CUDA_ERROR_INVALID_VALUE,
            f"{program.memory.words(address)} at {address:#x} is not managed",
        )


@entry("cudaMemPrefetchAsync", kind="plain")
def prefetch(
    program: Program, address: Pointer, nbytes: U64, kind: Location, number: int, flags: U32,
    stream: Pointer,
) -> None:  # fmt: skip
    """Managed memory is near to everybody."""
    program.context()
    _check_managed(program, address)
    program.driver.stream(stream)


@entry("cudaPointerGetAttributes", kind="plain")
def pointer_attributes(program: Program, attributes: Pointer, address: Pointer) -> None:
    """Whose memory a pointer points to."""
    program.context()
    found = program.memory.allocation(address)
    if found is None and program.memory.find(address) is None:
        put_bytes(attributes, struct.pack("<iiQQ8q", _UNREGISTERED, -2, 0, address, *[0] * 8))
        return
    kind = DEVICE if found is None else found[1].kind
    device = 0 if found is None else found[1].device
    number = {DEVICE: _DEVICE, MANAGED: _MANAGED}.get(kind, _HOST)
    host = 0 if kind == DEVICE else address
    put_bytes(attributes, struct.pack("<iiQQ8q", number, device, address, host, *[0] * 8))


@entry("cudaGetSymbolAddress")
def symbol_address(program: Program, address: Pointer, symbol: Pointer) -> None:
    """Where a variable of the device lies."""
    put_u64(address, program.variable(symbol)[0])


@entry("cudaGetSymbolSize")
def symbol_size(program: Program, nbytes: Pointer, symbol: Pointer) -> None:
    """A variable's size."""
    put_u64(nbytes, program.variable(symbol)[1])


@entry("cudaMemGetDefaultMemPool", "cudaMemGetMemPool", kind="plain")
def pool_of(program: Program, pool: Pointer, location: Pointer, kind: I32) -> None:
    """The pool that allocations come from."""
    number = program.driver.current_pool(program.gpu())
    program.driver.thing(number, Pool)
    put_u64(pool, number)


@entry("cudaMemRangeGetAttribute", kind="plain")
def range_attribute(
    program: Program, data: Pointer, nbytes: U64, attribute: I32, address: Pointer, count: U64
) -> None:
    """Where managed memory is: not modelled."""
    raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "places of managed memory")
