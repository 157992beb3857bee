"""Counts the launches of a public ladder of matrix products: active cycles, what warps wait for.

    python ../sgemm_ladder.py FOLDER --gpu H200 --nvrtc 12.1.105 --cubins CUBINS/old.json
    python ladder.py CUBINS OUT

The code is that of every such file in CUBINS, whose kernels are not this project's. Steps 9 to 11
are launched with dynamic shared memory, too, which leaves fewer blocks to an SM.
"""

from __future__ import annotations

import base64
import json
import lzma
from functools import partial
from math import prod

import numpy as np
from launches import STATES
from session import Session

from counters import counter_of

REPEATS = 5
FURTHER = {9: (80_000, 180_000), 10: (90_000, 180_000), 11: (80_000, 180_000)}  # bytes
METRICS = (
    "gpu__time_duration.sum", "sm__cycles_active.avg", "sm__cycles_active.max",
    "gpc__cycles_elapsed.max", "smsp__inst_issued.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts.sum",
    "lts__t_sectors_srcunit_tex_op_read.sum", "dram__bytes_read.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active", *STATES,
)  # fmt: skip
COLUMNS = ("nvrtc", "step", "shared", "resident", "microseconds", *METRICS)


def main() -> None:
    """Writes ladder_sm90.json."""
    session = Session.of_command_line(__doc__)
    driver = session.driver
    counted = counter_of(session, METRICS)
    start, stop = driver.event(), driver.event()
    rows = []
    for path in sorted(session.cubins.glob("*.json")):
        found = json.loads(path.read_text())
        if "steps" not in found:
            continue  # the manifest
        size = np.int32(found["size"])
        values = np.random.default_rng(1).random((size, size), np.float32)
        given = (size, size, size, np.float32(1), driver.upload(values), driver.upload(values),
                 np.float32(0), driver.upload(values))  # fmt: skip
        for step, case in found["steps"].items():
            module = driver.load(lzma.decompress(base64.b64decode(case["cubin_xz_base64"])))
            function = driver.function(module, case["name"])
            for shared in (0, *FURTHER.get(int(step), ())):
                if shared:
                    driver.set_dynamic_shared(function, shared)
                launch = partial(driver.launch, function, case["grid"], case["block"], given,
                                 shared)  # fmt: skip
                launch()
                times = []
                for _ in range(REPEATS):
                    driver.record(start)
                    launch()
                    driver.record(stop)
                    times.append(round(1000 * driver.elapsed_ms(start, stop), 2))
                resident = driver.occupancy(function, prod(case["block"]), shared)
                rows.append((found["nvrtc"], int(step), shared, resident, min(times),
                             *counted(launch)))  # fmt: skip
        driver.free_all()
    session.save_rows("ladder_sm90", COLUMNS, rows)


if __name__ == "__main__":
    main()
