"""What a process sees of a driver: GPUs, contexts, handles, and the last error."""

from __future__ import annotations

import _thread
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from warplens.driver.arena import Region
from warplens.driver.cells import host_memory
from warplens.driver.memory import DEVICE, Memory
from warplens.driver.status import DriverError, Status, described, status_of
from warplens.driver.timeline import Moment, NodeKind, Stream, Work
from warplens.errors import ExecutionFault, InputError, WarplensError
from warplens.execute.memory import DeviceMemory
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec

if TYPE_CHECKING:
    from warplens.session.device import Device
    from warplens.session.launch import Launch

KEPT_LAUNCHES = 1000
DEFAULT_STREAMS = (0, 1, 2)  # null, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
_FIRST_HANDLE = 0x5741_0000_1000
# Errors after which a context is of no use, as on hardware.
_STICKY = frozenset({
    Status.CUDA_ERROR_ILLEGAL_ADDRESS, Status.CUDA_ERROR_MISALIGNED_ADDRESS,
    Status.CUDA_ERROR_ASSERT, Status.CUDA_ERROR_LAUNCH_FAILED, Status.CUDA_ERROR_LAUNCH_TIMEOUT,
})  # fmt: skip
Kind = TypeVar("Kind")


@dataclass(slots=True, eq=False)
class Context:
    """A context: which GPU it is for, its streams, and the fault it has met."""

    number: int
    gpu: SimulatedGpu
    flags: int = 0
    references: int = 0
    fault: DriverError | None = None
    is_destroyed: bool = False
    limits: dict[int, int] = field(default_factory=dict)
    default: dict[int, Stream] = field(default_factory=dict)
    streams: list[Stream] = field(default_factory=list)
    peers: set[int] = field(default_factory=set)  # GPUs whose memory its kernels may access


@dataclass(slots=True, eq=False)
class Pool:
    """A memory pool; memory that is freed is given back at once."""

    gpu: SimulatedGpu
    kind: str = DEVICE  # of memory
    attributes: dict[int, int] = field(default_factory=dict)
    used: int = 0
    most_used: int = 0
    access: dict[int, int] = field(default_factory=dict)  # of other GPUs, flags by device


@dataclass(frozen=True, slots=True)
class ObjectBytes:
    """What a texture object, or without a view a surface object, was made of."""

    resource: bytes
    view: bytes | None = None


class SimulatedGpu:
    """One GPU of the process."""

    def __init__(
        self, index: int, name: str | GpuSpec, clock: str | float, region: Region
    ) -> None:
        self.index = index
        self.region = region
        self.memory = DeviceMemory(first=region.first, bytes_at=region.bytes_at)
        self.spec = find_gpu(name)
        self.clock_mhz = self.spec.clock_mhz(clock)
        self.is_timed = False
        self.used_bytes = 0
        self.objects: dict[int, ObjectBytes] = {}  # texture and surface objects
        self.shown: set[int] = set()  # GPUs whose mapped memory this one was given access to

    @cached_property
    def device(self) -> Device:
        """What modules are loaded into; what runs them is imported when it is first needed."""
        from warplens.session.device import Device
        from warplens.session.options import LaunchOptions

        options = LaunchOptions(timing=self.is_timed)
        return Device(self.spec, clock=self.clock_mhz, options=options, memory=self.memory)

    def keep_times(self) -> None:
        """From now on launches keep what times are modelled from."""
        self.is_timed = True
        if "device" in vars(self):
            self.device.options = replace(self.device.options, timing=True)

    @property
    def name(self) -> str:
        """What programs are told; a simulated GPU never passes for a real one."""
        return f"NVIDIA {self.spec.name} (warplens)"


