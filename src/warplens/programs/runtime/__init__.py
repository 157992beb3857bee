"""What CUDA's runtime adds to the driver, function by function, by subject.

Each function is declared once with its C signature; `same.py` lists those that the driver serves
under another name. `served()` gives all.
"""

from __future__ import annotations

import importlib
import pkgutil

from warplens.programs.runtime.table import ENTRIES, RuntimeEntry


def served() -> dict[str, RuntimeEntry]:
    """Every entry by its exported name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(ENTRIES.items()))
