"""A launch's timing, made when it is first asked for.

A launch whose time nobody asks for should not pay for it. What is executed and where it goes
depends for many kernels on parameters alone (`lift/decode/dependence.py`): their blocks can be
traced at any time later, over memory that holds nothing. For others what those arrays held that
decide (`lift/decode/deciding.py`) is copied before the launch. Where that is too much, or where a
trace from copies would not be the same, the trace is taken at once.

Launches of one kernel with the same shape, parameters and array sizes share one trace and one
model, if they do not depend on what arrays hold or if that is the same.
"""

from __future__ import annotations

import itertools
import struct
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.execute import buffers
from warplens.execute.executable import ExecutableLaunch, KernelCode
from warplens.execute.memory import Outline, Segment
from warplens.execute.program import ModuleImage
from warplens.lift.decode.deciding import ANYTHING, words_of
from warplens.timing.attach import TimingOptions, take
from warplens.timing.digests import digest
from warplens.timing.launch_timing import LaunchTiming
from warplens.timing.sample import is_disabled

Bytes = npt.NDArray[np.uint8]
KEPT_BYTES = 128 << 20  # arrays up to this size in all are copied for a launch
_WAITING_BYTES = 256 << 20  # copies of all launches whose times were not asked for yet
_SHARED_BYTES = 192 << 20  # traces that are kept for further launches
_CONSTANT_BANK = 3  # the one that programs set
_PIECE = 64  # copies of arrays begin at multiples

_lock = threading.RLock()
_waiting: OrderedDict[int, weakref.ref[Deferred]] = OrderedDict()
_shared: OrderedDict[tuple[Any, ...], LaunchTiming] = OrderedDict()
_numbers: weakref.WeakKeyDictionary[KernelCode, int] = weakref.WeakKeyDictionary()
_count = itertools.count(1)


def defer(
    launch: ExecutableLaunch, options: TimingOptions
) -> Callable[[], LaunchTiming | None]:
    """What gives the timing of a launch that is about to run; None: it cannot be sampled."""
    if is_disabled():
        return lambda: None
    assert launch.variables  # places them in memory
    segments = launch.memory.segments
    is_blind = not launch.code.depends_on_memory
    if not is_blind and not _can_be_copied(launch, segments):
        taken = take(launch, options)
        if taken is not None:
            taken.lie_at(arrays_of(launch.config.params, launch.memory.outline()))
        return lambda: taken
    return Deferred(launch, options, is_blind)


def _can_be_copied(launch: ExecutableLaunch, segments: tuple[Segment, ...]) -> bool:
    """Whether a trace over copies is the same: blocks must neither share memory under two addresses
    nor call what acts on the program's own state (malloc, printf)."""
    if launch.code.calls_functions or sum(s.size for s in segments) > KEPT_BYTES:
        return False
    places = sorted((s.host, s.size) for s in segments if s.size)
    ends = [host + size for host, size in places]
    return all(end <= host for end, (host, _) in zip(ends, places[1:], strict=False))


