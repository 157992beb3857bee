"""The sources, split once into tuning and validation halves, before any time was compared."""

from __future__ import annotations

import random
from pathlib import Path

SEED = 20261120
HERE = Path(__file__).parent


def sources() -> list[str]:
    """Names of the sources, which are those of their case files."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def validation_sources() -> frozenset[str]:
    """The half of the sources that nothing is tuned on.

    They were drawn when dedispersion was called by its benchmark's name.
    """
    drawn = {"dedispersion": "kernel-tuner-dedispersion"}
    names = sorted(drawn.get(name, name) for name in sources())
    random.Random(SEED).shuffle(names)
    return frozenset(names[: len(names) // 2])
