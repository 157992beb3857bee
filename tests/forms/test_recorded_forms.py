"""Every form of an instruction that was recorded on an H200 gives the same bits here.

The ordinary run takes the forms of compiled code and some of the others, 32 inputs each; `-m long`
takes all of them with all 256 inputs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.forms import replay
from tests.forms.replay import slots
from tests.in_turn import one_in

from recorded_forms import LANES, Recorded, Recording, canonical, digest_of  # isort: skip

PATH = Path(__file__).parents[2] / "validation" / "data" / "forms_sm90.npz.xz"
PARTS, ALL_PARTS = 24, 96
OTHERS = 12  # of the forms that compiled code does not have, one in so many
_WIDTHS = {"F32": (0x7FFFFFFF, 0x7F800000), "F16": (0x7FFF, 0x7C00), "BF16": (0x7FFF, 0x7F80)}


@cache
def recording() -> Recording:
    """The file."""
    return Recording(PATH)


@cache
def common() -> list[Recorded]:
    """The forms of the ordinary run."""
    wanted = set(recording().in_corpus)
    return [one for i, one in enumerate(recording().forms)
            if (i in wanted or i % OTHERS == 0) and i not in recording().doubtful]  # fmt: skip


def of_doubles(name: str, rows: slots.Words) -> slots.Words:
    """Rows in which a conversion's NaNs are one: of doubles, payloads are not modelled."""
    mnemonic = name.split(" ")[0].split(".")
    types = [m for m in mnemonic if m in ("F64", *_WIDTHS)]
    if mnemonic[0] != "F2F" or types[-1] != "F64" or types[0] == "F64":
        return rows
    magnitude, infinity = _WIDTHS[types[0]]
    is_nan = (rows & magnitude) > infinity
    is_nan[1:] = False  # the result stands in the first row
    return np.where(is_nan, np.uint32(magnitude), rows)


def differing(items: list[Recorded], threads: int) -> list[str]:
    """Names of forms whose results are not the recorded ones; refused forms count as none."""
    inputs = slots.pool()
    found = replay.accepted([(one.number, one.form) for one in items], inputs, threads)
    wrong = []
    for place, rows in found.items():
        one = items[place]
        if threads == slots.THREADS:
            is_same = digest_of(one.name, rows) == one.digest or not of_doubles_differ(one, rows)
        else:
            own = of_doubles(one.name, canonical(one.name, rows[:, :LANES]))
            is_same = bool((own == of_doubles(one.name, one.expected(inputs))).all())
        if not is_same:
            wrong.append(one.name)
    return wrong


def of_doubles_differ(one: Recorded, rows: slots.Words) -> bool:
    """Whether a form with another digest differs in the lanes that are kept, NaNs aside."""
    if of_doubles(one.name, rows) is rows:
        return True
    own = of_doubles(one.name, canonical(one.name, rows[:, :LANES]))
    return bool((own != of_doubles(one.name, one.expected(slots.pool()))).any())


def batches(items: list[Recorded]) -> list[list[Recorded]]:
    """Forms that share a kernel."""
    return [[items[i] for i in own] for own in slots.batches([one.form for one in items])]


@pytest.mark.parametrize("part", one_in(24, range(PARTS), str))
def test_forms_of_compiled_code(part: int) -> None:
    """Forms of compiled code, and some of their neighbours: the recorded bits."""
    items = common()[part::PARTS]
    assert items

    assert [name for own in batches(items) for name in differing(own, LANES)] == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(ALL_PARTS))
def test_all_forms(part: int) -> None:
    """Every recorded form, all inputs: the recorded digest."""
    every = [one for i, one in enumerate(recording().forms) if i not in recording().doubtful]
    items = every[part::ALL_PARTS]

    assert [name for own in batches(items) for name in differing(own, slots.THREADS)] == []


def test_wrong_results_are_noticed() -> None:
    """A recording in which one bit was turned over is reported."""
    one = next(r for r in common() if r.name == "IADD3 R, R, R, R")
    values = one.values.copy()
    values[0, 5] ^= 1
    changed = Recorded(one.name, one.number, one.form, one.places, values, one.digest)

    assert differing([one, changed], LANES) == [one.name]
