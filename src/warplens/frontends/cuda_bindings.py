"""cuda.bindings.driver: Python's names for the driver's functions; runs as it is."""

from __future__ import annotations

from warplens.frontends.frontend import Frontend

FRONTEND = Frontend(
    module="cuda.bindings.driver", package="cuda-bindings", first="13.0", before="14"
)
