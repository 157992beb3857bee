"""cuTile: runs as it is on the simulated driver; `cuda-tile[tileiras]` brings its compiler."""

from __future__ import annotations

from warplens.frontends.frontend import Frontend

FRONTEND = Frontend(module="cuda.tile", package="cuda-tile", first="1.7", before="1.8")
