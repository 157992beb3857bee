"""Each bad input gives its typed error, and a good kernel runs right afterwards."""

from __future__ import annotations

import importlib

import pytest

import warplens as wl
from tests.bad_input.cases import CASES, BadInput, run_good

for _part in ("languages", "launches", "running"):
    importlib.import_module(f"tests.bad_input.{_part}")


# An ordinary run stores 1, 4 and 16 bytes out of bounds and loads 2 and 8, each type's own kernel.
LATER = tuple(
    f"{access}_{type}_"
    for types, accesses in ((("unsigned short", "uint2"), ("store",)),
                            (("unsigned char", "unsigned", "uint4"), ("load", "read")))
    for type in types for access in accesses
)  # fmt: skip


@pytest.mark.parametrize("case", [
    pytest.param(case, id=case.name, marks=[pytest.mark.long] * case.name.startswith(LATER))
    for case in CASES
])  # fmt: skip
def test_bad_input(case: BadInput) -> None:
    """The error's class is the promised one and its message says what happened."""
    with pytest.raises(wl.WarplensError) as caught:
        case.action()

    message = str(caught.value).lower()
    assert isinstance(caught.value, case.error), f"{type(caught.value).__name__}: {message}"
    assert message.strip()
    for word in case.words:
        assert word in message, f"{word!r} is not in: {message}"
    run_good()


def test_there_are_two_hundred() -> None:
    """The list is long and its names differ."""
    names = [case.name for case in CASES]

    assert len(names) >= 200
    assert len(set(names)) == len(names)
