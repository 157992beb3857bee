"""The kernels whose time was recorded on an H200, split once into tuning and validation halves.

The split is by kernel name (all launches of a kernel are in one half) with a fixed seed and was
made before any constant was tuned.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

HERE = Path(__file__).parent
RECORDER = HERE.parent / "recorder"
sys.path.insert(0, str(RECORDER))

from counter_cases import CASES, Case  # noqa: E402

SEED = 20261120
# Single accesses of four blocks: nothing but launch overhead and one latency. Counted apart.
_PATTERNS = ("load_u", "store_u", "shared_load_u", "shared_store_u")


def is_pattern(name: str) -> bool:
    """Whether a case is one access of a few warps."""
    return name.startswith(_PATTERNS)


def kernels() -> list[str]:
    """Names of all kernels that are not access patterns."""
    return sorted({case.kernel for name, case in CASES.items() if not is_pattern(name)})


def validation_kernels() -> frozenset[str]:
    """The half of the kernels that nothing is tuned on."""
    names = kernels()
    random.Random(SEED).shuffle(names)
    return frozenset(names[: len(names) // 2])


def cases(part: str) -> dict[str, Case]:
    """The cases of "tuning", "validation" or "all"."""
    held = validation_kernels()
    return {
        name: case
        for name, case in CASES.items()
        if not is_pattern(name)
        and (part == "all" or (case.kernel in held) == (part == "validation"))
    }
