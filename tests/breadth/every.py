"""Importing this module declares every case.

`python -m tests.breadth.every` counts the kernels of each architecture.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.breadth.model import FEATURES
from tests.kernels.model import ARCHITECTURES

for _path in sorted(Path(__file__).parent.parent.glob("[bc][ru]*/*.cu")):
    if _path.with_suffix(".py").exists():
        importlib.import_module(f"tests.{_path.parent.name}.{_path.stem}")


def counts() -> dict[str, int]:
    """Kernels per architecture."""
    return {
        architecture: len({
            (one.case.source, one.case.kernel)
            for one in FEATURES
            if architecture in one.architectures
        })
        for architecture in ARCHITECTURES
    }  # fmt: skip


if __name__ == "__main__":
    for name, kernels in counts().items():
        print(name, kernels)
