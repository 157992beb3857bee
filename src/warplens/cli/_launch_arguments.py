"""What the command line says of a launch: sizes, files to save, variables to set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warplens.errors import InputError
from warplens.session.written_arguments import parse
from warplens.wording import count as count_text

if TYPE_CHECKING:
    from warplens.execute.executable import Image

__all__ = ["parse", "save_target", "set_variable", "triple"]


def save_target(text: str, count: int) -> tuple[int, Path]:
    """Reads `I=FILE.npy` of `--save-arg`; I counts from 0."""
    index, equals, name = text.partition("=")
    if not equals or not index.strip().isdigit() or not name.strip():
        raise InputError(f"--save-arg {text!r} is not of the form I=FILE.npy")
    number = int(index)
    if number >= count:
        raise InputError(f"--save-arg {text!r}: no --arg has that index; they count from 0, and "
                         f"there {'is' if count == 1 else 'are'} {count_text(count, 'argument')}")
    path = Path(name.strip())
    return number, path if path.suffix == ".npy" else path.with_name(path.name + ".npy")


def triple(name: str, text: str) -> tuple[int, ...]:
    """`32,128` as (32, 128)."""
    try:
        sizes = tuple(int(part, 0) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"--{name} {text!r} is not X, X,Y or X,Y,Z") from error
    if not 1 <= len(sizes) <= 3:
        raise InputError(f"--{name} {text!r} is not X, X,Y or X,Y,Z")
    return sizes


def set_variable(image: Image, text: str, *, seed: int) -> None:
    """Writes a variable of a module: `NAME=TYPE=VALUE` or `NAME=TYPE[N]=INIT`.

    Raises:
        InputError: there is no such variable, or the value has another size.
    """
    name, _, value = text.partition("=")
    variables = image.cubin.symbols
    if name not in variables:
        known = ", ".join(sorted(variables)) or "none"
        raise InputError(f"--constant {text!r}: there is no variable {name!r}",
                         hint=f"The module has: {known}.")
    raw = parse(value, seed=seed)
    data = raw if isinstance(raw, bytes) else np.asarray(raw).tobytes()
    size = variables[name].size
    if len(data) != size:
        raise InputError(f"--constant {text!r}: {name} has {count_text(size, 'byte')}, the value "
                         f"{len(data):,}")
    view = image.memory.view(image.variables.addresses[name], size)
    view[:] = np.frombuffer(data, np.uint8)
