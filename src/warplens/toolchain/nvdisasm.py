"""Runs nvdisasm, NVIDIA's disassembler from pip, and reads its JSON listing."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from warplens.errors import CubinError, SassError, ToolchainError
from warplens.toolchain import packages
from warplens.toolchain.cache import Cache, default_cache, key_of

PACKAGE = "nvidia-cuda-nvdisasm"
_TIMEOUT_SECONDS = 300


@dataclass(frozen=True, slots=True)
class ListedInstruction:
    """One instruction as nvdisasm prints it; `attributes` such as control-flow: True."""

    predicate: str
    opcode: str
    operands: str
    attributes: Mapping[str, Any]


def disassemble(
    cubin: bytes, *, cache: Cache | None = None
) -> dict[str, tuple[ListedInstruction, ...]]:
    """The instructions of every function, in address order, 16 bytes each.

    Raises:
        CubinError: nvdisasm refuses the cubin.
        SassError: its output cannot be understood.
        ToolchainError: nvdisasm is missing or cannot run.
    """
    store = default_cache() if cache is None else cache
    key = listing_key(cubin)
    text = store.get("listing", key)
    if text is not None:
        with suppress(SassError):
            return _read_listing(text)
    text = run(cubin)
    listing = _read_listing(text)
    store.put("listing", key, text)
    return listing


@lru_cache(maxsize=1)
def _program() -> Path:
    return packages.find_binary(PACKAGE, "nvdisasm", "nvdisasm.exe")


def listing_key(cubin: bytes) -> bytes:
    """Where the cache keeps a cubin's listing."""
    return key_of(packages.version_of(PACKAGE), cubin)


def run(cubin: bytes) -> bytes:
    """The JSON that nvdisasm writes; it reads files only, so the cubin goes through a temporary
    one.

    Raises:
        CubinError: nvdisasm refuses the cubin.
        ToolchainError: nvdisasm is missing or cannot run.
    """
    program = _program()
    handle, name = tempfile.mkstemp(suffix=".cubin")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(cubin)
        done = subprocess.run(
            [program, "-json", name], capture_output=True, timeout=_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(
            f"nvdisasm cannot run: {error}",
            hint=f'pip install --force-reinstall "{PACKAGE}>=13.0,<14"',
        ) from error
    finally:
        with suppress(OSError):
            os.unlink(name)
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip().replace(name, "the cubin")
        raise CubinError(f"nvdisasm rejects the cubin: {message or f'exit {done.returncode}'}")
    return done.stdout


def _read_listing(text: bytes) -> dict[str, tuple[ListedInstruction, ...]]:
    try:
        document = json.loads(text)
        functions = document[1] if len(document) > 1 else []
        return {
            function["function-name"]: tuple(
                ListedInstruction(
                    entry.get("predicate", ""),
                    entry["opcode"],
                    entry.get("operands", ""),
                    entry.get("other-attributes", _NONE),
                )
                for entry in function["sass-instructions"]
            )
            for function in functions
        }
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise SassError(
            f"cannot parse nvdisasm's listing: {error}",
            hint=f'pip install --force-reinstall "{PACKAGE}>=13.0,<14"',
        ) from error


_NONE: Mapping[str, Any] = {}
