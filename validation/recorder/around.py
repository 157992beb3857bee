"""Records counters of fences and of asynchronous copies around L1.

`around.py CUBINS OUT` needs CUBINS/around.cubin (build.py) and CUPTI.
"""

from __future__ import annotations

import json

import numpy as np
from session import Session

from counters import Counters

_SASS = "smsp__sass_{}_mem_{}_op_ldgsts.sum"
FENCES = (
    "f_none", "f_full", "f_full_nostore", "f_one", "f_one_nostore", "f_half", "f_31",
    "f_one_of_block", "a_full", "a_one", "a_half", "g_full", "g_one", "p_full", "p_one", "m_one",
    "m_full",
)  # fmt: skip
PIPES = (
    "smsp__inst_executed.sum",
    *(f"smsp__inst_executed_pipe_{name}.sum" for name in ("lsu", "tex", "adu", "alu", "cbu")),
    "smsp__thread_inst_executed.sum", "l1tex__data_pipe_lsu_wavefronts.sum",
)  # fmt: skip
COPIES = (
    "smsp__sass_inst_executed_op_ldgsts.sum",
    _SASS.format("l1tex_data_pipe_lsu_wavefronts", "shared"), _SASS.format("data_bytes", "shared"),
    _SASS.format("data_bytes", "global"), _SASS.format("l1tex_t_sectors_pipe_lsu", "global"),
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
    _SASS.format("l1tex_data_bank_conflicts_pipe_lsu", "shared"),
)  # fmt: skip
ROWS = (  # first byte, bytes from row to row, lanes of a row
    (0, 512, 32), (16, 512, 32), (32, 512, 32), (64, 512, 32), (0, 160, 8), (0, 144, 8),
    (32, 160, 8), (0, 80, 4), (0, 64, 4), (0, 96, 4), (0, 128, 4), (0, 256, 4), (0, 128, 2),
    (0, 256, 1), (0, 32, 1), (16, 128, 8), (0, 48, 2), (0, 272, 16), (0, 1024, 8),
)  # fmt: skip
GRID, BLOCK, SHARED = 4, 128, 40960


def main() -> None:
    """Measures every launch once and writes around_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    counters = Counters(driver.context, str(session.cubins / "counters.so"))
    module = driver.load(session.cubin("around"))
    source, out = driver.upload(np.arange(1 << 20, dtype=np.uint32)), driver.alloc(1 << 24)

    def measured(name: str, arguments: tuple[object, ...]) -> list[int]:
        function = driver.function(module, name)
        found = counters.measure(
            lambda: driver.launch(function, (GRID,), (BLOCK,), arguments, SHARED),
            lambda: None, driver.synchronize,
        )  # fmt: skip
        return [int(value) for value in found.values()]

    counters.configure(PIPES)
    fences = [[name, *measured(name, (out,))] for name in FENCES]
    counters.configure(COPIES)
    copies = [[*row, *measured("copies", (out, source, *map(np.uint32, row)))] for row in ROWS]
    found = {
        "metadata": session.metadata() | {"grid": GRID, "block": BLOCK},
        "fences": {"metrics": PIPES, "rows": fences},
        "copies": {"metrics": COPIES, "columns": ["start", "pitch", "per"], "rows": copies},
    }
    (session.out / "around_sm90.json").write_text(json.dumps(found, separators=(",", ":")))


if __name__ == "__main__":
    main()
