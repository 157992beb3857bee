"""A process of the program as the engine sees it: its GPUs, its registered code, its threads."""

from __future__ import annotations

import itertools
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warplens.driver.entries import served
from warplens.driver.images import code_at
from warplens.driver.machine import Context, SimulatedGpu
from warplens.driver.memory import DEVICE, MANAGED, PINNED
from warplens.driver.modules import Function, LoadedModule, function_of, load, variable_of
from warplens.driver.status import DriverError, Status
from warplens.driver.timeline import Event, Moment
from warplens.errors import ExecutionFault
from warplens.gpus.spec import GpuSpec
from warplens.programs.ranges import Active, Ranges
from warplens.programs.shared import SharedMemory, SharedRegion
from warplens.programs.timeline import Recorder, RecordingDriver, call_nanoseconds
from warplens.programs.wire import Peer
from warplens.session.listeners import is_checking

if TYPE_CHECKING:
    from warplens.session.launch import Launch

_WAITING_FOR_ALL = frozenset({
    "cudaDeviceSynchronize", "cudaFree", "cudaFreeHost", "cudaDeviceReset",
})  # fmt: skip
INVALID_DEVICE_FUNCTION, INVALID_SYMBOL = 98, 13
_FATBIN, _FUNCTION, _VARIABLE, _MANAGED = 1, 2, 3, 4


class RuntimeFault(DriverError):
    """A refusal with a code that only the runtime has."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(Status.CUDA_ERROR_UNKNOWN, message or f"error {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Symbol:
    """A kernel or variable by the address that the program's own code knows it by."""

    kind: int
    image: int
    name: str
    size: int = 0


@dataclass(slots=True, eq=False)
class Settings:
    """What the programs of an engine run on, and who is told of launches."""

    gpus: tuple[str | GpuSpec, ...] = ("H200",)
    clock: str | float = "base"
    timed: bool = False
    on_launch: Callable[[Launch, int, Active], None] | None = None
    recorder: Recorder | None = None
    has_ranges: bool = False  # the program's NVTX ranges are wanted
    from_start: bool = True  # launches are told of before the program starts or stops profiling
    obeys_program: bool = True  # it may start and stop
    keeps_caches: bool = False  # launches are told of as they are in the timeline


@dataclass(slots=True, eq=False)
class Images:
    """Fat binaries by number, and where they are loaded."""

    wrappers: dict[int, int] = field(default_factory=dict)
    loaded: dict[tuple[int, int], LoadedModule] = field(default_factory=dict)


