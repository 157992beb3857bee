"""The modelled time of a launch, what limits it, and how far the model has been wrong elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warplens.timing.launch_timing import LaunchTiming

_BUSY = 0.6  # of what a unit sustains: from here on it is named as the limit
_OVERHEAD = 0.5  # of the time without a block
# p90 of |predicted - measured| / measured where no launch of an architecture was kept aside:
# twice that of the H200, whose file gives its own.
_UNKNOWN_PERCENT = 52.0
_UNITS = {
    "dram__": "DRAM bandwidth",
    "gpu__dram": "DRAM bandwidth",
    "lts__": "L2 bandwidth",
    "l1tex__data_bank": "shared memory banks",
    "l1tex__": "L1 throughput",
    "sm__inst_executed_pipe_lsu": "load/store unit",
    "sm__mio": "L1 throughput",
    "sm__inst_executed_pipe_": "pipe",
    "sm__pipe_": "pipe",
    "sm__": "issue slots",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A modelled duration.

    Attributes:
        limiter: the unit nearest to its peak, or what warps wait for where none is near.
        error_percent: nine of ten launches of the validation set were off by less.
    """

    gpu: str
    nanoseconds: float
    limiter: str
    error_percent: float

    @property
    def low(self) -> float:
        """The duration if the model is too slow by the error."""
        return self.nanoseconds / (1 + self.error_percent / 100)

    @property
    def high(self) -> float:
        """The duration if the model is too fast by the error."""
        return self.nanoseconds * (1 + self.error_percent / 100)


def prediction(timing: LaunchTiming) -> Prediction:
    """The prediction of a launch with a timing model."""
    gpu = timing.question.gpu
    key = "validation.duration_p90_percent"
    return Prediction(
        gpu=gpu.name,
        nanoseconds=float(timing.value("gpu__time_duration.sum") or 0.0),
        limiter=_limiter(timing),
        error_percent=float(gpu.value(key, _UNKNOWN_PERCENT)),
    )


def _limiter(timing: LaunchTiming) -> str:
    estimate = timing.model.estimate
    if estimate.overhead_cycles > _OVERHEAD * estimate.elapsed_cycles:
        return "launch overhead"
    throughputs = timing.answers.throughputs
    parts = {**throughputs["gpu__compute_memory_throughput"], **throughputs["sm__throughput"]}
    name, share = max(parts.items(), key=lambda item: item[1])
    if share >= _BUSY:
        return f"{_unit(name)} ({100 * min(1.0, share):.0f} %)"
    waits = {
        reason: cycles for reason, cycles in timing.answers.stalls.items()
        if reason not in ("selected", "not_selected")
    }  # fmt: skip
    reason = max(waits, key=lambda one: waits[one])
    return f"latency: {reason.replace('_', ' ')}"


def _unit(name: str) -> str:
    found = next((unit for prefix, unit in _UNITS.items() if name.startswith(prefix)), name)
    if found != "pipe":
        return found
    pipe = name.partition("pipe_")[2].partition("_")[0]
    return f"{pipe.upper()} pipe"
