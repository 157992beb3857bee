"""Instruction counters: executed, issued, per thread, per pipe, per class of operation."""

from __future__ import annotations

from collections.abc import Callable

from warplens.gpus.spec import GpuSpec
from warplens.metrics.counters import Choice, Counters, Quantity, ratio
from warplens.metrics.registry import Formula, metric

_PIPES = {
    "alu": "integer and logic",
    "fma": "FP32 multiply-add and integer multiply",
    "fp16": "packed half precision",
    "fp64": "double precision",
    "xu": "transcendental functions and conversions",
    "lsu": "loads, stores, shuffles",
    "tex": "textures and surfaces",
    "adu": "indexed constants, barriers",
    "cbu": "branches and convergence barriers",
    "uniform": "one value per warp",
    "tensor": "matrix multiply-accumulate",
}
_OPCODES = {
    "fadd": ("FADD", "FADD32I"),
    "fmul": ("FMUL", "FMUL32I"),
    "ffma": ("FFMA", "FFMA32I"),
    "fadd2": ("FADD2",),
    "fmul2": ("FMUL2",),
    "ffma2": ("FFMA2",),
    "dadd": ("DADD",),
    "dmul": ("DMUL",),
    "dfma": ("DFMA",),
    "hadd": ("HADD2", "HADD2_32I"),
    "hmul": ("HMUL2", "HMUL2_32I"),
    "hfma": ("HFMA2", "HFMA2_32I"),
}
_CATEGORIES = {
    "fp16": "half-precision",
    "fp32": "single-precision",
    "fp64": "double-precision",
    "integer": "integer",
    "bit": "logic, shift and bit",
    "conversion": "conversion",
    "control": "control-flow and barrier",
    "memory": "load, store and atomic",
    "inter_thread": "shuffle, vote and match",
    "misc": "other",
    "uniform": "uniform-datapath",
}


def executed(**choices: Choice) -> Formula:
    """Warp instructions of the given classes."""

    def formula(c: Counters) -> Quantity:
        return c.sum("inst_executed", **choices)

    return formula


def on_chip(**choices: Choice) -> Formula:
    """Executions as the chip counts them: see `inst_repeated`."""

    def formula(c: Counters) -> Quantity:
        return c.sum("inst_executed", **choices) + c.sum("inst_repeated", **choices)

    return formula


def threads_on(**choices: Choice) -> Formula:
    """Predicated-on threads, over the instructions of the given classes."""

    def formula(c: Counters) -> Quantity:
        return c.sum("thread_inst_executed_true", **choices)

    return formula


def _column_per_instruction(column: str) -> Formula:
    def formula(c: Counters) -> Quantity:
        return ratio(c.sum(column), c.sum("inst_executed"))

    return formula


def _twice_threads(opcodes: tuple[str, ...]) -> Formula:
    def formula(c: Counters) -> Quantity:
        return 2 * c.sum("thread_inst_executed_true", opcode=opcodes)

    return formula


def _per_warp(**choices: Choice) -> Formula:
    def formula(c: Counters) -> Quantity:
        return ratio(c.sum("inst_executed", **choices), c.execution.warps)

    return formula


def both_units(
    name: str,
    *,
    unit: str,
    formula: Formula | None,
    doc: str,
    exists: Callable[[GpuSpec], bool] | None = None,
    sm_basis: str = "exact",
) -> None:
    """A counter that exists per SM and per sub-partition."""
    for prefix, basis in (("sm__", sm_basis), ("smsp__", "exact")):
        metric(
            prefix + name, kind="counter", unit=unit, formula=formula, doc=doc,
            per_instruction=True, exists=exists, basis=basis,
        )  # fmt: skip


def has_fp16_pipe(gpu: GpuSpec) -> bool:
    """Whether packed halves have a pipe of their own; later chips run them on the FMA pipe."""
    return gpu.sm <= 80


def _active_on_chip(c: Counters) -> Quantity:
    return c.sum("thread_inst_executed") + c.sum("thread_inst_repeated")


def _on_on_chip(c: Counters) -> Quantity:
    on = c.sum("thread_inst_executed_true") - c.sum("thread_inst_held")
    return on + c.sum("thread_inst_repeated")


def _fma_with_halves(c: Counters) -> Quantity:
    halves = c.sum("inst_executed", pipe="fp16") * (not has_fp16_pipe(c.gpu))
    return c.sum("inst_executed", pipe="fma") + halves


both_units("inst_executed", unit="inst", formula=on_chip(),
           doc="Warp instructions executed, predicated-off ones included.")  # fmt: skip
both_units("sass_inst_executed", unit="inst", formula=executed(),
           doc="Warp instructions executed, counted in SASS.")  # fmt: skip
for _prefix in ("sm__", "smsp__"):
    metric(_prefix + "inst_issued", kind="counter", unit="inst", basis="model", formula=None,
           doc="Warp instructions issued; more than executed where instructions are "
               "reissued.")  # fmt: skip
    metric(_prefix + "warps_launched", kind="counter", unit="warp",
           formula=lambda c: c.execution.warps, doc="Warps launched.")  # fmt: skip
metric("sm__ctas_launched", kind="counter", unit="block", formula=lambda c: c.execution.blocks,
       doc="Blocks launched.")  # fmt: skip
both_units("sass_thread_inst_executed", unit="inst",
           formula=lambda c: c.sum("thread_inst_executed"),
           doc="Active threads, summed over instructions.")  # fmt: skip
both_units("sass_thread_inst_executed_pred_on", unit="inst", formula=threads_on(),
           doc="Predicated-on threads, summed over instructions.")  # fmt: skip
