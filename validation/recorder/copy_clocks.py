"""Records tensor copies of lines that L2 holds while tensor cores are idle or busy: cycles of the
SMs' clock, which falls when they are busy, and nanoseconds.

`python copy_clocks.py --build CUBINS` compiles; `python copy_clocks.py CUBINS OUT` needs a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

import copy_streams
import numpy as np
from copy_lags import STEPS, STEPS_BEFORE
from copy_streams import COLUMNS, SMS, Streams, _plane
from session import Session
from triton_cases import READER

from hopper import build

TURNS = 512  # boxes of a block
CLOCKS = (
    "sm__cycles_elapsed.avg.per_second", "lts__cycles_elapsed.avg.per_second",
    "lts__t_sectors_op_read.sum", "l1tex__m_xbar2l1tex_read_bytes.sum",
)  # fmt: skip
_BUSY = """
__device__ float busy(volatile int* over, int gap) {
  float d[4] = {};
  while (!*over) {
    for (int i = 0; i < 32; i++)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3},"
                   " {%4, %5, %4, %5}, {%5, %4}, {%0, %1, %2, %3};"
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                   : "r"(0x3c01b9a7 + threadIdx.x * 0x1234567), "r"(0xb5e73a11 ^ threadIdx.x));
    for (unsigned t = clock(); clock() - t < gap;) {}
  }
  return d[0] + d[1] + d[2] + d[3];
}
"""


def source() -> str:
    """The kernel `sharing` of copy_lags.py with further warps whose tensor cores are busy."""
    text = copy_streams.source().replace(f"k < {copy_streams.STEPS}", f"k < {TURNS}")
    changes = (
        (STEPS_BEFORE, STEPS),
        (f"k + 4 < {copy_streams.STEPS}", f"k + 4 < {TURNS}"),
        (f"turn += {copy_streams.STEPS}", f"turn += {TURNS}"),
        ("unsigned wait_for = skew ?", "unsigned wait_for = 0 ?"),
        ("/* who shares", f"{_BUSY}/* who shares"),
        ("int skew, unsigned* met", "int skew, int gap, unsigned* met"),
        ("  int turn = 0;\n  unsigned t = 0;", """  __shared__ int over;
  if (threadIdx.x == 0) over = 0;
  __syncthreads();
  if (threadIdx.x >= 32) {
    if (busy(&over, gap) == 0.123f) met[1] = 1;
    return;
  }
  if (threadIdx.x) return;
  int turn = 0;
  unsigned t = 0;"""),
        ("  told(out, began, t, place());\n}\n/* boxes one", """  *(volatile int*)&over = 1;
  told(out, began, t, place());
}
/* boxes one"""),
    )  # fmt: skip
    for old, new in changes:
        if old not in text:
            raise KeyError(old)
        text = text.replace(old, new, 1)
    return text


def main() -> None:
    """Compiles or records."""
    if sys.argv[1] == "--build":
        build(Path(sys.argv[2]), {"streams": source(), "reader": READER})
        return
    session = Session.of_command_line(__doc__)
    bench = Streams(session)
    copy_streams.COUNTERS = CLOCKS
    for rows in (64, 128):
        box = bench.map(_plane(0, 1, 128, 160 << 13, 128, (128, rows)))
        for warps, gap in ((0, 0), (4, 3000), (4, 500), (4, 0), (8, 0)):
            for group, lag in ((1, 0), (2, 0), (2, 1), (2, 2), (2, 3), (16, 0), (16, 1)):
                given = (box, *map(np.int32, (rows, 0, group, lag, gap)), bench.met)
                setting = [rows, 0, group, lag, warps, gap]
                bench.launch("sharing", setting, SMS, 32 + 32 * warps, given, 4 * 128 * rows,
                             repeats=3, counts=group == 1)  # fmt: skip
    session.save_rows("copy_clocks_sm90", COLUMNS, bench.rows)


if __name__ == "__main__":
    main()
