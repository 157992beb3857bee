"""A problem from a document: sizes and restrictions as expressions, arguments as on the command
line (`f32[1<<20]=rand`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warplens.errors import InputError
from warplens.tune.problem import Problem
from warplens.tune.space import Space

_KEYS = frozenset({
    "source", "kernel", "space", "restrictions", "grid", "block", "shared", "cluster", "args",
    "options", "gpus", "reference", "rtol", "atol",
})  # fmt: skip


def read_problem(path: Path) -> tuple[Problem, tuple[str, ...]]:
    """A problem from a TOML file, and the GPUs that it names.

    Raises:
        InputError: the file cannot be read, or a key is missing, unknown or of another type.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    unknown = set(document) - _KEYS - {"constants"}
    if unknown:
        raise InputError(f"{path}: unknown key {sorted(unknown)[0]!r}",
                         hint=f"Known: {', '.join(sorted(_KEYS))}, constants.")
    missing = {"source", "kernel", "space", "grid", "block", "args"} - set(document)
    if missing:
        raise InputError(f"{path}: {sorted(missing)[0]!r} is missing")
    return problem_of(document, path.parent), tuple(document.get("gpus", ()))


def problem_of(document: Mapping[str, Any], folder: Path) -> Problem:
    """The problem that a TOML document describes; paths are relative to `folder`.

    Raises:
        InputError: a value is of another type than it must be.
    """
    space = Space(_table(document, "space"), tuple(_list(document, "restrictions")))
    return Problem(
        source=_source(document["source"], folder),
        kernel=str(document["kernel"]),
        space=space,
        grid=document["grid"],
        block=document["block"],
        shared=document.get("shared", 0),
        cluster=document.get("cluster"),
        args=_arguments(_list(document, "args")),
        options=tuple(map(str, _list(document, "options"))),
        reference=_reference(document.get("reference"), folder),
        rtol=_number(document, "rtol", Problem.rtol),
        atol=_number(document, "atol", Problem.atol),
        constants=dict(_table(document, "constants")),
    )


def _source(value: Any, folder: Path) -> Any:
    if isinstance(value, Mapping):
        return {key: folder / str(one) for key, one in value.items()}
    return folder / str(value)


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key, {})
    if not isinstance(value, Mapping):
        raise InputError(f"{key} is not a table of values")
    return value


def _number(document: Mapping[str, Any], key: str, default: float) -> float:
    value = document.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise InputError(f"{key} is not a number")
    return float(value)


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    value = document.get(key, [])
    if not isinstance(value, list):
        raise InputError(f"{key} is not a list")
    return value


def _arguments(texts: list[Any]) -> tuple[Any, ...]:
    from warplens.session.written_arguments import parse

    return tuple(parse(str(text), seed=index) for index, text in enumerate(texts))


def _reference(value: Any, folder: Path) -> dict[int, Any] | None:
    """Argument index -> .npy file."""
    import numpy as np

    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InputError("reference is not a table of argument = 'file.npy'")
    try:
        return {int(key): np.load(folder / str(name), allow_pickle=False)
                for key, name in value.items()}  # fmt: skip
    except (OSError, ValueError) as error:
        raise InputError(f"reference: {error}") from error
