"""Rooflines: work against traffic at DRAM, and at every level of the memory hierarchy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from warplens.isa.matrix_kinds import RATES, matrix_work
from warplens.metrics.counters import Counters, Quantity
from warplens.metrics.registry import (
    Formula,
    Row,
    SectionSpec,
    evaluate,
    metric,
    rows,
    section,
)
from warplens.metrics.timed import timed
from warplens.result import Body, Value

LINE_BYTES, SECTOR_BYTES = 128, 32
COLUMNS = ("Level", "Arithmetic Intensity", "Performance", "Attainable Performance",
           "Share of Attainable", "Peak Work", "Achieved Traffic", "Peak Traffic")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """A kind of arithmetic: thread instructions with the operations that each counts."""

    title: str
    work: tuple[tuple[str, int], ...]


_THREADS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_PEAK = "sm__sass_thread_inst_executed_op_{}_pred_on.sum.peak_sustained"
PRECISIONS = {
    "fp32": Precision(title="Single Precision", work=(("fadd", 1), ("fmul", 1), ("ffma", 2))),
    "fp64": Precision(title="Double Precision", work=(("dadd", 1), ("dmul", 1), ("dfma", 2))),
    # An instruction on packed halves counts once per thread and does two of each.
    "fp16": Precision(title="Half Precision", work=(("hadd", 2), ("hmul", 2), ("hfma", 4))),
}


def tensor_work(c: Counters, kind: str) -> int:
    """Operations that matrix instructions of a kind executed."""
    execution = c.execution
    counts = execution.columns.get("inst_executed", np.zeros(len(execution.kernel.instructions)))
    return sum(
        int(count) * work
        for count, (found, work) in zip(
            counts.tolist(), map(matrix_work, execution.kernel.instructions), strict=True
        )
        if found == kind
    )


def _tensor_formula(kind: str) -> Formula:
    def formula(c: Counters) -> Quantity:
        return tensor_work(c, kind) + 0 * c.sum("inst_executed")

    return formula


def _register_fills(c: Counters) -> Quantity:
    """Cycles in which L1 returns global and local data: one for 128 bytes, or for four lines."""
    cycles: Quantity = 0
    for width, passes in ((8, 1), (16, 1), (32, 1), (64, 2), (128, 4)):
        requests = c.sum("global_requests", op="ld", width=width) * passes
        lines = c.sum("global_lines", op="ld", width=width) // 4
        local = c.sum("local_executed", op="ld", width=width) * passes
        cycles = cycles + np.maximum(requests, lines) + local
    return cycles + c.sum("global_requests", op="atom")


def _fills_with_shared(c: Counters) -> Quantity:
    return _register_fills(c) + c.sum("shared_wavefronts", op=("ld", "ldsm"))


_WRITEBACK = "l1tex__lsu_writeback_active_mem_lg"
metric(_WRITEBACK, kind="counter", unit="cycle", cycle_unit="", basis="model",
       formula=_register_fills,
       exists=lambda gpu: gpu.sm < 90, per_instruction=True,
       doc="Cycles in which L1 returns 128 bytes of global or local memory data.")  # fmt: skip
metric(f"{_WRITEBACK}ds", kind="counter", unit="cycle", cycle_unit="", basis="model",
       formula=_fills_with_shared, exists=lambda gpu: gpu.sm >= 90, per_instruction=True,
       doc="Cycles in which L1 returns 128 bytes of global, local or shared memory "
           "data.")  # fmt: skip
timed("lts__lts2xbar_cycles_active", "cycle", "Cycles in which L2 slices send 32 bytes to the SMs.",
      cycle_unit="")  # fmt: skip
for _kind in RATES:
    if _kind != "dmma_src_fp64":
        metric(f"sm__ops_path_tensor_op_{_kind}", kind="counter", unit="op",
               formula=_tensor_formula(_kind), exists=lambda gpu: gpu.sm >= 90,
               doc=f"Operations of dense matrix instructions: {_kind.replace('_', ' ')}.",
               )  # fmt: skip


def level_traffic(c: Counters) -> dict[str, tuple[str, int]]:
    """Level -> the counter of its traffic and the bytes of one."""
    l1 = _WRITEBACK if c.gpu.sm < 90 else f"{_WRITEBACK}ds"
    return {
        "L1": (f"{l1}.sum", LINE_BYTES),
        "L2": ("lts__lts2xbar_cycles_active.sum", SECTOR_BYTES),
        "DRAM": ("dram__bytes.sum", 1),
    }


def operations(c: Counters, precision: str) -> float:
    """Operations of a precision that the launch executed."""
    return sum(
        weight * (_number(c, _THREADS.format(name)) or 0.0)
        for name, weight in PRECISIONS[precision].work
    )


def peak_work(c: Counters, precision: str) -> float | None:
    """Operations of a precision that the GPU sustains, per second."""
    name, weight = PRECISIONS[precision].work[-1]
    rate, hertz = _number(c, _PEAK.format(name)), _number(c, "sm__cycles_elapsed.avg.per_second")
    return weight * rate * hertz if rate and hertz else None


def peak_tensor(c: Counters, kind: str) -> float | None:
    """Operations of a kind of matrix instruction that the GPU sustains, per second."""
    rate = c.gpu.table("tensor").get(RATES[kind])
    hertz = _number(c, "sm__cycles_elapsed.avg.per_second")
    return float(rate) * c.gpu.sm_count * hertz if rate and hertz else None


def peak_traffic(c: Counters, level: str) -> float | None:
    """Bytes that a level sustains, per second."""
    name, size = level_traffic(c)[level]
    rate = _number(c, f"{name}.peak_sustained")
    hertz = _number(c, f"{name.partition('__')[0]}__cycles_elapsed.avg.per_second")
    return size * rate * hertz if rate and hertz else None


def _number(c: Counters, name: str) -> float | None:
    found = evaluate(name, c).number
    return float(found) if isinstance(found, int | float) else None


def _body(c: Counters, title: str, done: float, peak: float | None,
          levels: tuple[str, ...]) -> Body:  # fmt: skip
    duration = _number(c, "gpu__time_duration.sum")
    rate = done / (duration * 1e-9) if duration else None
    table = []
    for level in levels:
        name, size = level_traffic(c)[level]
        moved, most = _number(c, name), peak_traffic(c, level)
        total = None if moved is None else moved * size
        intensity = done / total if total else None
        roof = None
        if peak and most:
            roof = peak if intensity is None else min(peak, intensity * most)
        table.append((
            level,
            _value(intensity, "FLOP/byte"),
            _value(rate, "FLOP/s"),
            _value(roof, "FLOP/s"),
            _value(100.0 * rate / roof if rate is not None and roof else None, "%"),
            _value(peak, "FLOP/s"),
            _value(total / (duration * 1e-9) if total is not None and duration else None,
                   "byte/s"),
            _value(most, "byte/s"),
        ))  # fmt: skip
    return Body(title=title, columns=COLUMNS, rows=tuple(table))


def _value(number: float | None, unit: str) -> Value:
    return Value(number, unit, "model")


Chart = Callable[[Counters], tuple[Body, ...]]


def _floating(names: tuple[str, ...], levels: tuple[str, ...]) -> Chart:
    def chart(c: Counters) -> tuple[Body, ...]:
        return tuple(
            _body(c, f"Roofline, {PRECISIONS[name].title}", operations(c, name),
                  peak_work(c, name), levels)
            for name in names
        )  # fmt: skip

    return chart


def _tensor(c: Counters) -> tuple[Body, ...]:
    """A chart for each kind of matrix instruction that was executed."""
    done = {kind: tensor_work(c, kind) for kind in RATES}
    return tuple(
        _body(c, f"Roofline, Tensor Core {kind.replace('_', ' ')}", float(work),
              peak_tensor(c, kind), ("L1", "L2", "DRAM"))
        for kind, work in done.items() if work
    )  # fmt: skip


_CLOCKS = rows(
    ("", "sm__cycles_elapsed.avg.per_second"),
    ("", "smsp__cycles_elapsed.avg.per_second"),
)
_TRAFFIC = {
    "DRAM": rows(("", "dram__bytes.sum.per_second"), ("", "dram__bytes.sum.peak_sustained"),
                 ("", "dram__cycles_elapsed.avg.per_second")),
    "L2": rows(("", "lts__cycles_elapsed.avg.per_second"),
               *(("", f"lts__lts2xbar_cycles_active.sum.{sub}")
                 for sub in ("per_second", "peak_sustained"))),
    "L1": (
        Row(label="", name="l1tex__cycles_elapsed.avg.per_second"),
        *(Row(label="", name=f"{_WRITEBACK}.sum.{sub}", until=(8, 9))
          for sub in ("per_second", "peak_sustained")),
        *(Row(label="", name=f"{_WRITEBACK}ds.sum.{sub}", since=(9, 0))
          for sub in ("per_second", "peak_sustained")),
    ),
}  # fmt: skip


def _work_rows(*precisions: str) -> tuple[Row, ...]:
    found = []
    for precision in precisions:
        work = PRECISIONS[precision].work
        found += [("", f"{_THREADS.format(name)}.per_cycle_elapsed") for name, _ in work]
        found.append(("", _PEAK.format(work[-1][0])))
    return rows(*found)


def _hierarchical(name: str, title: str, work: tuple[Row, ...], chart: Chart) -> None:
    traffic = (*_TRAFFIC["DRAM"], *_TRAFFIC["L2"], *_TRAFFIC["L1"])
    section(
        SectionSpec(
            identifier=f"SpeedOfLight_Hierarchical{name}RooflineChart",
            title=f"GPU Speed Of Light Hierarchical Roofline Chart ({title})",
            order=12,
            sets=frozenset({"full", "roofline"}),
            rows=(),
            extra=(*_CLOCKS, *work, *traffic),
            charts=(chart,),
        )
    )


section(
    SectionSpec(
        identifier="SpeedOfLight_RooflineChart",
        title="GPU Speed Of Light Roofline Chart",
        order=11,
        sets=frozenset({"detailed", "full", "roofline"}),
        rows=(),
        extra=(*_CLOCKS, *_work_rows("fp32", "fp64"), *_TRAFFIC["DRAM"]),
        charts=(_floating(("fp32", "fp64"), ("DRAM",)),),
    )
)
for _precision, _name in (("fp64", "Double"), ("fp16", "Half"), ("fp32", "Single")):
    _hierarchical(_name, PRECISIONS[_precision].title, _work_rows(_precision),
                  _floating((_precision,), ("L1", "L2", "DRAM")))  # fmt: skip
_hierarchical(
    "Tensor",
    "Tensor Core",
    tuple(
        Row(label="", name=f"sm__ops_path_tensor_op_{kind}.sum.per_cycle_elapsed", since=(9, 0))
        for kind in RATES
        if kind != "dmma_src_fp64"
    ),
    _tensor,
)
