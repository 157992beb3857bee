"""Importing this module declares every case of the corpus."""

from __future__ import annotations

import importlib

from tests.kernels.model import FOLDER

for _path in sorted(FOLDER.glob("*.cu")):
    if _path.with_suffix(".py").exists():
        importlib.import_module(f"tests.kernels.{_path.stem}")
