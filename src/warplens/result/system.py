"""What a whole program did over time: calls of CUDA's API, and what GPUs did for them."""

from __future__ import annotations

from dataclasses import dataclass

KERNEL, COPY, FILL = "kernel", "memcpy", "memset"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    """A call; the time a host waits in it is modelled, the time between calls is measured."""

    name: str
    process: int
    thread: int
    start_ns: float
    duration_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceWork:
    """A kernel, a copy or memory being filled; times are modelled.

    Attributes:
        name: the kernel's signature, or the operation as in "[CUDA memcpy Host-to-Device]".
        memory: of a copy: what the host's memory was, "pinned" or "pageable".
    """

    kind: str
    name: str
    process: int
    device: int
    stream: int
    start_ns: float
    duration_ns: float
    nbytes: int = 0
    memory: str = ""
    grid: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NvtxRange:
    """A range that a program has marked by NVTX, in the host's time.

    Attributes:
        domain: empty for the default one.
        style: "PushPop" or "StartEnd".
    """

    domain: str
    name: str
    style: str
    process: int
    thread: int
    start_ns: float
    duration_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTimeline:
    """Calls and work in the order in which they began to be served."""

    gpus: tuple[str, ...]
    link: str
    calls: tuple[ApiCall, ...]
    work: tuple[DeviceWork, ...]
    ranges: tuple[NvtxRange, ...] = ()
