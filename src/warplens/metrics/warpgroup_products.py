"""Counters of warpgroups' products (wgmma) and of tensor copies, as an H200 counts them.

Each warp of a warpgroup counts a product once; of what the four read in shared memory it counts a
quarter: 64 rows of A, unless they are in registers, and B's columns, 32 bytes of each.
"""

from __future__ import annotations

from warplens.gpus.spec import GpuSpec
from warplens.isa.warpgroup import OPCODES
from warplens.metrics.counters import Choice, Counters, Quantity
from warplens.metrics.registry import Formula, metric

_COLUMNS = tuple(range(8, 257, 8))
_ROW_BYTES, _ROWS, _WARPS, _LINE = 32, 64, 4, 128
_FLOATS = ("HGMMA", "QGMMA")
_OPERATIONS = 2 * 64 * 16 / 4  # of halves, per column


def _exists(gpu: GpuSpec) -> bool:
    return gpu.sm == 90


def _weighted(weight: float, **choices: Choice) -> Formula:
    """Executed products, each times its columns and a weight."""

    def formula(c: Counters) -> Quantity:
        return sum(weight * n * c.sum("inst_executed", columns=n, **choices) for n in _COLUMNS)

    return formula


def _bytes(each: float) -> Formula:
    """What executed products read in shared memory, in units of so many bytes."""
    of_columns = _weighted(_ROW_BYTES / _WARPS / each)

    def formula(c: Counters) -> Quantity:
        near = c.sum("inst_executed", columns=_COLUMNS, is_from_registers=False)
        return near * (_ROWS * _ROW_BYTES / _WARPS / each) + of_columns(c)

    return formula


def _products(c: Counters) -> Quantity:
    return c.sum("inst_executed", opcode=tuple(sorted(OPCODES)), columns=_COLUMNS)


def _copies(c: Counters) -> Quantity:
    return c.sum("inst_executed", space="tma")


for _name, _unit, _formula, _doc in (
    ("sm__inst_executed_pipe_tensor_op_gmma", "inst", _products,
     "Products of warpgroups, counted by each of their warps."),
    ("sm__sass_inst_executed_op_shared_gmma", "inst", _products,
     "Products of warpgroups that read shared memory, counted by each of their warps."),
    ("sm__sass_data_bytes_mem_shared_op_gmma", "byte", _bytes(1),
     "Bytes of shared memory that products of warpgroups read."),
    ("sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma", "wavefront", _bytes(_LINE),
     "Passes through shared memory of products of warpgroups."),
    ("sm__pipe_tensor_op_hmma_type_hmma_hgmma_qgmma_cycles_active", "cycle",
     _weighted(0.5, opcode=_FLOATS),
     "Cycles in which sub-partitions' tensor cores multiply floats of warpgroups."),
    ("sm__ops_path_tensor_op_hgmma_src_fp16", "", _weighted(_OPERATIONS, multiplied="f16"),
     "Operations of warpgroups' products of halves: multiplications and additions."),
    ("smsp__sass_inst_executed_op_tma", "inst", _copies, "Bulk and tensor copies executed."),
):  # fmt: skip
    metric(_name, kind="counter", unit=_unit, formula=_formula, exists=_exists,
           per_instruction=True, doc=_doc, basis="exact")  # fmt: skip
