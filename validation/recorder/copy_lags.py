"""Records tensor copies of lines that L2 holds by SMs that share them some steps apart.

`python copy_lags.py --build CUBINS` compiles; `python copy_lags.py CUBINS OUT` needs a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from copy_streams import COLUMNS, SMS, Streams, _plane
from copy_streams import source as streams
from session import Session
from triton_cases import READER

from hopper import build

STEPS_BEFORE = "(who * 16 + k / (how == 2 ? 2 : 1) % 16) * rows"
STEPS = "(who * 16 + (k + blockIdx.x % group * skew) % 16) * rows"


def source() -> str:
    """The kernel `sharing` where a block is `skew` steps before the one behind it of its group."""
    text = streams()
    if STEPS_BEFORE not in text:
        raise KeyError(STEPS_BEFORE)
    text = text.replace(STEPS_BEFORE, STEPS)
    return text.replace("unsigned wait_for = skew ?", "unsigned wait_for = 0 ?")


def main() -> None:
    """Compiles or records."""
    if sys.argv[1] == "--build":
        build(Path(sys.argv[2]), {"streams": source(), "reader": READER})
        return
    session = Session.of_command_line(__doc__)
    bench = Streams(session)
    for rows in (96, 128):
        box = bench.map(_plane(0, 1, 128, 160 << 13, 128, (128, rows)))
        for group in (1, 2, 4, 8, 16, 33, 132):
            for lag in (0, 1, 2, 3, 5, 8):
                if lag and group == 1:
                    continue
                given = (box, *map(np.int32, (rows, 0, group, lag)), bench.met)
                bench.launch("sharing", [rows, 0, group, lag], SMS, 1, given, 4 * 128 * rows,
                             repeats=3, counts=rows == 128)  # fmt: skip
    session.save_rows("copy_lags_sm90", COLUMNS, bench.rows)


if __name__ == "__main__":
    main()
