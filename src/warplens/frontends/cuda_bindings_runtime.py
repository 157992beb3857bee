"""cuda.bindings.runtime: the CUDA runtime inside it is replaced by ours, function by function.

Its other modules take the functions from one module's table of Cython functions. The table is
changed after that module's import and before theirs; if they were imported before the simulated
GPU was chosen, the pointers that they took are changed as well.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np

from warplens.errors import ToolchainError
from warplens.frontends.frontend import Frontend, GiveDriver
from warplens.frontends.runtime_inside import our_runtime

MODULE, TAKER = "cuda.bindings._internal.runtime", "cuda.bindings.cyruntime"
_BY_VALUE = frozenset({"cudaCreateChannelDesc"})  # returns a structure and asks no driver


def _activate(_: GiveDriver) -> None:
    capsules: dict[str, Any] = sys.modules[MODULE].__pyx_capi__
    named = {name.removeprefix("_"): capsule for name, capsule in capsules.items()}
    ours = [name for name in named if name.startswith("cuda") and name not in _BY_VALUE]
    try:
        runtime = our_runtime()
    except ToolchainError as error:  # most programs do not call it
        print(f"warplens: cuda.bindings.runtime is not served: {error}", file=sys.stderr)
        return
    interface = ctypes.pythonapi
    get_pointer, get_name = interface.PyCapsule_GetPointer, interface.PyCapsule_GetName
    get_pointer.restype, get_name.restype = ctypes.c_void_p, ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_void_p]
    get_name.argtypes = [ctypes.py_object]
    set_pointer = interface.PyCapsule_SetPointer
    set_pointer.argtypes = [ctypes.py_object, ctypes.c_void_p]
    changed = {}
    for name in ours:
        capsule, address = named[name], runtime.address(name)
        changed[get_pointer(capsule, get_name(capsule))] = address
        set_pointer(capsule, address)
    if TAKER in sys.modules:
        _change_words(str(sys.modules[TAKER].__file__), changed)


def _change_words(module: str, changed: dict[int, int]) -> None:
    """Replaces addresses in the variables of a loaded extension module."""
    last = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, mode, _, _, _, *name = line.split(maxsplit=5)
        start, end = (int(word, 16) for word in place.split("-"))
        is_its = name == [module] or (not name and start == last)  # variables that start as zeros
        last = end if is_its else last
        if is_its and mode.startswith("rw"):
            cells = (ctypes.c_uint64 * ((end - start) // 8)).from_address(start)
            words = np.ctypeslib.as_array(cells)
            seen = words.copy()  # memory of others may follow, and change meanwhile
            for at in np.flatnonzero(np.isin(seen, np.array(list(changed), np.uint64))):
                words[at] = changed[int(seen[at])]


FRONTEND = Frontend(
    module=MODULE, package="cuda-bindings", first="13.0", before="14", activate=_activate
)
