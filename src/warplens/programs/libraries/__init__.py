"""The host libraries that programs call: cuBLAS, cuBLASLt, cuFFT, cuSPARSE, cuSOLVER and cuRAND.

What a call computes is computed by NumPy in the GPU's memory; its time is the roofline of the call,
and its name in reports says so. Each function is declared once with its C signature (`table.py`);
`built.py` writes the C libraries that a program is linked with.
"""

from __future__ import annotations

import importlib
import pkgutil

from warplens.programs.libraries.table import ENTRIES, LibraryEntry


def served() -> dict[str, LibraryEntry]:
    """Every entry by its exported name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(ENTRIES.items()))
