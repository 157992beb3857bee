"""How long a launch's arrays take between host and device: the link's rate times what copies reach.

A copy takes a fixed latency and its bytes at the slower of two rates: what a pinned copy reaches of
the link, and, for pageable memory, what the host copies into the driver's pinned buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warplens.errors import InputError
from warplens.gpus.spec import GpuSpec
from warplens.result import Value
from warplens.wording import count

MEMORY = ("pageable", "pinned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """One array of a launch: what goes to the device before it and comes back after it."""

    name: str
    to_device_bytes: int
    to_host_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The modelled copies of one array; 0 ns where nothing is copied."""

    name: str
    to_device_bytes: int
    to_host_bytes: int
    host_to_device_ns: float
    device_to_host_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfers:
    """The copies of a launch, one after another.

    Attributes:
        memory: "pageable" or "pinned" host memory.
        link: the link they use, such as "PCIe 4.0 x8".
        call_ns: overhead of each blocking call, as the host sees it.
    """

    memory: str
    link: str
    rows: tuple[Transfer, ...]
    call_ns: float

    @property
    def host_to_device(self) -> Value:
        """The time of all copies to the device, in ns."""
        return Value(sum(row.host_to_device_ns for row in self.rows), "ns", "model")

    @property
    def device_to_host(self) -> Value:
        """The time of all copies to the host, in ns."""
        return Value(sum(row.device_to_host_ns for row in self.rows), "ns", "model")

    @property
    def to_device_bytes(self) -> Value:
        """Bytes copied to the device."""
        return Value(sum(row.to_device_bytes for row in self.rows), "byte", "exact")

    @property
    def to_host_bytes(self) -> Value:
        """Bytes copied to the host."""
        return Value(sum(row.to_host_bytes for row in self.rows), "byte", "exact")

    @property
    def calls(self) -> Value:
        """The time that a host waits in blocking copies, in ns: the copies and their calls."""
        n = sum((row.to_device_bytes > 0) + (row.to_host_bytes > 0) for row in self.rows)
        both = float(self.host_to_device) + float(self.device_to_host)
        return Value(both + n * self.call_ns, "ns", "model")

    def __str__(self) -> str:
        lines = [f"modelled copies over {self.link}, {self.memory} host memory:"]
        lines.append(f"  {'array':<14}{'bytes':>16}{'to device':>14}{'to host':>14}")
        for row in self.rows:
            size = max(row.to_device_bytes, row.to_host_bytes)
            lines.append(
                f"  {row.name:<14}{size:>16,}{_shown(row.host_to_device_ns):>14}"
                f"{_shown(row.device_to_host_ns):>14}"
            )
        return "\n".join(lines)

    def sentence(self) -> str:
        """The totals in one line, for reports."""
        return (
            f"Copies over {self.link} ({self.memory} memory, modelled): "
            f"{count(float(self.to_device_bytes), 'byte')} to the device "
            f"({_shown(float(self.host_to_device))}), {count(float(self.to_host_bytes), 'byte')} "
            f"to the host ({_shown(float(self.device_to_host))})."
        )


def _shown(nanoseconds: float) -> str:
    if nanoseconds == 0:
        return "-"
    if nanoseconds < 1e5:
        return f"{nanoseconds / 1e3:,.1f} us"
    return f"{nanoseconds / 1e6:,.1f} ms"





def link_name(gpu: GpuSpec) -> str:
    """What connects the GPU with its host; empty if they share memory."""
    if gpu.has("board.pcie_generation"):
        return f"PCIe {gpu.value('board.pcie_generation')}.0 x{gpu.value('board.pcie_lanes')}"
    return "NVLink-C2C" if gpu.has("board.link_bytes_per_second") else ""


def transfers(gpu: GpuSpec, copied: Sequence[Copied], memory: str = "pageable") -> Transfers:
    """The modelled times of copies.

    Raises:
        InputError: `memory` is neither "pageable" nor "pinned".
    """
    if memory not in MEMORY:
        raise InputError(f"memory {memory!r} is neither 'pageable' nor 'pinned'")
    link = link_name(gpu)

    def time(size: int, way: str) -> float:
        if not size or not link:
            return 0.0
        return float(gpu.value("host.copy_latency_ns")) + size / _rate(gpu, way, memory) * 1e9

    rows = tuple(
        Transfer(
            name=one.name,
            to_device_bytes=one.to_device_bytes,
            to_host_bytes=one.to_host_bytes,
            host_to_device_ns=time(one.to_device_bytes, "host_to_device"),
            device_to_host_ns=time(one.to_host_bytes, "device_to_host"),
        )
        for one in copied
    )
    return Transfers(
        memory=memory,
        link=link or "memory that host and GPU share",
        rows=rows,
        call_ns=float(gpu.value("host.call_ns")) if link else 0.0,
    )


def staging_ns(gpu: GpuSpec, size: int, *, to_device: bool) -> float:
    """How long a pageable copy's host is busy before the link is, or after it.

    What fits into one of the driver's pinned buffers is copied there before the copy begins (or
    from there after it has ended); longer copies fill one buffer while another is sent.
    """
    if not link_name(gpu):
        return 0.0
    way = "host_to_device" if to_device else "device_to_host"
    staged = min(size, int(gpu.value("host.staged_bytes")))
    slow, fast = (_rate(gpu, way, memory) for memory in MEMORY)
    return staged * (1 / slow - 1 / fast) * 1e9


def _rate(gpu: GpuSpec, way: str, memory: str) -> float:
    """Bytes per second of a large copy."""
    generation = gpu.value("board.pcie_generation") if gpu.has("board.pcie_generation") else None
    table = "c2c" if generation is None else f"pcie{generation}"
    rate = float(gpu.value("board.link_bytes_per_second")) * float(gpu.value(f"{table}.{way}"))
    if memory == "pinned":
        return rate
    return min(rate, float(gpu.value(f"host.pageable_{way}_bytes_per_second")))
