"""Small CUDA kernels that together use most of what compilers emit."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from warplens.sass.parser import KernelSet, load_kernels
from warplens.toolchain import nvdisasm, packages
from warplens.toolchain.nvrtc import Compiled, compile_source

FOLDER = Path(__file__).parent
ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
_HEAVY = ("blocks", "cooperative")  # seconds to compile: not on every architecture
_SKIPPED = {("copies", 75)}  # cp.async begins with sm_80
CASES = tuple(
    (path.stem, sm)
    for path in sorted(FOLDER.glob("*.cu"))
    for sm in ((75, 90, 120) if path.stem in _HEAVY else ARCHITECTURES)
    if (path.stem, sm) not in _SKIPPED
)
# nvdisasm's text form takes most of a second each.
TEXT_CASES = tuple((name, sm) for name, sm in CASES if sm in (75, 90, 120))


def in_turn(cases: tuple[tuple[str, int], ...], share: int = 1, first: int = 0) -> list[Any]:
    """Parameters: each file on one architecture in every run, on sm_90 or in turn another one;
    with `share` one pair of files in so many, from pair `first` on."""
    chosen = []
    for place, name in enumerate(sorted({name for name, _ in cases})):
        if place // 2 % share != first:
            continue
        others = [sm for own, sm in cases if own == name and sm != 90]
        is_other = place % 2 and name not in _HEAVY
        chosen.append((name, others[place // 2 % len(others)] if is_other else 90))
    return [
        pytest.param(name, sm, marks=() if (name, sm) in chosen else pytest.mark.long)
        for name, sm in cases
    ]


@cache
def compiled(name: str, sm: int, *options: str) -> Compiled:
    """A corpus file's compile."""
    path = FOLDER / f"{name}.cu"
    return compile_source(path.read_text(), name=str(path), sm=sm, options=options)


@cache
def kernels(name: str, sm: int, *options: str) -> KernelSet:
    """A corpus file's kernels."""
    return load_kernels(compiled(name, sm, *options).cubin)


@cache
def nvdisasm_text(name: str, sm: int) -> str:
    """What nvdisasm prints of a corpus file in text form, with source lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.cubin"
        path.write_bytes(compiled(name, sm).cubin)
        program = packages.find_binary(nvdisasm.PACKAGE, "nvdisasm", "nvdisasm.exe")
        command = [program, "-g", "-c", path]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
