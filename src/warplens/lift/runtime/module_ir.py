"""The functions in LLVM IR that every module with accesses to memory holds, callees first."""

from __future__ import annotations

from functools import cache

from warplens.lift import vector_ir
from warplens.lift.counting import (
    distinct_ir,
    remember_ir,
    runs_ir,
    sectors_ir,
    wavefronts_ir,
    window_ir,
)
from warplens.lift.engines.host import HostFeatures
from warplens.lift.runtime import move_ir, segments_ir

CORE_NAMES = frozenset({
    "wl.fault", "wl.find", "wl.distinct", "wl.touched", "wl.apart", "wl.most", "wl.remember",
    "wl.rises", "wl.runs", "wl.runs.from", "wl.sectors", "wl.sectors.atomic", "wl.local.bytes",
    "wl.group", "wl.wide.8", "wl.wide.16", "wl.window", "wl.wavefronts",
})  # fmt: skip


@cache
def functions(features: HostFeatures) -> tuple[tuple[str, str], ...]:
    """Name and text of each; what the helper of one access needs besides is added with it."""
    found: dict[str, str] = {}
    for group in (vector_ir.DECLARATIONS, move_ir.GATHER, move_ir.MASKED):
        found.update(group)
    found["llvm.fabs.f64"] = "declare double @llvm.fabs.f64(double)"
    found["wl.fault"] = segments_ir.fault()
    found["wl.find"] = segments_ir.find()
    found.update(distinct_ir.distinct(features))
    found["wl.most"] = distinct_ir.most_per_bank()
    found.update(remember_ir.remember())
    found.update(runs_ir.count_runs())
    found["wl.sectors"] = sectors_ir.count_sectors()
    found["wl.sectors.atomic"] = sectors_ir.count_sectors(True)
    found["wl.local.bytes"] = sectors_ir.count_local_bytes()
    found["wl.group"] = wavefronts_ir.bank_group()
    found["wl.wide.8"] = wavefronts_ir.wide_passes(8)
    found["wl.wide.16"] = wavefronts_ir.wide_passes(16)
    found["wl.window"] = window_ir.remember_window()
    found["wl.wavefronts"] = wavefronts_ir.count_wavefronts()
    return tuple(found.items())
