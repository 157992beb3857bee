"""The small formulas of GPU performance, executable: `import warplens.models as m`.

Every function states its inputs with units, its formula and its source. Scalars give Python
numbers, arrays give arrays.
"""

from __future__ import annotations

from warplens.models.banks import (
    BankAccess,
    affine_access,
    bank_access,
    banks_used,
    row_padding,
)
from warplens.models.cache import CacheFit, cache_fit, hit_rate, l1_bytes, mean_latency
from warplens.models.coalescing import (
    Access,
    implied_peak,
    requests_and_sectors,
    strided_access,
    warp_access,
)
from warplens.models.divergence import (
    active_mask,
    compacted_throughput,
    divergence_probability,
    expected_branch_cycles,
    loop_cycles,
    path_efficiency,
    reduction_activity,
    simt_throughput,
    warp_efficiency,
)
from warplens.models.latency import (
    bandwidth_reached,
    bytes_in_flight,
    in_flight,
    readiness,
    scheduler_utilisation,
    warps_to_hide,
    warps_to_saturate_dram,
)
from warplens.models.roofs import Roofline, attainable, intensity, roofline
from warplens.models.spills import (
    break_even_registers,
    spill_bytes,
    spill_cycles,
    spill_slowdown,
)
from warplens.models.tiling import (
    StencilTile,
    Work,
    choose_stencil_tile,
    convolution_work,
    gemm_work,
    stencil_tile,
    tiled_gemm_work,
)
from warplens.models.waves import (
    Waves,
    amdahl,
    combined_gain,
    issue_limited_seconds,
    phase_mix,
    phase_rate,
    waves,
)

__all__ = [
    "Access",
    "BankAccess",
    "CacheFit",
    "Roofline",
    "StencilTile",
    "Waves",
    "Work",
    "active_mask",
    "affine_access",
    "amdahl",
    "attainable",
    "bandwidth_reached",
    "bank_access",
    "banks_used",
    "break_even_registers",
    "bytes_in_flight",
    "cache_fit",
    "choose_stencil_tile",
    "combined_gain",
    "compacted_throughput",
    "convolution_work",
    "divergence_probability",
    "expected_branch_cycles",
    "gemm_work",
    "hit_rate",
    "implied_peak",
    "in_flight",
    "intensity",
    "issue_limited_seconds",
    "l1_bytes",
    "loop_cycles",
    "mean_latency",
    "path_efficiency",
    "phase_mix",
    "phase_rate",
    "readiness",
    "reduction_activity",
    "requests_and_sectors",
    "roofline",
    "row_padding",
    "scheduler_utilisation",
    "simt_throughput",
    "spill_bytes",
    "spill_cycles",
    "spill_slowdown",
    "stencil_tile",
    "strided_access",
    "tiled_gemm_work",
    "warp_access",
    "warp_efficiency",
    "warps_to_hide",
    "warps_to_saturate_dram",
    "waves",
]
