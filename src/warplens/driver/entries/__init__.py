"""Every function of the driver API that is served, by subject.

A module per subject; each function is declared once with its C signature. `served()` gives all.
"""

from __future__ import annotations

import importlib
import pkgutil

from warplens.driver.entries.table import ENTRIES, Entry


def served() -> dict[str, Entry]:
    """Every entry by its exported name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(ENTRIES.items()))
