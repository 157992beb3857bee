"""PM sampling: counters over a launch's time, under ncu's names, from the modelled timeline."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.timing.model import Model
from warplens.timing.stall import REASONS
from warplens.timing.timeline import COLUMNS, Timeline

Floats = npt.NDArray[np.float64]

PREFIX = "pmsampling:"
COUNTER_BYTES = 8
BUFFER_LIMIT = 2 << 20  # bytes that a buffer of automatic size grows to
_FEWEST = 100  # samples at the automatic interval
_IN_CYCLES = (8, 0)  # up to this compute capability an interval is in cycles


@dataclass(frozen=True, slots=True, kw_only=True)
class PmSampling:
    """How counters are sampled over time; 0 leaves a choice to the model.

    Attributes:
        interval: ns, or SM cycles up to compute capability 8.0.
        buffer_bytes: room for samples; what does not fit is dropped.
        max_passes: groups of counters that are collected of each section.
    """

    interval: int = 0
    buffer_bytes: int = 0
    max_passes: int = 0

    def __post_init__(self) -> None:
        for name in ("interval", "buffer_bytes", "max_passes"):
            if getattr(self, name) < 0:
                raise InputError(f"PM sampling: {name} is negative")


class Deltas:
    """What happened in each sample: columns of the mean SM, and how long the samples are."""

    def __init__(self, model: Model, sums: Floats, cycles: Floats) -> None:
        self.gpu = model.question.gpu
        self.clock_mhz = model.question.clock_mhz
        l2_bytes = self.gpu.l2_read_bytes_per_cycle * model.question.l2_lead
        self.l2_sectors_per_cycle = l2_bytes / 32
        self.part = model.estimate.active_sms / self.gpu.sm_count
        self.cycles = cycles
        self._columns: dict[str, Floats] = dict(
            zip(COLUMNS, np.maximum(np.diff(sums, axis=0), 0.0).T, strict=True)
        )
        self._bound_warps(model)

    def _bound_warps(self, model: Model) -> None:
        """Keeps warps within what there is: the launch's warps, and the SMs' places for them.

        The mean SM is mixed from SMs that start and end at other times, and its sums are scaled to
        the launch's; in a short sample both can make more warps than exist. The states of a sample
        add up to its warps.
        """
        question = model.question
        warps = question.blocks * question.warps_per_block / self.gpu.sm_count
        most = min(float(warps), self.part * self.gpu.max_warps_per_sm)
        active = np.minimum(self._columns["warp_cycles"], most * self.cycles)
        self._columns["warp_cycles"] = active
        names = [f"state_{reason}" for reason in REASONS]
        states = sum((self._columns[name] for name in names), np.zeros_like(active))
        factor = _part(active, states)
        for name in names:
            self._columns[name] = self._columns[name] * factor

    def summed(self) -> Deltas:
        """All samples as one."""
        whole = copy(self)
        whole.cycles = np.array([self.cycles.sum()])
        whole._columns = {
            name: np.array([column.sum()]) for name, column in self._columns.items()
        }
        return whole

    def __getitem__(self, column: str) -> Floats:
        return self._columns[column]

    def chip(self, column: str) -> Floats:
        """A column of all SMs together."""
        return self._columns[column] * float(self.gpu.sm_count)

    @property
    def active(self) -> Floats:
        """Cycles in which the mean SM was active."""
        active: Floats = np.minimum(self._columns["cycles"], self.cycles)
        return active


Formula = Callable[[Deltas], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One sampled metric; `group` counts the passes of its section from 0."""

    name: str
    group: int
    formula: Formula


def _part(top: Floats, bottom: Floats | float) -> Floats:
    found: Floats = np.zeros_like(top)
    np.divide(top, bottom, out=found, where=np.asarray(bottom) > 0)
    return found


def _percent(top: Floats, bottom: Floats | float) -> Floats:
    percent: Floats = np.minimum(100.0, 100.0 * _part(top, bottom))
    return percent


def _pipe(name: str) -> Formula:
    return lambda d: _percent(d[f"pipe_{name}"], d.gpu.sub_partitions * d.active)


def _lsu_pipe(d: Deltas) -> Floats:
    return _percent(d["pipe_lsu"] * max(1.0, 32.0 / d.gpu.lsu_lanes), d.active)


