"""Builds and runs whole CUDA programs for the verbs that take them."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from warplens.errors import InputError

if TYPE_CHECKING:
    from warplens.programs.program import Settings

_SOURCES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c")


def is_program(target: str) -> bool:
    """Whether a target is a program that was built before."""
    path = Path(target)
    if path.suffix in (".py", ".cu", ".cubin", ".ptx", ".fatbin") or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(20)
    is_elf = head[:4] == b"\x7fELF"
    return (is_elf and head[18] in (62, 183)) or (head[:2] == b"#!" and os.access(path, os.X_OK))


def built(words: Sequence[str], sm: int, output: Path | None) -> None:
    """Compiles with nvcc."""
    from warplens.programs.library import placed
    from warplens.toolchain import nvcc

    with tempfile.TemporaryDirectory(prefix="warplens-libraries-") as folder:
        libraries = None
        if any(word in ("-lcuda", "-lcublas", "-lcufft") for word in words):
            placed(Path(folder))
            libraries = Path(folder)
        nvcc.run(nvcc.command(words, sm=sm, libraries=libraries, output=output))


@contextmanager
def program_of(target: str, options: Sequence[str], gpu: str) -> Iterator[Path]:
    """The program to run: the target itself, or what is built of it for the time being."""
    from warplens.gpus.spec import find_gpu

    path = Path(target)
    if not path.is_file():
        raise InputError(f"{target}: no such file")
    if path.suffix not in _SOURCES:
        yield path
        return
    folder = Path(tempfile.mkdtemp(prefix="warplens-build-"))
    try:
        program = folder / path.stem
        built([target, "-lineinfo", *options], find_gpu(gpu).sm, program)
        yield program
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def settings_of(arguments: argparse.Namespace) -> Settings:
    """What the program runs on."""
    from warplens.programs.program import Settings

    clock: str | float = arguments.clock
    with suppress(ValueError):
        clock = float(clock)
    return Settings(gpus=tuple(arguments.gpu or ("H200",)), clock=clock)


def program_words(arguments: argparse.Namespace) -> list[str]:
    """The program's own arguments: what follows it, without the `--` that may come first."""
    words = list(arguments.script_arguments)
    return words[1:] if words[:1] == ["--"] else words
