"""The library as a wheel for one platform brings it: compiled, with the API it was compiled for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from warplens.driver.entries import served
from warplens.libcuda.build import SONAME, compiled
from warplens.libcuda.header import DriverApi, driver_api
from warplens.libcuda.lookup import lookups
from warplens.libcuda.source import library_source

FOLDER = Path(__file__).parent / "prebuilt"
_API = "api.json"


def source_of(api: DriverApi) -> str:
    """The library's text for an API."""
    entries = {**served(), **lookups(api, lambda _: 0)}
    return library_source(api.names, {name: entry.types for name, entry in entries.items()})


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def contents() -> Mapping[str, bytes]:
    """What a wheel gets, by name: needs a C compiler and NVIDIA's headers.

    Raises:
        ToolchainError: one of the two is missing.
    """
    api = driver_api()
    source = source_of(api)
    told = {"source": _digest(source), "api": asdict(api)}
    return {SONAME: compiled(source, soname=SONAME), _API: json.dumps(told).encode()}


def shipped_api() -> DriverApi | None:
    """The API of the library that came with the wheel; None if none did, or of another version."""
    if not (FOLDER / SONAME).exists():
        return None
    told = json.loads((FOLDER / _API).read_text())
    api = DriverApi(
        names=tuple(told["api"]["names"]), current=told["api"]["current"],
        versions={name: tuple(found) for name, found in told["api"]["versions"].items()},
    )  # fmt: skip
    return api if _digest(source_of(api)) == told["source"] else None


def shipped_library() -> bytes:
    """That library."""
    return (FOLDER / SONAME).read_bytes()
