"""Finds the files of NVIDIA's pip packages."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from functools import lru_cache
from pathlib import Path

from warplens.errors import ToolchainError

_TREES = ("cu13",)
_BINARY_FOLDERS = ("lib", "bin", "bin/x86_64", "bin/x64", "lib64", "lib/x64")


@lru_cache(maxsize=1)
def trees() -> tuple[Path, ...]:
    """The folders into which NVIDIA's CUDA 13 packages install, in import order."""
    spec = importlib.util.find_spec("nvidia")
    locations = spec.submodule_search_locations if spec is not None else None
    found = (Path(base) / tree for base in locations or () for tree in _TREES)
    return tuple(path for path in found if path.is_dir())


def find_binary(package: str, *patterns: str) -> Path:
    """The first file that fits one of the patterns in a library or program folder.

    Raises:
        ToolchainError: naming the pip package that has to be installed.
    """
    for tree in trees():
        for folder in _BINARY_FOLDERS:
            for pattern in patterns:
                matches = sorted((tree / folder).glob(pattern))
                if matches:
                    return matches[-1]
    raise missing(package, " or ".join(patterns))


def include_dirs() -> tuple[Path, ...]:
    """The folders with CUDA's headers: the toolkit's first, then CCCL's.

    Raises:
        ToolchainError: naming the pip package that has to be installed.
    """
    found = []
    for package, marker, folder in (
        ("nvidia-cuda-runtime", "cuda_fp16.h", "include"),
        ("nvidia-cuda-crt", "crt/mma.h", "include"),
        ("nvidia-cuda-cccl", "cuda/std/cstdint", "include/cccl"),
    ):
        places = [tree / folder for tree in trees() if (tree / folder / marker).is_file()]
        if not places:
            raise missing(package, marker)
        found.append(places[0])
    return tuple(dict.fromkeys(found))


def version_of(package: str) -> str:
    """The installed version of a pip package, empty when it is not registered."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def missing(package: str, what: str) -> ToolchainError:
    """The error for a file that a pip package should have brought."""
    return ToolchainError(
        f"{what} was not found: the pip package {package} is missing or damaged",
        hint=f'pip install --force-reinstall "{package}>=13.0,<14"',
    )
