"""Counters of distributed shared memory: accesses to the shared memory of a cluster's other blocks.

NVIDIA documents the names only. What is counted here is what the names say: an access to the
block's own memory counts as shared, whichever address it used, and an instruction that accesses
several blocks makes one request to each.
"""

from __future__ import annotations

from warplens.gpus.spec import GpuSpec
from warplens.metrics.memory_access import accesses
from warplens.metrics.registry import metric

_KINDS = {
    "ld": "loads",
    "st": "stores",
    "atom": "atomics",
    "stas": "stores that report to an mbarrier",
    "redas": "reductions that report to an mbarrier",
}
_REQUESTED = ("ld", "st", "atom", "redas")


def _has_clusters(gpu: GpuSpec) -> bool:
    return gpu.sm >= 90


for _op in ("", *_KINDS):
    _suffix = f"_{_op}" if _op else ""
    _what = _KINDS.get(_op, "accesses")
    for _prefix in ("sm__", "smsp__"):
        metric(f"{_prefix}sass_inst_executed_op_dshared{_suffix}", kind="counter", unit="inst",
               formula=accesses("dshared_executed", _op or None), basis="definition",
               per_instruction=True, exists=_has_clusters,
               doc=f"Executed {_what} of distributed shared memory (other blocks of the "
                   "cluster).")  # fmt: skip

for _op in ("", *_REQUESTED):
    _suffix = f"_op_{_op}" if _op else ""
    _what = _KINDS.get(_op, "accesses")
    metric(f"l1tex__t_requests_pipe_lsu_mem_dshared{_suffix}", kind="counter", unit="request",
           formula=accesses("dshared_requests", _op or None), basis="definition",
           per_instruction=True, exists=_has_clusters,
           doc=f"Requests of {_what} of distributed shared memory; one per "
               "instruction.")  # fmt: skip
