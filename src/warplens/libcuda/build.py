"""Compiles the library with the host's C compiler; a library once built is kept in the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from warplens.errors import ToolchainError
from warplens.toolchain.cache import default_cache, key_of

SONAME = "libcuda.so.1"
_COMPILERS = ("cc", "gcc", "clang")
_OPTIONS = ("-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-Bsymbolic")


def build(source: str, soname: str = SONAME) -> Path:
    """The path of the compiled library.

    Raises:
        ToolchainError: there is no C compiler, or it fails.
    """
    key = key_of("libcuda", os.uname().machine, *_OPTIONS, soname, source)
    cache = default_cache()
    data = cache.get("libcuda", key)
    if data is None:
        data = compiled(source, soname=soname)
        cache.put("libcuda", key, data)
    return placed(data, soname)


def built_or_said(source: str, soname: str) -> Path | None:
    """The same for a library that not every program needs: without a compiler this is only said."""
    try:
        return build(source, soname)
    except ToolchainError as error:
        print(f"warplens: {soname} is not there: {error}", file=sys.stderr)
        return None


def placed(data: bytes, soname: str = SONAME) -> Path:
    """A file of its own for the dynamic linker: cache entries begin with a digest."""
    folder = Path(tempfile.mkdtemp(prefix="warplens-libcuda-"))
    path = folder / soname
    path.write_bytes(data)
    return path


def compiled(
    source: str, *, soname: str = SONAME, options: Sequence[str] = (),
    beside: Mapping[str, bytes] | None = None,
) -> bytes:  # fmt: skip
    """A shared library of C text.

    Args:
        options: further ones of the compiler.
        beside: files that the options name, by name.

    Raises:
        ToolchainError: there is no C compiler, or it fails.
    """
    compiler = os.environ.get("CC") or next(filter(shutil.which, _COMPILERS), None)
    if compiler is None:
        raise ToolchainError(
            "the simulated driver's C library needs a C compiler, and none was found",
            hint="Install one (apt-get install gcc), or name it in the environment variable CC.",
        )
    with tempfile.TemporaryDirectory(prefix="warplens-") as folder:
        text, library = Path(folder) / "library.c", Path(folder) / "library.so"
        text.write_text(source)
        for name, data in (beside or {}).items():
            (Path(folder) / name).write_bytes(data)
        words = [*compiler.split(), *_OPTIONS, f"-Wl,-soname,{soname}", "-o", library.name,
                 text.name, *options]  # fmt: skip
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ToolchainError(f"{compiler} does not build the C library:\n{done.stderr}")
        return library.read_bytes()
