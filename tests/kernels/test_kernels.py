"""Every corpus case gives its reference's result on every architecture."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import tests.kernels.every  # noqa: F401
import warplens as wl
from tests.kernels.model import (
    ARCHITECTURES,
    CASES,
    FOLDER,
    OTHERS,
    Case,
    assert_results,
    in_turn,
)


@cache
def compiled(source: str, options: tuple[str, ...], architecture: str) -> Any:
    """The module of one file on one architecture, compiled once."""
    return wl.Device(architecture).compile(FOLDER / source, options=options)


def repeated() -> set[str]:
    """Cases that only a long run takes: an ordinary one has every second one of a file, and each
    way of the ladder with one size of blocks, with the others in turn."""
    ways: dict[str, list[str]] = {}
    files: dict[str, list[str]] = {}
    for case in CASES:
        if case.source == "ladder.cu":
            ways.setdefault(case.kernel.partition("<")[0], []).append(case.name)
        else:
            files.setdefault(case.source, []).append(case.name)
    sizes = {name for place, names in enumerate(ways.values())
             for number, name in enumerate(names) if number != place % len(names)}  # fmt: skip
    return sizes.union(*(names[1::2] for names in files.values()))


def in_file_order() -> list[Any]:
    """Cases of one file and architecture stand next to each other: one compile."""
    files = sorted({case.source for case in CASES})
    later = repeated()
    return [
        pytest.param(case, architecture, id=f"{case.name}-{architecture}",
                     marks=pytest.mark.long if case.name in later else
                     in_turn(files.index(case.source), architecture))
        for architecture in ARCHITECTURES
        for case in sorted(CASES, key=lambda case: case.source)
    ]  # fmt: skip


def on_other_architectures() -> list[Any]:
    """The same cases where nothing was measured; an ordinary run takes one file of each."""
    files = sorted({case.source for case in CASES})
    return [
        pytest.param(case, architecture, id=f"{case.name}-{architecture}",
                     marks=() if case.source == files[3 * place + 8] else pytest.mark.long)
        for place, architecture in enumerate(OTHERS)
        for case in sorted(CASES, key=lambda case: case.source)
    ]  # fmt: skip


@pytest.mark.parametrize(("case", "architecture"), [*in_file_order(), *on_other_architectures()])
def test_case(case: Case, architecture: str) -> None:
    """The kernel's outputs equal the reference's."""
    kernel = compiled(case.source, case.options, architecture)[case.kernel]
    arguments, expected = case.problem()
    kernel[case.grid, case.block, 0, case.shared](*arguments)

    assert_results(case, arguments, expected, architecture)


def test_corpus_is_large() -> None:
    """The corpus holds at least 100 kernels."""
    assert len({(case.source, case.kernel) for case in CASES}) >= 100
