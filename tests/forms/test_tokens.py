"""Every token of an accepted form counts: without it some result is another, or it is a hint.

Forms are compared in pairs, both encoded: one with a modifier, a mark (`-`, `~`, `|x|`, `!`) or a
suffix of an operand, the other without. Both get the same inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from tests.forms import replay
from tests.forms.replay import slots
from tests.forms.test_recorded_forms import recording
from warplens.isa import hints

PARTS = 8
Pair = tuple[str, str, int, int]  # token, where it stands, the form with it, the form without


def without(name: str) -> Iterator[tuple[str, str, str]]:
    """Each token of a form that may be left out, where it stands, and the form without it."""
    mnemonic, _, rest = name.partition(" ")
    opcode, *modifiers = mnemonic.split(".")
    for i, modifier in enumerate(modifiers):
        left = ".".join((opcode, *modifiers[:i], *modifiers[i + 1 :]))
        yield f".{modifier}", "modifier", f"{left} {rest}".strip()
    operands = rest.split(", ")
    for i, operand in enumerate(operands):
        for token, plain in _less(operand):
            left = ", ".join((*operands[:i], plain, *operands[i + 1 :]))
            yield token, f"operand {i}", f"{mnemonic} {left}"


def _less(operand: str) -> Iterator[tuple[str, str]]:
    if operand[:1] in ("-", "~", "!"):
        yield operand[0], operand[1:]
    if "|" in operand:
        yield "|", operand.replace("|", "")
    if "[" not in operand:
        for suffix in re.findall(r"\.\w+", operand):
            yield suffix, operand.replace(suffix, "", 1)


@cache
def pairs() -> list[Pair]:
    """One pair for every opcode, token and place; forms of fewer tokens first."""
    entries = recording().entries
    numbers = {name: i for i, (name, _) in enumerate(entries)}
    found: dict[tuple[str, str, str], Pair] = {}
    for name, i in sorted(numbers.items(), key=lambda item: (len(item[0]), item[0])):
        for token, where, plain in without(name):
            key = (name.partition(" ")[0].partition(".")[0], token, where)
            if plain in numbers and not is_hint(key[0], token):
                found.setdefault(key, (token, where, i, numbers[plain]))
    return sorted(found.values())


def is_hint(opcode: str, token: str) -> bool:
    """Whether the table of hints names the token."""
    name = token.removeprefix(".")
    return hints.modifier(opcode, name) is not None or name in hints.SUFFIXES


@pytest.mark.parametrize("part", range(PARTS))
def test_tokens_change_results(part: int) -> None:
    """Of two forms that differ in one token, executed with the same inputs, results differ."""
    entries, inputs = recording().entries, slots.pool()
    own = pairs()[part::PARTS]
    assert own

    same = []
    for batch in slots.batches([entries[i][1] for _, _, i, _ in own], room=2400, limit=32):
        chosen = [own[k] for k in batch]
        items = [(i, entries[n][1]) for _, _, i, j in chosen for n in (i, j)]
        found = replay.accepted(items, inputs, slots.THREADS)
        for k, (token, where, i, _) in enumerate(chosen):
            first, second = found.get(2 * k), found.get(2 * k + 1)
            if first is not None and second is not None and np.array_equal(first, second):
                same.append(f"{token} ({where}) of {entries[i][0]}")

    assert same == []
