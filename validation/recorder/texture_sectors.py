"""Records what textures bring into L1 and L2 in launches of many warps (`texture_sector_cases.py`).

`python textures.py --pack CUBIN FOLDER texture_sector_cases` writes the cases beside their kernels;
`python texture_sectors.py FOLDER OUT.json` measures them with CUPTI, with other lines in L2.
"""

from __future__ import annotations

import ctypes as ct
import json
import sys
from pathlib import Path
from typing import Any

from texture_counts import measured, opened

from textures import CudaError

METRICS = [f"{name}.sum" for name in (
    "l1tex__t_sectors_pipe_tex_mem_texture", "l1tex__t_sectors_pipe_tex_mem_texture_lookup_hit",
    "l1tex__t_sectors_pipe_tex_mem_texture_lookup_miss",
    "l1tex__m_xbar2l1tex_read_sectors_mem_texture", "l1tex__m_xbar2l1tex_read_sectors",
    "lts__t_sectors_srcunit_tex", "lts__t_sectors_srcunit_tex_op_read",
    "lts__t_sectors_srcunit_tex_lookup_hit", "lts__t_sectors_srcunit_tex_lookup_miss",
    "lts__t_requests_srcunit_tex", "lts__t_sectors_op_read", "dram__bytes_read",
    "dram__sectors_read", "sm__cycles_active",
)]  # fmt: skip

FLUSHED = 256 << 20  # bytes written before each pass: more than L2 holds


def record(folder: Path, out: Path) -> None:
    """Measures every case."""
    cases, blob, gpu, counters = opened(folder)
    counters.configure(METRICS)
    found: dict[str, Any] = {"session": gpu.names(), "metrics": METRICS, "values": {}}
    others = ct.c_uint64()
    gpu.call("cuMemAlloc_v2", ct.byref(others), ct.c_size_t(FLUSHED))

    def flush() -> None:
        gpu.call("cuMemsetD8_v2", others, ct.c_ubyte(0), ct.c_size_t(FLUSHED))
        gpu.call("cuCtxSynchronize")

    for case in cases:
        data = [blob[start : start + size] for start, size in case["pieces"]]
        try:
            shape = case["shape"][0], case["shape"][1]
            values = measured(gpu, counters, case, data, shape, flush)
            found["values"][case["name"]] = [round(value, 1) for value in values]
        except (CudaError, RuntimeError) as error:
            found["values"][case["name"]] = str(error)
    counters.close()
    out.write_text(json.dumps(found))
    print(found["session"], len(found["values"]))


if __name__ == "__main__":
    record(Path(sys.argv[1]), Path(sys.argv[2]))
