"""Virtual memory management: addresses, the memory behind them, and who may access it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from warplens.driver.machine import Driver, SimulatedGpu
from warplens.driver.status import DriverError, Status

GRANULARITY = 2 << 20
READ, READ_WRITE = 1, 3


@dataclass(slots=True, eq=False)
class Physical:
    """Memory without an address; it goes when neither a handle nor a mapping is left."""

    gpu: SimulatedGpu
    nbytes: int
    properties: bytes
    file: int
    handles: int = 1
    is_mapped: bool = False

    def release_if_unused(self) -> None:
        """Gives the memory back when nobody needs it any more."""
        if self.handles == 0 and not self.is_mapped:
            self.gpu.used_bytes -= self.nbytes
            os.close(self.file)


@dataclass(slots=True, eq=False)
class Mapping:
    """A physical allocation behind addresses; `access` is READ, READ_WRITE or 0 by device."""

    address: int
    nbytes: int
    physical: Physical
    access: dict[int, int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.nbytes


@dataclass(slots=True, eq=False)
class Reservation:
    """Addresses of their own."""

    base: int
    nbytes: int
    gpu: SimulatedGpu
    memory: npt.NDArray[np.uint8]
    mappings: dict[int, Mapping] = field(default_factory=dict)
    attached: list[int] = field(default_factory=list)

    def within(self, address: int, nbytes: int) -> list[Mapping]:
        """The mappings that fill a range.

        Raises:
            DriverError: there are holes, or the range cuts a mapping.
        """
        found = [self.mappings[at] for at in sorted(self.mappings)
                 if address <= at < address + nbytes]  # fmt: skip
        ends = [address, *(mapping.end for mapping in found)]
        starts = [*(mapping.address for mapping in found), address + nbytes]
        if not found or ends != starts:
            raise DriverError(
                Status.CUDA_ERROR_INVALID_VALUE, f"{address:#x} is not mapped for {nbytes} bytes"
            )
        return found


def create(driver: Driver, gpu: SimulatedGpu, nbytes: int, properties: bytes) -> int:
    """Memory without an address; gives its handle."""
    if not nbytes or nbytes % GRANULARITY:
        raise DriverError(
            Status.CUDA_ERROR_INVALID_VALUE, f"{nbytes} is no multiple of {GRANULARITY}"
        )
    if gpu.used_bytes + nbytes > gpu.spec.dram_size_bytes:
        raise DriverError(Status.CUDA_ERROR_OUT_OF_MEMORY, f"{nbytes} bytes")
    file = os.memfd_create("warplens")
    os.ftruncate(file, nbytes)
    gpu.used_bytes += nbytes
    return driver.handle(Physical(gpu, nbytes, properties, file))


def reserve(driver: Driver, gpu: SimulatedGpu, nbytes: int, alignment: int) -> int:
    """Addresses that nothing else gets."""
    if not nbytes or nbytes % GRANULARITY or alignment & (alignment - 1):
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"cannot reserve {nbytes} bytes")
    base = driver.memory.space(gpu.index).reserve(nbytes, max(alignment, GRANULARITY))
    memory = gpu.region.bytes_at(base, nbytes)
    driver.reservations[base] = Reservation(base, nbytes, gpu, memory)
    return base


def release(driver: Driver, base: int, nbytes: int) -> None:
    """Ends a reservation."""
    found = driver.reservations.get(base)
    if found is None or found.nbytes != nbytes or found.mappings:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{base:#x} cannot be released")
    del driver.reservations[base]


def around(driver: Driver, address: int, nbytes: int) -> Reservation:
    """The reservation that holds a range."""
    found: Reservation
    for found in driver.reservations.values():
        if found.base <= address and address + nbytes <= found.base + found.nbytes:
            return found
    raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{address:#x} is not reserved")


def map_memory(driver: Driver, address: int, nbytes: int, physical: Physical, offset: int) -> None:
    """Puts memory behind reserved addresses; nobody may access it yet."""
    found = around(driver, address, nbytes)
    wrong = any(value % GRANULARITY for value in (address, nbytes, offset)) or not nbytes
    taken = any(m.address < address + nbytes and address < m.end for m in found.mappings.values())
    if wrong or taken or offset + nbytes > physical.nbytes:
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{address:#x} cannot be mapped")
    if physical.is_mapped:
        # Blocks that run side by side are told apart by where the host has what they access.
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, "memory behind two addresses at once")
    found.gpu.region.show(address, nbytes, physical.file, offset)
    physical.is_mapped = True
    found.mappings[address] = Mapping(address, nbytes, physical)


def unmap(driver: Driver, address: int, nbytes: int) -> None:
    """Takes memory away from addresses."""
    found = around(driver, address, nbytes)
    for mapping in found.within(address, nbytes):
        del found.mappings[mapping.address]
        mapping.physical.is_mapped = False
        mapping.physical.release_if_unused()
    _attach(driver, found)
    found.gpu.region.hide(address, nbytes)


def set_access(
    driver: Driver, address: int, nbytes: int, rights: dict[int, int]
) -> None:
    """Says what devices may do with mapped memory."""
    found = around(driver, address, nbytes)
    for mapping in found.within(address, nbytes):
        mapping.access.update(rights)
    for device, flags in rights.items():
        if flags:
            driver.show(driver.gpu(device), found.gpu)
    _attach(driver, found)


def _attach(driver: Driver, found: Reservation) -> None:
    """Neighbouring mappings that may be written alike become one piece of memory."""
    for base in found.attached:
        driver.memory.detach(base, found.gpu.index)
    found.attached.clear()
    open_ones = [m for at, m in sorted(found.mappings.items()) if any(m.access.values())]
    runs: list[list[Mapping]] = [[m] for m in open_ones[:1]]
    for before, mapping in pairwise(open_ones):
        alike = _is_writable(before) == _is_writable(mapping) and before.end == mapping.address
        if alike:
            runs[-1].append(mapping)
        else:
            runs.append([mapping])
    for run in runs:
        first, last = run[0].address - found.base, run[-1].end - found.base
        driver.memory.attach(
            run[0].address, found.memory[first:last], writable=_is_writable(run[0]),
            device=found.gpu.index,
        )  # fmt: skip
        found.attached.append(run[0].address)


def _is_writable(mapping: Mapping) -> bool:
    return READ_WRITE in mapping.access.values()
