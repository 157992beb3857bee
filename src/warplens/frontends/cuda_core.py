"""cuda.core: runs as it is on the simulated driver."""

from __future__ import annotations

from warplens.frontends.frontend import Frontend

FRONTEND = Frontend(module="cuda.core", package="cuda-core", first="1.2", before="1.3")
