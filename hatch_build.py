"""Puts the compiled C library of the simulated driver into wheels that are built on Linux.

It needs a C compiler and the packages that warplens itself needs, so `python -m build
--no-isolation` in an environment that has them. Elsewhere the wheel is a pure one, and the first
program that wants the library compiles it.
"""

from __future__ import annotations

import platform
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST = 17  # of glibc 2, that manylinux names


class LibraryHook(BuildHookInterface[Any]):
    """The hook of wheels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the files and the platform's tag."""
        if version == "editable" or not sys.platform.startswith("linux"):
            return
        sys.path.insert(0, str(Path(self.root) / "src"))
        try:
            from warplens.libcuda.shipped import contents

            files = contents()
        except Exception as reason:
            self.app.display_warning(f"a wheel without the C library: {reason}")
            return
        finally:
            sys.path.pop(0)
        folder = Path(tempfile.mkdtemp())
        newest = OLDEST
        for name, data in files.items():
            (folder / name).write_bytes(data)
            build_data["force_include"][str(folder / name)] = f"warplens/libcuda/prebuilt/{name}"
            newest = max([newest, *(int(n) for n in re.findall(rb"GLIBC_2\.(\d+)", data))])
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_{newest}_{platform.machine()}"
