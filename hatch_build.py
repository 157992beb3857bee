"""Adds to wheels what is made while they are built: the studio's editor, where npm can make it, and
on Linux the compiled C library of the simulated driver.

The library needs a C compiler and the packages that warplens itself needs, so `python -m build
--no-isolation` in an environment that has them. Elsewhere the first program that wants the library
compiles it, and the studio's page has a plain text area until `warplens studio --build-editor`.
Nothing of this holds up an installation from a clone that stays editable.
"""

from __future__ import annotations

import platform
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST = 17  # of glibc 2, that manylinux names


class WheelHook(BuildHookInterface[Any]):
    """The hook of wheels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the files and the platform's tag."""
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root) / "src"))
        try:
            self._make_editor()
            files = self._library()
        finally:
            sys.path.pop(0)
        folder = Path(tempfile.mkdtemp())
        newest = OLDEST
        for name, data in files.items():
            (folder / name).write_bytes(data)
            build_data["force_include"][str(folder / name)] = f"warplens/libcuda/prebuilt/{name}"
            newest = max([newest, *(int(n) for n in re.findall(rb"GLIBC_2\.(\d+)", data))])
        if files:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-manylinux_2_{newest}_{platform.machine()}"

    def _make_editor(self) -> None:
        from warplens.errors import ToolchainError
        from warplens.studio import bundle

        if bundle.is_current() or not bundle.has_npm():
            return
        try:
            bundle.build()
        except (ToolchainError, OSError) as error:
            self.app.display_warning(f"The studio gets a plain text area: {error}")

    def _library(self) -> Mapping[str, bytes]:
        if not sys.platform.startswith("linux"):
            return {}
        try:
            from warplens.frontends import runtime_library
            from warplens.libcuda import shipped

            return {**shipped.contents(), **runtime_library.contents()}
        except Exception as reason:
            self.app.display_warning(f"a wheel without the C library: {reason}")
            return {}