def _needed(launch: ExecutableLaunch) -> list[bool]:
    """Of each array, whether what is executed and where it goes may depend on what it holds."""
    segments, outline = launch.memory.segments, launch.memory.outline()
    everything = [True] * len(segments)
    found = launch.code.deciding
    if found is None or found.parameters & ANYTHING or outline.memory.peers:
        return everything
    words = launch.config.params[: len(launch.config.params) // 8 * 8]
    places = [outline.place(word) for (word,) in struct.iter_unpack("<Q", words)]

    def arrays(parameters: int) -> set[int]:
        known = (places[n] for n in words_of(parameters) if n < len(places))
        return {place[0] for place in known if place is not None}

    deciding, named = arrays(found.parameters), {place[0] for place in places if place is not None}
    if not all(arrays(address) for address in found.loads | found.stores):
        return everything
    # What the kernel itself puts into such an array may come from others.
    if any(address & ANYTHING or arrays(address) & deciding for address in found.stores):
        return everything
    return [base in deciding or base not in named for base in outline.bases]


def _whole(size: int) -> int:
    """The size of an array and of what stays free behind it."""
    return -(-size // _PIECE) * _PIECE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What the arrays held, one after another in a buffer; `constants`: the bank programs set.

    Each begins as memory's own arrays do, so that what loads and stores whole pieces may.
    """

    buffer: Bytes
    contents: tuple[Bytes | None, ...]
    constants: Bytes

    @classmethod
    def of(cls, segments: Sequence[Segment | None], image: ModuleImage) -> _Kept:
        """A copy of all of it; None: an array whose contents do not matter."""
        buffer = buffers.take(sum(_whole(s.size) for s in segments if s is not None))
        contents: list[Bytes | None] = []
        begin = 0
        for segment in segments:
            if segment is None:
                contents.append(None)
                continue
            place = buffer[begin : begin + segment.size]
            place[:] = segment.buffer
            contents.append(place)
            begin += _whole(segment.size)
        constants = image.banks[_CONSTANT_BANK].copy()
        return cls(buffer=buffer, contents=tuple(contents), constants=constants)


def _digests_of(contents: Iterable[Bytes | None], constants: Bytes) -> list[bytes]:
    """Of what each array holds, empty where that does not matter; the last of the constants."""
    return [b"" if one is None else digest(one) for one in (*contents, constants)]


class Deferred:
    """A launch's timing that has not been asked for; called, it gives it."""

    def __init__(self, launch: ExecutableLaunch, options: TimingOptions, is_blind: bool) -> None:
        """`is_blind`: what memory holds does not matter."""
        image = launch.variables
        needed: list[Segment | None] = []
        if not is_blind:
            pairs = zip(launch.memory.segments, _needed(launch), strict=True)
            needed = [segment if is_needed else None for segment, is_needed in pairs]
        self._memory = launch.memory.outline()
        self._config = replace(launch.config, progress=None)
        self._launch: ExecutableLaunch | None = replace(launch, config=self._config)
        self._options = options
        self._timing: LaunchTiming | None = None
        self._turn = threading.Lock()
        self._digests: list[bytes] | None = [] if is_blind else None
        self._known: LaunchTiming | None = None
        if not is_blind and _is_traced(self._shape()):  # perhaps with the same data: then no copy
            constants = image.banks[_CONSTANT_BANK]
            held = (None if s is None else s.buffer for s in needed)
            self._digests = _digests_of(held, constants)
            self._known = _known(self._key())
        is_kept = not is_blind and self._known is None
        self._kept = _Kept.of(needed, image) if is_kept else None
        if self._kept is not None:
            self._free = weakref.finalize(self, buffers.give_back, self._kept.buffer)
            _wait(self, len(self._kept.buffer))

    @property
    def kept_bytes(self) -> int:
        """Bytes that are kept until the timing is asked for."""
        kept = self._kept
        return 0 if kept is None else len(kept.buffer)

    def __call__(self) -> LaunchTiming | None:
        """The timing; the first call traces the sampled blocks, unless another launch did."""
        with self._turn:
            if self._launch is None:
                return self._timing
            if self._digests is None:
                assert self._kept is not None
                self._digests = _digests_of(self._kept.contents, self._kept.constants)
            key = self._key()
            known = self._known or _known(key)
            found = self._take() if known is None else known.again(self._options.over_time)
            if found is not None:
                found.lie_at(arrays_of(self._config.params, self._memory))
            if known is None and found is not None:
                _share(key, found)
            self._timing, self._launch, self._known = found, None, None
            if self._kept is not None:
                self._kept = None
                self._free()
            return found

    def _take(self) -> LaunchTiming | None:
        launch, kept = self._launch, self._kept
        assert launch is not None
        image = launch.variables
        if kept is not None:
            image = ModuleImage({**image.banks, _CONSTANT_BANK: kept.constants}, image.addresses)
        memory = self._memory.filled(None if kept is None else kept.contents)
        there = replace(launch, memory=memory, image=image)
        return take(there, self._options, is_blind=kept is None)

    def _key(self) -> tuple[Any, ...]:
        assert self._digests is not None
        by_base = dict(zip(self._memory.bases, self._digests, strict=False))
        return (
            self._shape(), _relative(self._config.params, self._memory, by_base),
            *sorted(self._digests),
        )  # fmt: skip

    def _shape(self) -> tuple[Any, ...]:
        """The key without what arrays hold."""
        launch = self._launch
        assert launch is not None
        with _lock:
            number = _numbers.get(launch.code)
            if number is None:
                number = _numbers[launch.code] = next(_count)  # never that of one that is gone
        c, o = self._config, self._options
        return (
            number, c.grid, c.block, c.dynamic_shared, c.max_resident, c.sm_count, id(launch.gpu),
            launch.clock_mhz, o.scheduler, o.exact, o.carveout,
            _relative(c.params, self._memory, {}),
        )  # fmt: skip


def _is_traced(shape: tuple[Any, ...]) -> bool:
    """Whether a launch of this shape is among those that are kept."""
    with _lock:
        return any(key[0] == shape for key in _shared)


def _known(key: tuple[Any, ...]) -> LaunchTiming | None:
    """The timing of an earlier launch with the same key."""
    with _lock:
        known = _shared.get(key)
        if known is not None:
            _shared.move_to_end(key)
        return known


def arrays_of(parameters: bytes, memory: Outline) -> tuple[tuple[int, int], ...]:
    """Base and size of the arrays that parameters lead to, in order of appearance."""
    whole = len(parameters) // 8 * 8
    places = (memory.place(word) for (word,) in struct.iter_unpack("<Q", parameters[:whole]))
    return tuple(dict.fromkeys(place for place in places if place is not None))


def _relative(
    parameters: bytes, memory: Outline, held: dict[int, bytes]
) -> tuple[Any, ...]:
    """Parameters with addresses as places in the arrays they lead to, in order of appearance, with
    what those `held`."""
    order: dict[int, int] = {}
    found: list[Any] = []
    whole = len(parameters) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", parameters[:whole]):
        place = memory.place(word)
        if place is None:
            found.append(word)
            continue
        base, size = place
        found.append((order.setdefault(base, len(order)), word - base, size, held.get(base)))
    return (*found, parameters[whole:])


def _wait(one: Deferred, size: int) -> None:
    """Notes a launch that holds copies; of too many the oldest are traced now."""
    with _lock:
        _waiting[id(one)] = weakref.ref(one)
        alive = [(key, other) for key, ref in _waiting.items() if (other := ref()) is not None]
        kept = {key: other for key, other in alive if other.kept_bytes}
        for key in [key for key in _waiting if key not in kept]:
            del _waiting[key]
    total = sum(other.kept_bytes for other in kept.values())
    for other in list(kept.values())[:-1]:
        if total <= _WAITING_BYTES:
            return
        total -= other.kept_bytes
        other()


def held_bytes(timing: LaunchTiming) -> int:
    """Bytes of arrays that a timing holds: its traces, and what its model has made of them."""
    found, total = {id(timing)}, 0
    todo: list[Any] = [timing.sample, timing.model]
    while todo:
        one = todo.pop()
        if id(one) in found:
            continue
        found.add(id(one))
        if isinstance(one, np.ndarray):
            total += one.nbytes if one.base is None else 0
            todo += [one.base]
        elif isinstance(one, dict):
            todo += one.values()
        elif isinstance(one, (list, tuple)):
            todo += one
        elif type(one).__module__.startswith(("warplens.timing", "warplens.execute")):
            names = getattr(type(one), "__slots__", ())
            todo += [getattr(one, name, None) for name in names]
            todo += vars(one).values() if hasattr(one, "__dict__") else ()
    return total


def _share(key: tuple[Any, ...], timing: LaunchTiming) -> None:
    """Keeps a timing for further launches; those unused for longest go."""
    with _lock:
        _shared[key] = timing
        held = {key: held_bytes(one) for key, one in _shared.items()}
        total = sum(held.values())
        while total > _SHARED_BYTES and len(_shared) > 1:
            oldest, _ = _shared.popitem(last=False)
            total -= held[oldest]
