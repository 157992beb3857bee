"""Records loads and stores of shared memory by generic addresses, beside those by addresses whose
memory the code names: cycles and what warps are counted to wait for, by lanes' places and warps."""

from __future__ import annotations

import numpy as np
from launches import STATES
from session import Session

from counters import counter_on_all_sms

LOADS = tuple(f"{kind}_{size}" for kind in ("generic", "shared", "global") for size in (4, 8, 16))
STORES = tuple(f"store_{kind}_{size}" for kind in ("generic", "shared") for size in (4, 16))
CHAINS = "chain_generic_4", "chain_shared_4", "chain_global_4"
WARPS, ROUNDS = (1, 4, 8, 16, 32), 64
METRICS = (
    "sm__cycles_active.avg", "smsp__inst_issued.sum", "l1tex__t_requests_pipe_lsu.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", *STATES,
)  # fmt: skip
COLUMNS = ("kernel", "pattern", "warps", *METRICS)  # of 132 blocks of so many warps
LANES = np.arange(32)


def patterns(size: int) -> dict[str, np.ndarray]:
    """Byte offsets of the lanes, by name; with 224 bytes more all below 32 KiB."""
    found = {"row": LANES * size, "same": 0 * LANES, "quads": LANES // 4 * 144 + LANES % 4 * size}
    for rows, pitch in ((2, 272), (4, 272), (8, 272), (8, 144), (16, 144), (32, 528)):
        width = 32 // rows
        found[f"rows_{rows}_{pitch}"] = LANES // width * pitch + LANES % width * size
    return found


def main() -> None:
    """Writes generic_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("generic"))
    out, data = driver.alloc(1 << 16), driver.alloc(1 << 16)
    driver.fill(data, 0, 1 << 16)
    counted = counter_on_all_sms(session, METRICS)
    rows = []
    for kernel in (*LOADS, *STORES, *CHAINS):
        function = driver.function(module, kernel)
        for name, offsets in patterns(int(kernel.rpartition("_")[2])).items():
            if kernel in CHAINS and name not in ("row", "rows_8_272"):
                continue
            table = driver.upload(offsets.astype(np.uint32))
            for warps in WARPS:
                given = out, data, table, np.uint32(ROUNDS)
                rows.append((kernel, name, warps, *counted(function, warps, given)))
    session.save_rows("generic_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
