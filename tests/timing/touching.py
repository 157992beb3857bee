"""Accesses made by hand, for the stages that read the global accesses of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplens.execute.trace import ACCESS
from warplens.timing.touched import Touched


def accesses(n: int, **fields: Any) -> Any:
    """Accesses to one line each, the n-th to the n-th of the table; other fields as given."""
    made = np.zeros(n, ACCESS)
    made["first_line"], made["n_lines"] = np.arange(n), 1
    for name, values in fields.items():
        made[name] = values
    return made


def touched(lines: Any, sectors: Any, **fields: Any) -> Touched:
    """An access to some sectors of each of these lines."""
    lines = np.asarray(lines, np.int64)
    return Touched.of(accesses(len(lines), **fields), lines << 4 | sectors)
