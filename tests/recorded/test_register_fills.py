"""The L1 traffic of rooflines: cycles in which L1 fills registers, as an H200 counted them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.recorded.test_counters import comparison

LAUNCHES = (
    "load_u8/stride33", "load_u16/stride33", "load_u32/linear", "load_u32/broadcast",
    "load_u32/stride8", "load_u32/stride16", "load_u32/scatter", "load_u64/linear",
    "load_u64/stride16", "load_u128/linear", "load_u128/stride8", "masked_load/11111111",
    "copy_strided/8", "saxpy",
)  # fmt: skip
FILLS = "l1tex__lsu_writeback_active_mem_lgds.sum"
OF_SHARED = "l1tex__lsu_writeback_active_mem_shared.sum"


def test_register_fills() -> None:
    """One for 128 bytes or four lines; the hardware adds one per warp that reads its index."""
    path = Path(__file__).parents[2] / "validation" / "data" / "counters_sm90.npz"
    data = np.load(path, allow_pickle=False)
    cases, metrics = list(data["cases"]), list(data["metrics"])
    module = comparison()
    for name, run in module.launches(module.load_cases(), LAUNCHES):
        row = dict(zip(metrics, data["cold"][cases.index(name)].tolist(), strict=True))
        recorded = row[FILLS] - row[OF_SHARED] - row["smsp__warps_launched.sum"]

        assert run.metric(FILLS) == recorded, name
