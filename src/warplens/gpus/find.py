"""GPUs by name, and cards that a user's file describes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from warplens.errors import InputError
from warplens.gpus.spec import GpuSpec, Sourced, named_gpu, renamed


def find_gpu(name: str | GpuSpec) -> GpuSpec:
    """The GPU of that name or alias, or the one that a TOML file describes.

    A name's case and blanks do not matter; a GpuSpec is returned as it is. "sm_90" (also "9.0" or
    "sm_90a") gives the plain limits of the architecture with the counts and clocks of a nominal
    card. A file, such as `warplens calibrate` writes, names the GPU or architecture that it
    `extends` and gives other numbers for it, each `{ value = ..., source = "..." }`.

    >>> find_gpu("rtx4090").sm_count
    128
    >>> find_gpu("sm_90").max_warps_per_sm
    64

    Raises:
        UnknownGpu: there is no such GPU.
        InputError: the file cannot be read, or has a number that GPUs do not have.
    """
    if isinstance(name, str) and name.endswith(".toml"):
        return _described(Path(name))
    return named_gpu(name)


def _described(path: Path) -> GpuSpec:
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    base, name = found.pop("extends", None), found.pop("name", path.stem)
    if not isinstance(base, str) or not isinstance(name, str):
        raise InputError(
            f"{path} does not say which GPU it describes",
            hint='Its first lines give it: extends = "H200 SXM" and name = "my card".',
        )
    found.pop("notes", None)
    numbers = dict(_numbers(path, found))
    return renamed(named_gpu(base), name, numbers)


def _numbers(
    path: Path, tables: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Sourced]]:
    for key, value in tables.items():
        full = f"{prefix}{key}"
        if not isinstance(value, dict):
            raise InputError(
                f"{path}: {full} is no table with a value and its source",
                hint=f'Write {key} = {{ value = ..., source = "..." }}.',
            )
        if "value" in value:
            yield full, Sourced(value["value"], str(value.get("source", f"{path.name}")))
        else:
            yield from _numbers(path, value, f"{full}.")