class Program:
    """One process."""

    def __init__(self, settings: Settings, process: int) -> None:
        self.process = process
        self.nonce = self.n_threads = 0
        self.settings = settings
        regions: list[SharedRegion] = []

        def region() -> SharedRegion:
            regions.append(SharedRegion())
            return regions[-1]

        self.driver = RecordingDriver(settings.gpus, clock=settings.clock, timed=settings.timed,
                             prints=False, region=region)  # fmt: skip
        self.recorder = settings.recorder
        self.ranges = Ranges(None if settings.recorder is None else settings.recorder.ranges)
        self.driver.launches = deque()
        self.regions = tuple(regions)
        for gpu in self.driver.gpus:
            gpu.memory.maps_pages = not is_checking()
        self.memory = SharedMemory(self.driver, self.regions)
        self.driver.memory = self.memory
        if settings.recorder is not None:
            self.driver.record(settings.recorder, process, self.memory.noted)
            self.driver.keeps_caches = settings.keeps_caches
        self.symbols: dict[int, Symbol] = {}
        self.libraries: dict[int, object] = {}  # what host libraries' handles stand for
        self._numbers = itertools.count(1)
        self._images = Images()
        self._functions: dict[tuple[int, int], Function] = {}
        self._output: list[str] = []
        self._told: set[str] = set()
        self._threads = threading.local()
        self.faults: dict[int, ExecutionFault] = {}  # by context: told at the next wait

    @property
    def peer(self) -> Peer:
        """The thread of the program that is served."""
        peer: Peer = self._threads.peer
        return peer

    def served_by(self, peer: Peer) -> None:
        """Says which thread of the program this thread of the engine serves."""
        self._threads.peer = peer

    def file_of(self, address: int) -> int:
        """Which GPU's file is behind an address."""
        return self.memory.region_of(address)

    # --- devices ---------------------------------------------------------------------------------

    def gpu(self) -> SimulatedGpu:
        """The calling thread's GPU; its primary context is current from now on."""
        return self.context().gpu

    def context(self) -> Context:
        """The calling thread's context, device 0's primary one if none was chosen."""
        if not self.driver.stack:
            self.choose(0)
        return self.driver.stack[-1]

    def choose(self, device: int) -> None:
        """cudaSetDevice."""
        primary = self.driver.primary(self.driver.gpu(device))
        if self.recorder is not None and not primary.references:
            self.recorder.spend(float(primary.gpu.spec.value("host.context_ns")))
        primary.references = max(primary.references, 1)
        self.driver.stack[-1:] = [primary]

    def reset(self) -> None:
        """cudaDeviceReset: what the calling thread's GPU holds is gone."""
        context = self.context()
        for address, one in list(self.memory.allocations.items()):
            is_ours = one.device == context.gpu.index and one.context == context.number
            if is_ours and one.kind in (DEVICE, PINNED, MANAGED):
                self.memory.free(address, one.kind)
        context.gpu.used_bytes = 0
        context.fault = None
        context.streams.clear()
        for key in [key for key in self._images.loaded if key[1] == context.gpu.index]:
            del self._images.loaded[key]
        for key in [key for key in self._functions if key[1] == context.gpu.index]:
            del self._functions[key]
        self.driver.stack.pop()

    def enable_peer(self, peer: int) -> None:
        """Lets the calling thread's GPU reach another's memory, if the driver serves that."""
        self._peer_call("cuCtxEnablePeerAccess", peer, 0)

    def disable_peer(self, peer: int) -> None:
        """Ends that."""
        self._peer_call("cuCtxDisablePeerAccess", peer)

    def _peer_call(self, name: str, peer: int, *more: int) -> None:
        other = self.driver.primary(self.driver.gpu(peer))
        self.context()
        found = served().get(name)
        if found is None:
            raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, name)
        found.function(self.driver, other.number, *more)

    # --- what host libraries keep ----------------------------------------------------------------

    def keep(self, thing: object) -> int:
        """A handle for a library's thing: looks like a pointer, and leads nowhere."""
        number = 0x7000_0000_0000_0000 + 16 * next(self._numbers)
        self.libraries[number] = thing
        return number

    def next_plan(self) -> int:
        """A small number, as cuFFT's plans have."""
        return next(self._numbers)

    # --- code ------------------------------------------------------------------------------------

    def register(self, blob: bytes) -> None:
        """Takes what the program's static initialisers have registered since the last time."""
        at = 0
        while at < len(blob):
            n_words, room = struct.unpack_from("<QQ", blob, at)
            kind, image, host, *more = struct.unpack_from(f"<{n_words}Q", blob, at + 16)
            start = at + 16 + 8 * n_words
            name = blob[start : start + room].split(b"\0", 1)[0].decode()
            self.register_one(kind, image, host, name, *more)
            at = start + room

    def register_one(self, kind: int, image: int, host: int, name: str, *more: int) -> None:
        """Takes a fat binary, a kernel or a variable."""
        if kind == _FATBIN:
            self._images.wrappers[image] = host
        else:
            self.symbols[host] = Symbol(kind, image, name, *more)

    def image(self, number: int, gpu: SimulatedGpu) -> LoadedModule:
        """A fat binary, loaded on a GPU when it is first needed there."""
        found = self._images.loaded.get((number, gpu.index))
        if found is None:
            code = code_at(self._images.wrappers[number], gpu.spec.sm)
            found = self.driver.thing(load(self.driver, gpu, code), LoadedModule)
            self._images.loaded[number, gpu.index] = found
            self._place_managed(number, found)
        return found

    @property
    def has_code(self) -> bool:
        """Whether a kernel was asked for, so that all that runs kernels is there."""
        return bool(self._functions)

    def load_managed(self, number: int) -> None:
        """Gives managed variables of a fat binary their place before the host uses them."""
        self.image(number, self.gpu())

    def _place_managed(self, number: int, module: LoadedModule) -> None:
        for host, symbol in self.symbols.items():
            if symbol.kind == _MANAGED and symbol.image == number:
                address, size = variable_of(module, symbol.name)
                self.memory.show(address, max(size, 1))
                self.peer.write(host, struct.pack("<Q", address))

    def function(self, host: int) -> Function:
        """The kernel behind an address, on the calling thread's GPU."""
        gpu = self.gpu()
        found = self._functions.get((host, gpu.index))
        if found is not None:
            return found
        symbol = self.symbols.get(host)
        if symbol is None or symbol.kind != _FUNCTION:
            try:
                return self.driver.thing(host, Function)  # of a library that was loaded
            except DriverError:
                raise RuntimeFault(INVALID_DEVICE_FUNCTION, f"{host:#x} is no kernel") from None
        module = self.image(symbol.image, gpu)
        number = function_of(self.driver, module, symbol.name)
        found = self._functions[host, gpu.index] = self.driver.thing(number, Function)
        return found

    def variable(self, host: int) -> tuple[int, int]:
        """Device address and size of the variable that the host knows by an address."""
        symbol = self.symbols.get(host)
        if symbol is None or symbol.kind == _FUNCTION:
            raise RuntimeFault(INVALID_SYMBOL, f"{host:#x} is no variable of a device")
        return variable_of(self.image(symbol.image, self.gpu()), symbol.name)

    # --- time ------------------------------------------------------------------------------------

    def entered(self, host_ns: int) -> None:
        """A call begins."""
        if self.recorder is not None:
            self.recorder.enter(host_ns)

    def left(self, name: str, arguments: tuple[int, ...], *, is_listed: bool = True) -> None:
        """A call ends: how long the host was in it is modelled."""
        recorder, stack = self.recorder, self.driver.stack
        if recorder is None or name.startswith("__"):
            return
        if stack:
            for moment in self._waited_for(name, arguments, stack[-1]):
                recorder.wait_until(moment.nanoseconds())
            recorder.spend(call_nanoseconds(name, stack[-1].gpu.spec))
        recorder.leave(name, self.process, threading.get_native_id(), is_listed=is_listed)

    def _waited_for(
        self, name: str, arguments: tuple[int, ...], context: Context
    ) -> tuple[Moment, ...]:
        streams = [*context.default.values(), *context.streams]
        if name == "cudaStreamSynchronize":
            return (self.driver.stream(arguments[0]).now,)
        if name == "cudaEventSynchronize":
            event = self.driver.thing(arguments[0], Event)
            return () if event.moment is None else (event.moment,)
        if name in _WAITING_FOR_ALL:
            return tuple(stream.now for stream in streams)
        if name.startswith("cudaMemcpy") and not name.endswith("Async"):
            return (context.default[0].now,)
        return ()

    def wait_for_stream(self, number: int) -> None:
        """The host waits until a stream is done."""
        if self.recorder is not None:
            self.recorder.wait_until(self.driver.stream(number).now.nanoseconds())
        self.print()

    # --- what becomes visible later --------------------------------------------------------------

    def took(self) -> None:
        """After a call: tells of its launches and keeps what they printed."""
        launches = self.driver.launches
        while launches:
            launch = launches.popleft()
            if launch.output:
                self._output.append(launch.output)
            for text in launch.execution.strays:
                self._tell_stray(text)
            if self.settings.on_launch is not None and self._is_profiled():
                self.settings.on_launch(launch, self.process, self.ranges.active())

    def _is_profiled(self) -> bool:
        """Whether launches are wanted now."""
        said = self.driver.is_profiled if self.settings.obeys_program else None
        return self.settings.from_start if said is None else said

    def defer(self, fault: ExecutionFault) -> None:
        """Keeps a kernel's fault for the next call that waits for the kernel."""
        if self.driver.stack:
            self.faults.setdefault(self.driver.stack[-1].number, fault)

    def has_fault(self) -> bool:
        """Whether a kernel of the current context failed, and nobody was told yet."""
        return bool(self.driver.stack) and self.driver.stack[-1].number in self.faults

    def wait(self) -> None:
        """What every call does that waits for a GPU: prints, and tells of faults."""
        self.print()
        if self.has_fault():
            fault = self.faults.pop(self.driver.stack[-1].number)
            self.driver.failed("a kernel", fault)
            context = self.driver.stack[-1]
            if context.fault is not None:
                raise context.fault
            raise fault

    def _tell_stray(self, text: str) -> None:
        place = text.partition("\n")[2].partition(", thread")[0]
        self.tell_once(
            f"out of bounds: {text}\n  note: a GPU maps pages of 2 MB and does not notice, so the "
            "program goes on; `warplens sanitize` makes it a finding",
            place,
        )

    def tell_once(self, text: str, what: str = "") -> None:
        """Says on standard error what the program cannot know, once; `what`: if not in the same
        words."""
        if (what or text) not in self._told:
            self._told.add(what or text)
            print(f"warplens: {text}", file=sys.stderr)

    def print(self) -> None:
        """Shows what kernels have printed, as CUDA does when a program waits."""
        if self._output:
            text = "".join(self._output)
            self._output.clear()
            self.peer.print(text.encode("utf-8", "surrogateescape"))
