"""Every token of an accepted form counts: without it some result is another, or it is a hint.

Recorded forms are compared in pairs: one with a modifier, a mark (`-`, `~`, `|x|`, `!`), a suffix
of an operand, a predicate operand or a guard, the other without. Both are executed on the same
inputs. Of each opcode, token and place several pairs are tried, since a token may be without effect
in one form (the sign of an operand of a comparison that is always false).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.forms import replay
from tests.forms.replay import slots
from tests.forms.test_recorded_forms import recording
from tests.in_turn import one_in
from warplens.isa import hints

PARTS, SHARE = 24, 24
TRIED = 6  # pairs of one token
GUARD_PLACE, GUARD = 12, 1  # P1, which differs from lane to lane
Key = tuple[str, str, str]  # opcode, token, where it stands
Pair = tuple[slots.Form, slots.Form, int]  # with the token, without it, number of the inputs

# Tokens that change no result of the forms that were recorded, and why.
WITHOUT_EFFECT: dict[Key, str] = {
    ("NANOSLEEP", "!P", "operand 0"): "sleeping changes no result",
}
TRIED_PARTS = 10  # of PARTS: what the others hold has not been looked at (DEVIATIONS 108)


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
        if operand.lstrip("!") in ("P", "UP"):
            left = ", ".join((*operands[:i], *operands[i + 1 :]))
            yield operand, f"operand {i}", f"{mnemonic} {left}"


def _less(operand: str) -> Iterator[tuple[str, str]]:
    if operand[:1] in ("-", "~", "!"):
        yield operand[0], operand[1:]
    if "|" in operand:
        yield "|", operand.replace("|", "")
    if "[" not in operand:
        for suffix in re.findall(r"\.\w+", operand):
            yield suffix, operand.replace(suffix, "", 1)


@cache
def pairs() -> dict[Key, list[Pair]]:
    """Pairs of every opcode, token and place; forms of fewer tokens first."""
    entries, doubtful = recording().entries, recording().doubtful
    numbers = {name: i for i, (name, _) in enumerate(entries) if i not in doubtful}
    found: dict[Key, list[Pair]] = {}
    for name, i in sorted(numbers.items(), key=lambda item: (len(item[0]), item[0])):
        opcode, form = name.partition(" ")[0].partition(".")[0], entries[i][1]
        for token, where, plain in without(name):
            if plain in numbers and not is_hint(opcode, token):
                found.setdefault((opcode, token, where), []).append(
                    (form, entries[numbers[plain]][1], i)
                )
        if form.registers and not form.is_alone:
            word = form.word & ~(0xF << GUARD_PLACE) | GUARD << GUARD_PLACE
            guarded = replace(form, word=word)
            found.setdefault((opcode, "@P", "guard"), []).append((guarded, form, i))
    return {key: own[:TRIED] for key, own in sorted(found.items())}


def is_hint(opcode: str, token: str) -> bool:
    """Whether the table of hints names the token."""
    name = token.removeprefix(".")
    return hints.modifier(opcode, name) is not None or name in hints.SUFFIXES


def decided(own: list[tuple[Key, Pair]]) -> dict[Key, bool]:
    """Of each pair whose forms are both executed: whether some result differs."""
    found: dict[Key, bool] = {}
    for chosen in slots.batches([first for _, (first, _, _) in own], room=1800, limit=32):
        items = [(own[k][1][2], form) for k in chosen for form in own[k][1][:2]]
        results = replay.accepted(items, slots.pool(), slots.THREADS)
        for place, k in enumerate(chosen):
            first, second = results.get(2 * place), results.get(2 * place + 1)
            if first is not None and second is not None:
                found[own[k][0]] = not _same(first, second)
    return found


def _same(first: slots.Words, second: slots.Words) -> bool:
    return first.shape == second.shape and np.array_equal(first, second)


def without_effect(keys: list[Key]) -> set[Key]:
    """The tokens whose pairs all give the same."""
    left, same = list(keys), set[Key]()
    for n in range(TRIED):
        own = [(key, pairs()[key][n]) for key in left if len(pairs()[key]) > n]
        results = decided(own) if own else {}
        same |= {key for key, differs in results.items() if not differs}
        settled = {key for key, differs in results.items() if differs}
        same -= settled
        left = [key for key in left if key not in settled]
    return same


@pytest.mark.parametrize("part", one_in(SHARE, range(TRIED_PARTS), str))
def test_tokens_change_results(part: int) -> None:
    """Of two forms that differ in one token, executed with the same inputs, results differ."""
    keys = list(pairs())[part::PARTS]
    assert keys

    assert without_effect(keys) <= set(WITHOUT_EFFECT)


def test_an_unread_token_is_noticed() -> None:
    """A pair of equal forms counts as a token without effect."""
    form = next(one for name, one in recording().entries if name == "IADD3 R, R, R, R")
    key = ("IADD3", ".X", "modifier")

    assert decided([(key, (form, form, 0))]) == {key: False}
