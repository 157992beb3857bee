"""C++ names as people write them."""

from __future__ import annotations

from functools import lru_cache

import pydemumble


@lru_cache(maxsize=4096)
def demangle(name: str) -> str:
    """The C++ signature of a mangled name, `void scale<3>(float*)`; other names as they are."""
    if not name.startswith("_Z"):
        return name
    return str(pydemumble.demangle(name)) or name
