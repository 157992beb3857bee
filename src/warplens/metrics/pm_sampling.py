"""PM sampling: counters over the launch's time, and warp states over it."""

from __future__ import annotations

from warplens.metrics.counters import Counters
from warplens.metrics.registry import Instances, Row, SectionSpec, metric, rows, section
from warplens.metrics.warp_state import STALL_REASONS

PREFIX = "pmsampling:"
_ACTIVE, _ELAPSED = "avg.pct_of_peak_sustained_active", "avg.pct_of_peak_sustained_elapsed"

# label, metric, unit; the order of the timeline
SAMPLED = (
    ("Average Active Warps Per Cycle", "tpc__warps_active_realtime.avg.per_cycle_active", "warp"),
    ("Total Active Warps Per Cycle", "tpc__warps_active_realtime.sum.per_cycle_active", "warp"),
    ("SM Active Cycles", "sm__cycles_active.avg", "cycle"),
    ("Executed Ipc Active", "sm__inst_executed_realtime.avg.per_cycle_active", "inst/cycle"),
    ("Executed Instructions", "sm__inst_executed_realtime.sum", "inst"),
    ("Blocks Launched", "sm__ctas_launched.sum", "block"),
    ("ALU Pipe Throughput", f"sm__inst_executed_pipe_alu_realtime.{_ACTIVE}", "%"),
    ("FMA Pipe Throughput", f"sm__inst_executed_pipe_fma_realtime.{_ACTIVE}", "%"),
    ("FP64 Pipe Throughput", f"sm__pipe_fp64_cycles_active_realtime.{_ACTIVE}", "%"),
    ("XU Pipe Throughput", f"sm__inst_executed_pipe_xu_realtime.{_ACTIVE}", "%"),
    ("Uniform Pipe Throughput", f"sm__inst_executed_pipe_uniform_realtime.{_ACTIVE}", "%"),
    ("Tensor Pipe Throughput", f"sm__pipe_tensor_cycles_active_realtime.{_ACTIVE}", "%"),
    ("LSU Pipe Throughput", f"sm__inst_executed_pipe_lsu.{_ACTIVE}", "%"),
    ("L1 Throughput", f"l1tex__throughput.{_ACTIVE}", "%"),
    ("L1 Wavefronts (Data)", "l1tex__data_pipe_lsu_wavefronts.sum", "wavefront"),
    ("L1 Hit Rate", "l1tex__t_sector_hit_rate.pct", "%"),
    ("L2 Throughput", f"lts__throughput.{_ELAPSED}", "%"),
    ("L2 Hit Rate", "lts__average_t_sector_hit_rate_realtime.pct", "%"),
    ("L2 Sectors", "lts__t_sectors.sum", "sector"),
    ("DRAM Read Throughput", f"dram__read_throughput.{_ELAPSED}", "%"),
    ("DRAM Write Throughput", f"dram__write_throughput.{_ELAPSED}", "%"),
)
_STATE = PREFIX + "smsp__warps_issue_stalled_{}.avg"


def _samples_of(name: str) -> Instances:
    def samples(counters: Counters) -> tuple[tuple[str, float], ...]:
        assert counters.timing is not None
        return counters.timing.samples(name)

    return samples


def _sampled(name: str, unit: str, doc: str) -> None:
    metric(name, unit=unit, basis="model", formula=None, doc=doc, instances=_samples_of(name))


def _setting(name: str, unit: str, doc: str) -> None:
    metric(name, unit=unit, basis="model", formula=None, doc=doc)


for _label, _name, _unit in SAMPLED:
    _sampled(PREFIX + _name, _unit, f"{_label} over the launch's time; one value per sample.")
for _reason, _what in STALL_REASONS.items():
    _sampled(_STATE.format(_reason), "warp",
             f"Warps of a scheduler stalled on {_what}, per sample.")  # fmt: skip
_setting("profiler__pmsampler_interval_time", "ns", "Sampling interval.")
_setting("profiler__pmsampler_interval_cycles", "cycle", "Sampling interval in SM cycles.")
_setting("profiler__pmsampler_pass_groups", "", "Pass groups: groups of counters that are sampled "
    "one after another.")
_setting("profiler__pmsampler_buffer_size_bytes", "byte", "Size of the sample buffer per pass.")
_setting("profiler__pmsampler_dropped_samples", "sample", "Samples dropped because the buffer was "
    "full.")

_HEADER = (
    Row(label="Maximum Sampling Interval", name="profiler__pmsampler_interval_cycles",
        until=(8, 0)),
    Row(label="Maximum Sampling Interval", name="profiler__pmsampler_interval_time",
        since=(8, 6)),
    *rows(("Maximum Buffer Size", "profiler__pmsampler_buffer_size_bytes"),
          ("Dropped Samples", "profiler__pmsampler_dropped_samples")),
)  # fmt: skip
section(
    SectionSpec(
        identifier="PmSampling",
        title="PM Sampling",
        order=15,
        sets=frozenset({"full", "pmsampling"}),
        rows=(*_HEADER, *rows(("# Pass Groups", "profiler__pmsampler_pass_groups"))),
        extra=rows(*((label, PREFIX + name) for label, name, _ in SAMPLED)),
    )
)
section(
    SectionSpec(
        identifier="PmSampling_WarpStates",
        title="PM Sampling: Warp States",
        order=16,
        sets=frozenset({"pmsampling"}),
        rows=_HEADER,
        extra=tuple(
            Row(
                label=("Selected" if reason == "selected"
                       else "Stall " + reason.replace("_", " ").title()),
                name=_STATE.format(reason),
                until=(9, 0) if reason == "imc_miss" else (99, 9),
                since=(9, 0) if reason == "gmma" else (0, 0),
            )
            for reason in STALL_REASONS
        ),
    )
)  # fmt: skip