metric("smsp__thread_inst_executed", kind="counter", unit="inst", per_instruction=True,
       formula=_active_on_chip,
       doc="Active threads, summed over instructions.")  # fmt: skip
metric("smsp__thread_inst_executed_pred_on", kind="counter", unit="inst", per_instruction=True,
       formula=_on_on_chip,
       doc="Predicated-on threads, summed over instructions.")  # fmt: skip
for _name, _column in (("", "thread_inst_executed"), ("_pred_on", "thread_inst_executed_true")):
    for _base in (
        f"smsp__thread_inst_executed{_name}_per_inst_executed",
        f"smsp__average_thread_inst_executed{_name}_per_inst_executed",
    ):
        metric(_base, kind="ratio", unit="", max_rate=32.0, per_instruction=True,
               formula=_column_per_instruction(_column),
               doc="Average threads per warp instruction; 32 is a full warp.")  # fmt: skip
metric("smsp__average_inst_executed_per_warp", kind="ratio", unit="inst/warp",
       formula=_per_warp(), doc="Average instructions executed per warp.")  # fmt: skip
metric("smsp__average_threads_launched_per_warp", kind="ratio", unit="thread/warp",
       formula=lambda c: ratio(
           c.execution.blocks * c.execution.block[0] * c.execution.block[1]
           * c.execution.block[2], c.execution.warps),
       doc="Average threads launched per warp; below 32 if blocks end in a partial "
           "warp.")  # fmt: skip

def _adu_with_twice(c: Counters) -> Quantity:
    return on_chip(pipe="adu")(c) + on_chip(pipe="adu", is_twice=True)(c)


_OF_PIPE: dict[str, Formula] = {"fma": _fma_with_halves, "adu": _adu_with_twice}
for _pipe, _what in _PIPES.items():
    both_units(f"inst_executed_pipe_{_pipe}", unit="inst",
               formula=_OF_PIPE.get(_pipe) or on_chip(pipe=_pipe),
               exists=has_fp16_pipe if _pipe == "fp16" else None,
               # The SM's own counter also counts constant loads replayed after a miss.
               sm_basis="definition" if _pipe == "adu" else "exact",
               doc=f"Warp instructions of the {_pipe.upper()} pipe: {_what}.")  # fmt: skip
both_units("inst_executed_pipe_fma_type_fp16", unit="inst", formula=executed(pipe="fp16"),
           exists=lambda gpu: not has_fp16_pipe(gpu),
           doc="Packed half-precision warp instructions executed on the FMA pipe.")  # fmt: skip
for _op, _opcode in (
    ("hmma", ("HMMA", "HFMA2")), ("imma", ("IMMA", "BMMA")), ("dmma", "DMMA"),
):  # fmt: skip
    both_units(f"inst_executed_pipe_tensor_op_{_op}", unit="inst",
               formula=executed(opcode=_opcode, pipe="tensor"), exists=lambda gpu: gpu.sm < 100,
               doc=f"Warp-level {_op.upper()} instructions.")  # fmt: skip
for _pipe in ("alu", "fma", "fp64", "lsu", "xu", "cbu", "uniform", "fp16", "tex"):
    metric(f"smsp__average_inst_executed_pipe_{_pipe}_per_warp", kind="ratio", unit="inst/warp",
           formula=_per_warp(pipe=_pipe),
           doc=f"Instructions of the {_pipe.upper()} pipe executed per warp on "
               "average.")  # fmt: skip

for _op, _opcodes in _OPCODES.items():
    both_units(f"sass_thread_inst_executed_op_{_op}_pred_on", unit="inst",
               formula=threads_on(opcode=_opcodes),
               doc=f"{_opcodes[0]} instructions of predicated-on threads.")  # fmt: skip
for _ops in (("fadd", "fmul", "ffma"), ("dadd", "dmul", "dfma"), ("hadd", "hmul", "hfma")):
    both_units(f"sass_thread_inst_executed_ops_{'_'.join(_ops)}_pred_on", unit="inst",
               formula=threads_on(opcode=tuple(o for op in _ops for o in _OPCODES[op])),
               doc=f"{', '.join(_ops).upper()} instructions of predicated-on "
               "threads.")  # fmt: skip
for _category, _what in _CATEGORIES.items():
    _full = "inter_thread_communication" if _category == "inter_thread" else _category
    both_units(f"sass_thread_inst_executed_op_{_full}_pred_on", unit="inst",
               formula=threads_on(category=_category),
               doc=f"{_what[0].upper()}{_what[1:]} instructions of predicated-on "
                   "threads.")  # fmt: skip

for _prefix in ("sm", "smsp"):
    for _op in ("ffma", "dfma"):
        metric(f"derived__{_prefix}__sass_thread_inst_executed_op_{_op}_pred_on_x2", unit="inst",
               formula=_twice_threads(_OPCODES[_op]),
               doc=f"Twice the predicated-on {_op.upper()} threads: a multiply-add is two "
                   "operations.",
               per_instruction=True)  # fmt: skip
metric("inst_executed", unit="inst", formula=executed(), per_instruction=True,
       doc="Warp instructions executed.")  # fmt: skip
metric("thread_inst_executed", unit="thread", per_instruction=True,
       formula=lambda c: c.sum("thread_inst_executed"), doc="Active threads.")  # fmt: skip
metric("thread_inst_executed_true", unit="thread", formula=threads_on(), per_instruction=True,
       doc="Predicated-on threads, summed over instructions.")  # fmt: skip
