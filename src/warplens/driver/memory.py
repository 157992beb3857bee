"""Memory as programs see it: allocations of every kind, and copies between any two places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.analysis.transfers import Copied, transfers
from warplens.driver.cells import host_view
from warplens.driver.status import DriverError, Status
from warplens.errors import MemoryFault
from warplens.execute.memory import DeviceMemory, Segment
from warplens.gpus.spec import GpuSpec
from warplens.session.listeners import is_checking, watched_memory

DEVICE, PINNED, MANAGED, REGISTERED = "device", "pinned", "managed", "registered"
MAPPED = "mapped"  # addresses of their own, behind which a program puts memory of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """What an address was allocated as; `pool` is a handle, 0 outside of pools."""

    kind: str
    nbytes: int
    device: int
    context: int
    pool: int = 0
    host: int = 0  # registered memory: where the host has it
    number: int = 0


class Memory:
    """All memory that the GPUs of a process see.

    Args:
        spaces: each GPU's own.
        host: pinned, managed and registered memory, which every GPU sees.
    """

    def __init__(self, spaces: tuple[DeviceMemory, ...], host: DeviceMemory) -> None:
        self._devices, self._host, self._spaces = spaces, host, (host, *spaces)
        for space in spaces:
            space.peers = (host,)
        self.allocations: dict[int, Allocation] = {}
        self._registered: dict[int, int] = {}  # host address -> device address
        self._numbers = 0

    def allocate(
        self, nbytes: int, *, kind: str, device: int, context: int, pool: int = 0
    ) -> int:
        """Zeroed memory that a device and, through the same address, the host can use."""
        if nbytes <= 0:
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"cannot allocate {nbytes} bytes")
        followed = kind == DEVICE and is_checking()
        space = self._devices[device] if kind == DEVICE else self._host
        space.has_wide_guards = followed
        address = space.allocate(nbytes, name=f"{kind} memory", is_written=not followed)
        self._remember(address, Allocation(
            kind=kind, nbytes=nbytes, device=device, context=context, pool=pool
        ))  # fmt: skip
        for host in watched_memory():
            host.allocated(address, nbytes)
        return address

    def _remember(self, address: int, allocation: Allocation) -> None:
        self._numbers += 1
        self.allocations[address] = Allocation(
            kind=allocation.kind, nbytes=allocation.nbytes, device=allocation.device,
            context=allocation.context, pool=allocation.pool, host=allocation.host,
            number=self._numbers,
        )  # fmt: skip

    def free(self, address: int, *kinds: str) -> Allocation:
        """Ends an allocation of one of these kinds."""
        found = self.allocations.get(address)
        if found is None or found.kind not in kinds:
            for host in watched_memory():
                host.bad_free(address)
            raise DriverError(
                Status.CUDA_ERROR_INVALID_VALUE,
                f"{address:#x} is no {' or '.join(kinds)} memory that could be freed",
            )
        del self.allocations[address]
        (self._devices[found.device] if found.kind == DEVICE else self._host).free(address)
        for host in watched_memory():
            host.freed(address)
        return found

    def register(self, host: int, nbytes: int, *, device: int, context: int) -> int:
        """Shows a range of the host's own memory to a device; gives the device address."""
        if host in self._registered:
            raise DriverError(Status.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
        array = host_view(host, nbytes)
        address = self._host.map_host(array, writable=True, name="registered memory")
        self._registered[host] = address
        self._remember(address, Allocation(
            kind=REGISTERED, nbytes=nbytes, device=device, context=context, host=host
        ))  # fmt: skip
        return address

    def unregister(self, host: int) -> None:
        """Takes such a range away from the device."""
        if host not in self._registered:
            raise DriverError(Status.CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
        self.free(self._registered.pop(host), REGISTERED)

    def device_address(self, host: int) -> int:
        """The device address of a byte of pinned or registered host memory."""
        if self.find(host) is not None:
            return host
        for start, address in self._registered.items():
            if 0 <= host - start < self.allocations[address].nbytes:
                return address + host - start
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{host:#x} is not pinned memory")

    @property
    def host(self) -> DeviceMemory:
        """Pinned, managed and registered memory."""
        return self._host

    def space(self, device: int) -> DeviceMemory:
        """A device's own memory."""
        return self._devices[device]

    def attach(
        self, address: int, array: npt.NDArray[np.uint8], *, writable: bool, device: int
    ) -> None:
        """Puts memory behind addresses that were reserved."""
        self._devices[device].attach(address, array, writable=writable, name="mapped memory")
        self._remember(address, Allocation(
            kind=MAPPED, nbytes=array.nbytes, device=device, context=0
        ))  # fmt: skip

    def detach(self, address: int, device: int) -> None:
        """Takes it away again."""
        del self.allocations[address]
        self._devices[device].free(address)

    def let_see(self, device: int, others: Iterable[int]) -> None:
        """A device's kernels reach the memory of these other devices, and no longer of more."""
        shown = (self._devices[other] for other in sorted(set(others) - {device}))
        self._devices[device].peers = (self._host, *shown)

    def find(self, address: int) -> Segment | None:
        """What of a device's memory holds an address: also module variables."""
        for space in self._spaces:
            segment = space.find(address)
            if segment is not None:
                return segment
        return None

    def allocation(self, address: int) -> tuple[int, Allocation] | None:
        """The allocation that holds an address, with its first address."""
        segment = self.find(address)
        if segment is None:
            return None
        found = self.allocations.get(segment.base)
        return None if found is None else (segment.base, found)

    def view(self, address: int, nbytes: int) -> npt.NDArray[np.uint8]:
        """Bytes of either side in place.

        Raises:
            DriverError: the range begins in device memory and does not end there.
        """
        for space in self._spaces:
            if space.owns(address):
                try:
                    return space.view(address, nbytes)
                except MemoryFault as error:
                    raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, error.message) from error
        return host_view(address, nbytes)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copies bytes between any two places."""
        if nbytes:
            self.view(target, nbytes)[:] = self.view(source, nbytes)
            self._set_written(target, nbytes, source)

    def fill(self, target: int, value: int, width: int, count: int) -> None:
        """Sets `count` elements of 1, 2 or 4 bytes."""
        if target % width:
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{target:#x} is not aligned")
        if count:
            self.view(target, count * width).view(f"u{width}")[:] = value
            self._set_written(target, count * width)

    def _set_written(self, target: int, nbytes: int, source: int | None = None) -> None:
        for space in self._spaces:
            if space.owns(target):
                space.set_written(target, nbytes, source=source)

    def copy_nanoseconds(self, target: int, source: int, nbytes: int, gpu: GpuSpec) -> float:
        """The modelled time of a copy: over the link, or twice through the GPU's memory."""
        to, of = self.allocation(target), self.allocation(source)
        on_device = [self.find(place) is not None for place in (target, source)]
        pinned = [one is not None and one[1].kind in (PINNED, REGISTERED) for one in (to, of)]
        if all(on_device) and not any(pinned):
            return 2 * nbytes / gpu.dram_bandwidth_bytes_per_second * 1e9
        memory = "pinned" if all(on_device) else "pageable"
        to_device = on_device[0] and not pinned[0]
        copied = Copied(
            name="copy",
            to_device_bytes=nbytes if to_device else 0,
            to_host_bytes=0 if to_device else nbytes,
        )
        modelled = transfers(gpu, (copied,), memory)
        return float(modelled.host_to_device) + float(modelled.device_to_host)
