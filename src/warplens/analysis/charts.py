"""What the plots of a report need: occupancy curves, roofs, and operations of a launch."""

from __future__ import annotations

from collections.abc import Iterable

from warplens.errors import WarplensError
from warplens.isa.matrix_kinds import RATES
from warplens.metrics.counters import Counters
from warplens.metrics.registry import evaluate
from warplens.metrics.rooflines import PRECISIONS, operations, peak_traffic, tensor_work
from warplens.metrics.warp_state import STALL_REASONS
from warplens.models.roofs import roofline
from warplens.occupancy_calculator.curve import Curve, curve
from warplens.result import Charts, OccupancyCurve, OccupancyStep, Roof

_INTEGERS = "smsp__sass_thread_inst_executed_op_integer_pred_on.sum"
LEVELS = ("l1", "l2", "dram")
_L1 = "l1tex__t_{}_pipe_lsu_mem_{}_op_{}.sum"
VALUES = (
    "gpu__time_duration.sum",
    *(
        _L1.format(what, space, op)
        for what in ("requests", "bytes")
        for space, op in (
            ("global", "ld"), ("global", "st"), ("global", "atom"), ("global", "red"),
            ("local", "ld"), ("local", "st"),
        )
    ),
    "l1tex__t_bytes.sum",
    "l1tex__t_sector_hit_rate.pct",
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "l1tex__lsu_writeback_active_mem_lg.sum",
    "l1tex__lsu_writeback_active_mem_lgds.sum",
    "lts__lts2xbar_cycles_active.sum",
    "lts__t_sectors.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "lts__t_sectors_op_atom.sum",
    "lts__t_sectors_op_red.sum",
    "lts__t_sector_hit_rate.pct",
    "dram__bytes.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    "sm__maximum_warps_per_active_cycle_pct",
    *(f"pmsampling:smsp__warps_issue_stalled_{reason}.avg" for reason in STALL_REASONS),
)  # fmt: skip


def charts_of(counters: Counters, *, clock_mhz: float, known: Iterable[str] = ()) -> Charts:
    """The plots' data of one launch; `known` sampled metrics are in the result already."""
    done = {name: operations(counters, name) for name in PRECISIONS}
    done |= {kind: tensor_work(counters, kind) for kind in RATES}
    done["int32"] = float(evaluate(_INTEGERS, counters))
    shown = {name: int(number) for name, number in done.items() if number}
    sampled = {name for name in known if name.startswith("pmsampling:")}
    return Charts(
        curves=_curves(counters),
        roofs=_roofs(counters, shown, clock_mhz),
        operations=shown,
        values={name: evaluate(name, counters) for name in VALUES if name not in sampled},
    )


def _curves(counters: Counters) -> tuple[OccupancyCurve, ...]:
    execution, gpu = counters.execution, counters.gpu
    kernel = execution.kernel
    x, y, z = execution.block
    point = {
        "threads": x * y * z,
        "registers": max(1, kernel.registers),
        "static_shared": kernel.static_shared,
        "dynamic_shared": execution.dynamic_shared,
    }
    found = []
    for axis in ("registers", "block", "shared"):
        try:
            found.append(_plain(curve(gpu, axis, **point), gpu.max_warps_per_sm))
        except WarplensError:
            continue  # a resource for which this launch has no curve
    return tuple(found)


def _plain(found: Curve, max_warps: int) -> OccupancyCurve:
    return OccupancyCurve(
        axis=found.axis,
        label=found.label,
        present=found.present,
        max_warps=max_warps,
        steps=tuple(
            OccupancyStep(first=r.first, last=r.last, warps=r.warps, limiters=tuple(r.limiters))
            for r in found.ranges
        ),
    )


def _roofs(counters: Counters, executed: dict[str, int], clock_mhz: float) -> tuple[Roof, ...]:
    roofs = []
    for precision in executed or {"fp32": 0}:
        key = RATES.get(precision, precision)
        try:
            peak = roofline(counters.gpu, key, "dram", clock_mhz).peak
        except (WarplensError, KeyError, TypeError, ZeroDivisionError):
            continue
        if peak:
            roofs.append(Roof(name=precision, rate=peak, kind="compute"))
    for level in LEVELS:
        sustained = peak_traffic(counters, level.upper())
        try:
            rate = sustained or roofline(counters.gpu, "fp32", level, clock_mhz).bandwidth
        except (WarplensError, KeyError, TypeError):
            continue
        if rate:
            roofs.append(Roof(name=level, rate=rate, kind="memory"))
    return tuple(roofs)