def _l1(d: Deltas) -> Floats:
    parts = (d["data_cycles"], d["shared_passes"], d["tags"], d["l2_read"] / 2, d["l2_write"])
    return _percent(np.maximum.reduce(parts), d.active)


def _l2_sectors(d: Deltas) -> Floats:
    return d.chip("l2_read") + d.chip("l2_write") + d.chip("l2_atomic")


def _l2_hits(d: Deltas) -> Floats:
    return d.chip("l2_read_hit") + d.chip("l2_write") + d.chip("l2_atomic")


def _dram(column: str) -> Formula:
    def share(d: Deltas) -> Floats:
        peak = d.gpu.dram_bandwidth_bytes_per_second / (d.clock_mhz * 1e6)
        return _percent(32.0 * d.chip(column), peak * d.cycles)

    return share


def _state(reason: str) -> Formula:
    return lambda d: d[f"state_{reason}"] / d.gpu.sub_partitions


_ACTIVE, _ELAPSED = "avg.pct_of_peak_sustained_active", "avg.pct_of_peak_sustained_elapsed"
_FIRST, _SECOND = 0, 1
SERIES = tuple(
    Series(name=PREFIX + name, group=group, formula=formula)
    for name, group, formula in (
        ("tpc__warps_active_realtime.avg.per_cycle_active", _FIRST,
         lambda d: 2.0 * _part(d["warp_cycles"], d.active)),
        ("tpc__warps_active_realtime.sum.per_cycle_active", _FIRST,
         lambda d: _part(d.chip("warp_cycles"), d.cycles)),
        ("sm__cycles_active.avg", _FIRST, lambda d: d.active),
        ("sm__inst_executed_realtime.avg.per_cycle_active", _FIRST,
         lambda d: _part(d["issued"], d.active)),
        ("sm__inst_executed_realtime.sum", _FIRST, lambda d: d.chip("issued")),
        ("sm__ctas_launched.sum", _FIRST, lambda d: d.chip("started")),
        (f"sm__inst_executed_pipe_alu_realtime.{_ACTIVE}", _FIRST, _pipe("alu")),
        (f"sm__inst_executed_pipe_fma_realtime.{_ACTIVE}", _FIRST, _pipe("fma")),
        (f"sm__pipe_fp64_cycles_active_realtime.{_ACTIVE}", _FIRST, _pipe("fp64")),
        (f"sm__inst_executed_pipe_xu_realtime.{_ACTIVE}", _FIRST, _pipe("xu")),
        (f"sm__inst_executed_pipe_uniform_realtime.{_ACTIVE}", _FIRST, _pipe("uniform")),
        (f"sm__pipe_tensor_cycles_active_realtime.{_ACTIVE}", _FIRST, _pipe("tensor")),
        (f"sm__inst_executed_pipe_lsu.{_ACTIVE}", _FIRST, _lsu_pipe),
        (f"l1tex__throughput.{_ACTIVE}", _SECOND, _l1),
        ("l1tex__data_pipe_lsu_wavefronts.sum", _SECOND, lambda d: d.chip("data_cycles")),
        ("l1tex__t_sector_hit_rate.pct", _SECOND,
         lambda d: _percent(d["l1_hits"], d["l1_sectors"])),
        (f"lts__throughput.{_ELAPSED}", _SECOND,
         lambda d: _percent(_l2_sectors(d), d.l2_sectors_per_cycle * d.cycles)),
        ("lts__average_t_sector_hit_rate_realtime.pct", _SECOND,
         lambda d: _percent(_l2_hits(d), _l2_sectors(d))),
        ("lts__t_sectors.sum", _SECOND, _l2_sectors),
        (f"dram__read_throughput.{_ELAPSED}", _SECOND, _dram("dram_read")),
        (f"dram__write_throughput.{_ELAPSED}", _SECOND, _dram("dram_write")),
    )
)  # fmt: skip
STATES = tuple(
    Series(name=f"{PREFIX}smsp__warps_issue_stalled_{reason}.avg", group=number // 4,
           formula=_state(reason))
    for number, reason in enumerate(REASONS)
)  # fmt: skip
_BY_NAME = {series.name: series for series in (*SERIES, *STATES)}
_GROUPS = 1 + max(series.group for series in SERIES)


