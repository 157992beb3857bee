"""The repository's own kernels are lifted on every architecture that the compiler knows.

Each file is compiled, and every instruction of every kernel must have a rule; nothing is run. An
ordinary run takes one file on each architecture, another one on each; `-m long` takes all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warplens.isa import families
from warplens.lift.coverage import gaps_of
from warplens.sass.parser import load_kernels
from warplens.toolchain.cubin import ARCHITECTURES
from warplens.toolchain.nvrtc import compile_source

families.load_all()
ROOT = Path(__file__).parents[2]
FOLDERS = ("tests/kernels", "tests/breadth", "tests/isa", "tests/cub", "tests/counters",
           "tests/execute", "tests/advice", "tests/bad_input", "tests/sass/corpus",
           "src/warplens/reference/kernels", "src/warplens/studio/kernels")  # fmt: skip
LEFT_OUT = ("tests/breadth/refused.cu",)  # on purpose
# Files that ask for more than older architectures have.
FROM = {"tests/breadth/cluster.cu": 90, "tests/breadth/clusters.cu": 90}
OPTIONS = {"tests/kernels/wide.cu": ("--device-int128",)}
SHARE = 84  # of the pairs of a file and an architecture one in so many is ordinary
FIRST = 8  # the pairs of short files


def sources() -> list[str]:
    """The files, by their place in the repository."""
    found = (path.relative_to(ROOT).as_posix() for folder in FOLDERS
             for path in sorted((ROOT / folder).glob("*.cu")))  # fmt: skip
    return [name for name in found if name not in LEFT_OUT]


def cases() -> list[Any]:
    """Files and architectures, in turn."""
    return [
        pytest.param(name, sm, id=f"{name}-sm_{sm}",
                     marks=() if (i + 5 * k) % SHARE == FIRST else pytest.mark.long)
        for i, name in enumerate(sources()) for k, sm in enumerate(ARCHITECTURES)
        if sm >= FROM.get(name, 0)
    ]  # fmt: skip


def refused(name: str, sm: int) -> list[str]:
    """The instructions of a file's kernels that are refused, and why."""
    path = ROOT / name
    compiled = compile_source(path.read_text(), name=path.name, sm=sm,
                              options=OPTIONS.get(name, ()), include_dirs=(path.parent,))
    kernels = load_kernels(compiled.cubin).values()
    return [f"{gap.kernel}: {gap.sass}: {gap.reason}" for kernel in kernels
            for gap in gaps_of(kernel)]  # fmt: skip


@pytest.mark.parametrize(("name", "sm"), cases())
def test_kernels_are_lifted(name: str, sm: int) -> None:
    """No instruction is refused."""
    assert refused(name, sm) == []
