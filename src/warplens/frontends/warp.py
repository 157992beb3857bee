"""Warp: its kernels cannot run on the simulated GPU, and the program is told why.

Its library holds NVIDIA's runtime, which asks the driver for undocumented tables. CuPy's copy can
be led to ours by its functions' names (`runtime_inside`); Warp's has none.
"""

from __future__ import annotations

import sys

from warplens.frontends.frontend import Frontend

WHY = (
    "warplens: Warp's kernels cannot run on the simulated GPU: the CUDA runtime inside its library "
    "asks for the driver's undocumented tables, and the library is stripped of the names by which "
    'it could be led elsewhere. Its device "cpu" is not touched.'
)


def _say_so() -> None:
    print(WHY, file=sys.stderr)


FRONTEND = Frontend(module="warp", package="warp-lang", first="1", before="2", prepare=_say_so)
