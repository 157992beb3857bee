"""Importing this module declares every case."""

from __future__ import annotations

import importlib
from pathlib import Path

for _path in sorted(Path(__file__).parent.parent.glob("[bc][ru]*/*.cu")):
    if _path.with_suffix(".py").exists():
        importlib.import_module(f"tests.{_path.parent.name}.{_path.stem}")