class Sampled:
    """A launch sampled at intervals; everything is computed when first asked."""

    def __init__(self, model: Model, options: PmSampling) -> None:
        self.model = model
        self.options = options

    @cached_property
    def timeline(self) -> Timeline:
        """The launch over its time."""
        return Timeline(self.model)

    @cached_property
    def _is_in_cycles(self) -> bool:
        parts = self.model.question.gpu.compute_capability.split(".")
        return (int(parts[0]), int(parts[1])) <= _IN_CYCLES

    @cached_property
    def interval(self) -> float:
        """Between two samples, in ns or cycles: the one asked for, or 1, 2 or 5 times a power of
        ten that gives 100 samples at least."""
        if self.options.interval:
            return float(self.options.interval)
        whole = self.timeline.cycles / (1.0 if self._is_in_cycles else self._cycles_per_ns)
        steps = [scale * 10**power for power in range(10) for scale in (1, 2, 5)]
        return float(max((step for step in steps if step * _FEWEST <= whole), default=1))

    @property
    def _cycles_per_ns(self) -> float:
        return self.model.question.clock_mhz * 1e-3

    @cached_property
    def _cycles_per_sample(self) -> float:
        return self.interval * (1.0 if self._is_in_cycles else self._cycles_per_ns)

    @cached_property
    def _wanted(self) -> int:
        return max(1, int(np.ceil(self.timeline.cycles / self._cycles_per_sample - 1e-9)))

    @cached_property
    def _kept(self) -> int:
        """Samples for which the buffer has room."""
        room = self.options.buffer_bytes or BUFFER_LIMIT
        return min(self._wanted, max(1, room // self._sample_bytes))

    @property
    def _sample_bytes(self) -> int:
        return COUNTER_BYTES * max(
            sum(series.group == group for series in SERIES) for group in range(_GROUPS)
        )

    @cached_property
    def _ends(self) -> Floats:
        """When the kept samples end, in cycles."""
        ends = self._cycles_per_sample * np.arange(1, self._kept + 1)
        kept: Floats = np.minimum(ends, self.timeline.cycles)
        return kept

    @cached_property
    def _deltas(self) -> tuple[Deltas, Deltas]:
        """Per sample, and the whole launch as one sample."""
        edges = np.concatenate(([0.0], self._ends))
        whole = np.array([0.0, self.timeline.cycles])
        each = Deltas(self.model, self.timeline.sums(edges), np.maximum(np.diff(edges), 1e-9))
        if self._kept == self._wanted:
            return each, each.summed()
        return each, Deltas(self.model, self.timeline.sums(whole), np.diff(whole))

    def value(self, name: str) -> float | None:
        """A sampled metric over the whole launch, or a setting of the sampler."""
        settings: dict[str, Callable[[], float]] = {
            "profiler__pmsampler_interval_time": lambda: (
                self._cycles_per_sample / self._cycles_per_ns
            ),
            "profiler__pmsampler_interval_cycles": lambda: self._cycles_per_sample,
            "profiler__pmsampler_pass_groups": lambda: min(
                _GROUPS, self.options.max_passes or _GROUPS
            ),
            "profiler__pmsampler_buffer_size_bytes": lambda: (
                self.options.buffer_bytes or self._kept * self._sample_bytes
            ),
            "profiler__pmsampler_dropped_samples": lambda: self._wanted - self._kept,
        }
        if name in settings:
            return _rounded(settings[name]())
        series = self._series(name)
        return None if series is None else _rounded(float(series.formula(self._deltas[1])[0]))

    def samples(self, name: str) -> tuple[tuple[str, float], ...]:
        """(ns since the launch, value) of every sample."""
        series = self._series(name)
        if series is None:
            return ()
        values = series.formula(self._deltas[0]).tolist()
        ends = (self._ends / self._cycles_per_ns).tolist()
        return tuple(
            (f"{end:.0f}" if self.interval >= 10 else f"{end:.1f}", _rounded(value))
            for end, value in zip(ends, values, strict=True)
        )

    def _series(self, name: str) -> Series | None:
        series = _BY_NAME.get(name)
        limit = self.options.max_passes
        return None if series is None or (limit and series.group >= limit) else series


def _rounded(value: float) -> float:
    """Six digits are more than a model knows, and keep files small."""
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() else short
