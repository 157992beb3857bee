"""The modelled time of a launch, what limits it, and how far the model has been wrong elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warplens.isa.matrix_kinds import products

if TYPE_CHECKING:
    from warplens.gpus.spec import GpuSpec
    from warplens.timing.launch_timing import LaunchTiming

_BUSY = 0.6  # of what a unit sustains: from here on it is named as the limit
_OVERHEAD = 0.5  # of the time without a block
_SHORT_US = 8.0
_ATOMIC = 0.1  # of the sectors that L2 is asked for
# Of architectures none of whose launches was compared with recorded ones: about twice the H200's
_UNKNOWN_PERCENT = 52.0
KINDS = ("matrix", "atomic", "uneven", "short", "memory", "other")
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
        error_percent: of ten recorded launches of this kind nine were off by less.
        kind: what the error depends on, the first of KINDS that a launch is: `matrix` instructions
            are in it; a tenth of what L2 is asked for is `atomic`; its blocks are `uneven`; it is
            `short`, below 8 us; DRAM, L2 or L1 (`memory`) is nearest to its peak.
    """

    gpu: str
    nanoseconds: float
    limiter: str
    error_percent: float
    kind: str = "other"

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
    nanoseconds, limiter = float(timing.value("gpu__time_duration.sum") or 0.0), _limiter(timing)
    kind = _kind(timing, nanoseconds, limiter)
    return Prediction(
        gpu=gpu.name, nanoseconds=nanoseconds, limiter=limiter, kind=kind,
        error_percent=error_percent(gpu, kind),
    )  # fmt: skip


def error_percent(gpu: GpuSpec, kind: str) -> float:
    """The error band of a kind of launch on a GPU."""
    return float(gpu.value(f"validation.{kind}_p90_percent", _UNKNOWN_PERCENT))


def _kind(timing: LaunchTiming, nanoseconds: float, limiter: str) -> str:
    works, sm = timing.sample.works, timing.model.result.sm
    asked = float(sm["l2_read"] + sm["l2_write"] + sm["l2_atomic"])
    if products(timing.question.kernel):
        return "matrix"
    if float(sm["l2_atomic"]) > _ATOMIC * asked:
        return "atomic"
    if works is not None and works.differ:
        return "uneven"
    if nanoseconds < 1e3 * _SHORT_US:
        return "short"
    return "memory" if limiter.startswith(("DRAM", "L2", "L1")) else "other"


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
