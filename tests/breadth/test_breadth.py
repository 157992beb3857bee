"""Every feature's kernel gives its reference's result on every architecture that has it."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import pytest

import warplens as wl
from tests.breadth.every import counts
from tests.breadth.model import FEATURES, FOLDER
from tests.kernels.model import ARCHITECTURES, Case, assert_results, in_turn
from warplens.isa.existing import existing


@cache
def compiled(source: str, options: tuple[str, ...], architecture: str) -> Any:
    """The module of one file on one architecture, compiled once."""
    return wl.Device(architecture).compile(FOLDER / source, options=options)


def in_file_order() -> list[Any]:
    """Cases of one file and architecture stand next to each other; an ordinary run takes every
    second one of a file."""
    files = sorted({one.case.source for one in FEATURES})
    found = []
    for architecture, file in product(ARCHITECTURES, files):
        of_file = (one for one in FEATURES if one.case.source == file)
        for number, one in enumerate(of_file):
            if architecture not in one.architectures:
                continue
            marks = in_turn(files.index(file), architecture, one.architectures)
            found.append(pytest.param(
                one.case, architecture, id=f"{one.case.name}-{architecture}",
                marks=(pytest.mark.long,) if number % 2 else marks,
            ))  # fmt: skip
    return found


@pytest.mark.parametrize(("case", "architecture"), in_file_order())
def test_feature(case: Case, architecture: str) -> None:
    """The kernel's outputs equal the reference's."""
    kernel = compiled(case.source, case.options, architecture)[case.kernel]
    sm = int(architecture[3:])
    unlisted = {i.opcode for i in kernel.sass.instructions if sm not in existing().get(i.opcode, ())}
    assert not unlisted, "missing in isa/data/opcodes.json"
    arguments, expected = case.problem()
    kernel[case.grid, case.block, 0, case.shared](*arguments)

    assert_results(case, arguments, expected, architecture)


def test_breadth_is_large() -> None:
    """At least 80 kernels on each architecture."""
    assert min(counts().values()) >= 80
