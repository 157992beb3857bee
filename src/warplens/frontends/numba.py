"""numba-cuda: runs as it is on the simulated driver."""

from __future__ import annotations

from warplens.frontends.frontend import Frontend

FRONTEND = Frontend(module="numba.cuda", package="numba-cuda", first="0.30", before="0.31")
