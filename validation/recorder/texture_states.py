"""Records what warps wait for that sample textures again and again (`rate` of kernels/textures.cu).

`python textures.py --pack CUBIN FOLDER texture_cases` writes the cases beside their kernels;
`python texture_states.py FOLDER OUT.json` measures them with CUPTI: 132 blocks, one an SM.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from states import METRICS
from texture_counts import measured, opened

BLOCKS = 132
MORE = (
    "l1tex__f_wavefronts.sum", "l1tex__data_pipe_tex_wavefronts.sum",
    "l1tex__t_output_wavefronts_pipe_tex.sum", "l1tex__texin_sm2tex_req_cycles_active.sum",
    "l1tex__tex_writeback_active.sum", "sm__cycles_active.max",
)  # fmt: skip


def record(folder: Path, out: Path) -> None:
    """Measures every rate with 1 to 32 warps."""
    cases, blob, gpu, counters = opened(folder)
    names = [*METRICS, *MORE]
    found: dict[str, Any] = {"session": gpu.names(), "metrics": names, "values": {}}
    counters.configure(names)
    for case in cases:
        if not case["name"].startswith("clocks/") or not case["name"].endswith("/32"):
            continue
        data = [blob[start : start + size] for start, size in case["pieces"]]
        for warps in (1, 2, 4, 8, 16, 32):
            name = f"{case['name'].removesuffix('/32')}/{warps}"
            values = measured(gpu, counters, case, data, (BLOCKS, 32 * warps))
            found["values"][name] = [round(value, 1) for value in values]
    counters.close()
    out.write_text(json.dumps(found))
    print(found["session"], len(found["values"]))


if __name__ == "__main__":
    record(Path(sys.argv[1]), Path(sys.argv[2]))
