"""tinygrad: finds the simulated driver's library by its path, and NVRTC in pip's package."""

from __future__ import annotations

import os

from warplens.frontends.frontend import Frontend
from warplens.libcuda import place
from warplens.toolchain.nvrtc import library_path


def _name_libraries() -> None:
    """tinygrad looks for files, not for what is loaded; its own variables say where."""
    os.environ["CUDA_PATH"] = str(place.path())
    os.environ.setdefault("NVRTC_PATH", str(library_path()))
    os.environ.setdefault("DEV", "CUDA")


FRONTEND = Frontend(
    module="tinygrad", package="tinygrad", first="0.14", before="0.15", prepare=_name_libraries
)