class Driver:
    """The driver of one process.

    Args:
        gpus: names of the GPUs, device 0 first.
        clock: "base", "boost" or a number of MHz.
        timed: keep traces of every launch, so that times can be modelled; else only once a
            program has made an event that can tell time.
        prints: write what kernels print to standard output.
        region: gives each GPU the addresses of its memory.
    """

    def __init__(
        self,
        gpus: Sequence[str | GpuSpec] = ("H200",),
        *,
        clock: str | float = "base",
        timed: bool = False,
        prints: bool = True,
        region: Callable[[], Region] = Region,
    ) -> None:
        if not gpus:
            raise InputError("a driver needs at least one GPU")
        host = region()  # the lowest addresses: kernels' own allocations come last
        self.gpus = tuple(
            SimulatedGpu(index, name, clock, region()) for index, name in enumerate(gpus)
        )
        self.memory = Memory(
            tuple(gpu.memory for gpu in self.gpus),
            DeviceMemory(first=host.first, bytes_at=host.bytes_at),
        )
        for gpu in self.gpus:
            gpu.memory.elsewhere = host_memory
        self.lock = threading.RLock()
        self.launches: deque[Launch] = deque(maxlen=KEPT_LAUNCHES)
        self.last_error: WarplensError | None = None
        self.prints = prints
        self.is_profiled: bool | None = None  # what the program said last, if it did
        self.graph_memory: set[int] = set()  # what graphs have allocated and nobody freed yet
        self.reservations: dict[int, Any] = {}  # see virtual.py
        self._objects: dict[int, Any] = {}
        self._next_handle = _FIRST_HANDLE
        self._threads = threading.local()
        self._primary: dict[int, Context] = {}
        self._default_pools: dict[tuple[int, str], int] = {}
        self._pools: dict[tuple[int, str], int] = {}
        self.samples = False  # launches are predicted from sampled blocks, and write nothing
        self._timed = False
        if timed:
            self.keep_times()

    # --- handles ---------------------------------------------------------------------------------

    def handle(self, thing: object) -> int:
        """A new handle for a thing."""
        number = self._next_handle
        self._next_handle += 16
        self._objects[number] = thing
        return number

    def thing(self, handle: int, kind: type[Kind]) -> Kind:
        """The thing of a handle.

        Raises:
            DriverError: there is none of that kind (any more).
        """
        found = self._objects.get(handle)
        if not isinstance(found, kind):
            raise DriverError(
                Status.CUDA_ERROR_INVALID_HANDLE, f"{handle:#x} is no {kind.__name__.lower()}"
            )
        return found

    def handle_of(self, thing: object) -> int:
        """The handle that a thing has, or a new one."""
        found = (number for number, known in self._objects.items() if known is thing)
        return next(found, 0) or self.handle(thing)

    def forget(self, handle: int, kind: type[Kind]) -> Kind:
        """Ends a handle; gives its thing."""
        found = self.thing(handle, kind)
        del self._objects[handle]
        return found

    # --- GPUs and contexts -----------------------------------------------------------------------

    def gpu(self, index: int) -> SimulatedGpu:
        """The GPU of a device ordinal."""
        if not 0 <= index < len(self.gpus):
            raise DriverError(Status.CUDA_ERROR_INVALID_DEVICE, f"there is no device {index}")
        return self.gpus[index]

    @property
    def stack(self) -> list[Context]:
        """The calling thread's contexts, the current one last."""
        if not hasattr(self._threads, "stack"):
            self._threads.stack = []
        found: list[Context] = self._threads.stack
        return found

    def new_context(self, gpu: SimulatedGpu, flags: int) -> Context:
        """A context with a handle of its own."""
        context = Context(0, gpu, flags)
        context.number = self.handle(context)
        for number in DEFAULT_STREAMS:
            context.default[number] = Stream(number=number, context=context.number)
        return context

    def show(self, gpu: SimulatedGpu, other: SimulatedGpu) -> None:
        """Lets kernels of one GPU reach another's memory, in whatever context."""
        if gpu is not other:
            gpu.shown.add(other.index)
            self.memory.let_see(gpu.index, self.primary(gpu).peers | gpu.shown)

    def primary(self, gpu: SimulatedGpu) -> Context:
        """A GPU's primary context."""
        if gpu.index not in self._primary:
            self._primary[gpu.index] = self.new_context(gpu, 0)
        return self._primary[gpu.index]

    def context(self) -> Context:
        """The current context, fit for work.

        Raises:
            DriverError: there is none, it was destroyed, or a kernel's fault ended it.
        """
        stack = self.stack
        if not stack:
            raise DriverError(Status.CUDA_ERROR_INVALID_CONTEXT, "no context is current")
        context = stack[-1]
        if context.is_destroyed:
            raise DriverError(Status.CUDA_ERROR_CONTEXT_IS_DESTROYED)
        if context.fault is not None:
            raise context.fault
        return context

    def look_for_fault(self) -> None:
        """What calls do that need no context: a current one is fit for work.

        Raises:
            DriverError: it is not.
        """
        if self.stack:
            self.context()

    def context_of(self, handle: int) -> Context:
        """The context of a handle; 0 is the current one."""
        if handle:
            return self.thing(handle, Context)
        stack = self.stack
        if not stack:
            raise DriverError(Status.CUDA_ERROR_INVALID_CONTEXT, "no context is current")
        return stack[-1]

    def default_pool(self, gpu: SimulatedGpu, kind: str = DEVICE) -> int:
        """The handle of a GPU's default memory pool."""
        key = gpu.index, kind
        if key not in self._default_pools:
            self._default_pools[key] = self.handle(Pool(gpu, kind=kind))
        return self._default_pools[key]

    def current_pool(self, gpu: SimulatedGpu, kind: str = DEVICE) -> int:
        """The handle of the pool that allocations in stream order come from."""
        return self._pools.get((gpu.index, kind)) or self.default_pool(gpu, kind)

    def set_pool(self, gpu: SimulatedGpu, pool: int) -> None:
        """Chooses that pool."""
        self._pools[gpu.index, self.thing(pool, Pool).kind] = pool

    # --- streams ---------------------------------------------------------------------------------

    def stream(self, handle: int) -> Stream:
        """The stream of a handle; the numbers of the default streams are the current context's."""
        if handle in DEFAULT_STREAMS:
            return self.context().default[handle]
        return self.thing(handle, Stream)

    def submit(
        self, stream: Stream, work: Work, kind: NodeKind = NodeKind.EMPTY, given: object = None
    ) -> None:
        """Does work of a stream now, or notes it while the stream is captured into a graph."""
        if stream.capture is not None:
            stream.capture.note(stream, work, kind, given)
        else:
            self.do(stream, work)

    def do(self, stream: Stream, work: Work) -> None:
        """Does work of a stream, after what its modelled time comes after."""
        duration = work(stream)
        if self._timed and duration is not None:
            stream.now = Moment(self.moments_before(stream), duration)

    def moments_before(self, stream: Stream) -> tuple[Moment, ...]:
        """What work of a stream comes after: its own, and what the default stream orders."""
        context = self.thing(stream.context, Context)
        legacy = (context.default[0], context.default[1])
        if stream in legacy:
            others = [*legacy, *(one for one in context.streams if one.waits_for_default)]
            return tuple(one.now for one in others)
        return (stream.now, *(one.now for one in legacy if stream.waits_for_default))

    def latest(self, stream: Stream) -> Moment:
        """When all is done that later work of a stream comes after."""
        before = tuple(dict.fromkeys(self.moments_before(stream)))
        return before[0] if len(before) == 1 else Moment(before)

    # --- time ------------------------------------------------------------------------------------

    @property
    def is_timed(self) -> bool:
        """Whether launches keep what times are modelled from."""
        return self._timed

    def keep_times(self) -> None:
        """From now on launches keep what times are modelled from."""
        if self._timed:
            return
        self._timed = True
        for gpu in self.gpus:
            gpu.keep_times()

    # --- errors ----------------------------------------------------------------------------------

    def failed(self, entry: str, error: BaseException) -> int:
        """Remembers an error of an entry; gives the code for the caller."""
        status = status_of(error)
        if isinstance(error, KeyboardInterrupt):
            _thread.interrupt_main()  # C code is in between: it comes up when that has returned
        elif isinstance(error, WarplensError) and not isinstance(error, DriverError):
            self.last_error = error
            if isinstance(error, ExecutionFault) and status in _STICKY and self.stack:
                self.stack[-1].fault = DriverError(status, error.message)
            print(f"warplens: {entry}: {error}", file=sys.stderr)
        elif status is Status.CUDA_ERROR_UNKNOWN:
            print(f"warplens: {entry} failed:", file=sys.stderr)
            traceback.print_exception(error)
        return int(status)

    def explained(self, code: int) -> str:
        """A code in words, with what the last kernel's fault was if it is that code."""
        text = described(code)
        if self.last_error is not None and code == status_of(self.last_error) and code >= 700:
            return f"{text}: {self.last_error.message}"
        return text

    def recover(self) -> None:
        """Makes every context usable again after a kernel's fault; memory stays as it is."""
        for thing in self._objects.values():
            if isinstance(thing, Context):
                thing.fault = None
        self.last_error = None
