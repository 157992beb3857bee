"""Records what accesses count and take in which no lane of a warp takes part."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from session import Session

from counters import counter_on_all_sms

SOURCE = Path(__file__).parent / "kernels" / "idle_accesses.cu"
KERNELS = tuple(re.findall(r"^KERNEL\((\w+),", SOURCE.read_text(), re.M))
WARPS, ROUNDS = (1, 8, 32), 256
METRICS = (
    "sm__cycles_active.avg", "smsp__inst_executed.sum", "smsp__inst_executed_pipe_lsu.sum",
    "l1tex__data_pipe_lsu_wavefronts.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "l1tex__t_requests_pipe_lsu.sum", "l1tex__t_sectors_pipe_lsu.sum",
    "smsp__inst_executed_op_global_ld.sum", "smsp__inst_executed_op_global_st.sum",
    "smsp__inst_executed_op_generic_ld.sum", "smsp__inst_executed_op_generic_st.sum",
    "smsp__inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_st.sum",
)  # fmt: skip
COLUMNS = ("kernel", "warps", *METRICS)  # of 132 blocks of so many warps


def main() -> None:
    """Writes idle_accesses_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    module = driver.load(session.cubin("idle_accesses"))
    out, data = driver.alloc(1 << 16), driver.alloc(1 << 16)
    counted = counter_on_all_sms(session, METRICS)
    rows = []
    for kernel in KERNELS:
        function = driver.function(module, kernel)
        for warps in WARPS:
            given = out, data, np.uint32(ROUNDS)
            rows.append((kernel, warps, *counted(function, warps, given)))
    session.save_rows("idle_accesses_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
