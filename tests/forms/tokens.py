"""The tokens of recorded forms, and what becomes of a form when one of them is left out.

A token is an opcode's modifier, a mark (`-`, `~`, `|x|`, `!`), a suffix of an operand or of a
register in an address, a predicate operand, or a guard. It is taken out of what the disassembler
says of the instruction; the rest of warplens sees an instruction without it. Guards are put on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from tests.forms import replay
from tests.forms.replay import slots
from tests.forms.test_recorded_forms import of_doubles_differ, recording
from warplens.errors import ExecutionFault, SassError
from warplens.isa import forms, hints
from warplens.toolchain.nvdisasm import ListedInstruction

from recorded_forms import digest_of  # isort: skip

TRIED, TRIED_HINTS = 16, 2  # forms that a token is left out of, at most
GUARD_PLACE, GUARD = 12, 1  # P1, which differs from lane to lane
ROOM, LIMIT = 1800, 32  # of a kernel that runs several forms
Key = tuple[str, str, str]  # opcode, token, where it stands
_OPERAND = re.compile(r"(?:\{[^}]*\}|[^,{])+")
_MODIFIER, _GUARD = "modifier", "guard"


@dataclass(frozen=True)
class Without:
    """A recorded form, by its place in the recording, and how a token is taken out of it."""

    number: int
    token: str
    operand: int  # or -1 for the opcode
    occurrence: int  # among the modifiers, or among what the operand has of the kind

    def __call__(self, listed: ListedInstruction) -> ListedInstruction:
        """The instruction's text without the token."""
        if self.operand < 0:
            opcode, *modifiers = listed.opcode.split(".")
            assert f".{modifiers[self.occurrence]}" == self.token, listed
            del modifiers[self.occurrence]
            return replace(listed, opcode=".".join((opcode, *modifiers)))
        operands = [text.strip() for text in _OPERAND.findall(listed.operands)]
        at = self.operand
        if self.token[0] == "." and self.token not in operands[at]:  # R2P's PR may stand elsewhere
            at = next(i for i, text in enumerate(operands) if text.endswith(self.token))
        operands[at] = _less(operands[at], self.token)
        return replace(listed, operands=",".join(operands))


def _less(operand: str, token: str) -> str:
    """The operand without a mark or suffix; with the predicate that is always true in place of
    another, or another in place of that one."""
    if re.fullmatch(r"!?U?P", token):
        name = token.lstrip("!")
        return f"{name}{GUARD}" if operand == f"{token}T" else f"{name}T"
    assert token in operand, (operand, token)
    if token == "|":
        return operand.replace("|", "")
    return operand.replace(token, "", 1)


def tokens_of(name: str) -> Iterator[tuple[str, int, int]]:
    """Each token of a form: its text, the number of its operand or -1, which of several."""
    mnemonic, _, rest = name.partition(" ")
    for i, modifier in enumerate(mnemonic.split(".")[1:]):
        yield f".{modifier}", -1, i
    for i, operand in enumerate(rest.split(", ")):
        if operand[:1] in ("-", "~", "!"):
            yield operand[0], i, 0
        if "|" in operand:
            yield "|", i, 0
        if operand.lstrip("!") in ("P", "UP"):
            yield operand, i, 0
        for suffix in dict.fromkeys(re.findall(r"\.\w+", operand)):
            yield suffix, i, 0


@cache
def variants() -> dict[Key, list[Without]]:
    """Of every token some forms that have it, those of few tokens first."""
    entries, doubtful = recording().entries, recording().doubtful
    refused = {name for name, form in forms.table().items() if form.status == forms.REFUSED}
    found: dict[Key, list[Without]] = {}
    for i in sorted(range(len(entries)), key=lambda i: _order(entries[i][0])):
        name, form = entries[i]
        if i in doubtful or name.replace(" ,", ",").replace("] [", "][") in refused:
            continue
        opcode = name.partition(" ")[0].partition(".")[0]
        for token, operand, occurrence in tokens_of(name):
            where = _MODIFIER if operand < 0 else f"operand {operand}"
            found.setdefault((opcode, token, where), []).append(
                Without(i, token, operand, occurrence)
            )
        if form.registers and not form.is_alone:
            found.setdefault((opcode, "@P", _GUARD), []).append(Without(i, "@P", -1, 0))
    return {key: own[:TRIED] for key, own in sorted(found.items())}


def _order(name: str) -> tuple[bool, int, str]:
    """Forms of few tokens first, comparisons that look at no operand last."""
    return bool({"F", "T"} & set(name.partition(" ")[0].split("."))), len(name), name


def is_hint(key: Key) -> bool:
    """Whether the table of hints names the token."""
    opcode, token, where = key
    name = token.removeprefix(".")
    if where == _MODIFIER:
        return hints.modifier(opcode, name) is not None
    return name in hints.SUFFIXES


def outcomes(own: Sequence[tuple[Key, Without]]) -> dict[Key, str]:
    """What becomes of forms, one for each key: `differs`, `same` or `refused`."""
    changed = [_form(key, without) for key, without in own]
    found: dict[Key, str] = {}
    for chosen in slots.batches(changed, room=ROOM, limit=LIMIT):
        found |= _outcomes([own[k] for k in chosen], [changed[k] for k in chosen])
    return found


def _form(key: Key, without: Without) -> slots.Form:
    form = recording().entries[without.number][1]
    if key[2] != _GUARD:
        return form
    return replace(form, word=form.word & ~(0xF << GUARD_PLACE) | GUARD << GUARD_PLACE)


def _outcomes(own: Sequence[tuple[Key, Without]], changed: Sequence[slots.Form]) -> dict[Key, str]:
    items = [(recording().forms[without.number].number, form)
             for (_, without), form in zip(own, changed, strict=True)]  # fmt: skip
    edits = {i: without for i, (key, without) in enumerate(own) if key[2] != _GUARD}
    try:
        results = replay.accepted(items, slots.pool(), slots.THREADS, edits)
    except (ExecutionFault, SassError) as error:  # an address out of range, a text that is none
        if len(own) == 1:
            return {own[0][0]: "differs" if isinstance(error, ExecutionFault) else "refused"}
        half = len(own) // 2
        return _outcomes(own[:half], changed[:half]) | _outcomes(own[half:], changed[half:])
    found = {}
    own_results = _unchanged(own, items)
    gone = [i for i in range(len(own)) if i not in results]
    never = replay.refused([items[i] for i in gone], is_thorough=True) if gone else {}
    for i, (key, without) in enumerate(own):
        one = recording().forms[without.number]
        if i in gone and gone.index(i) in never:
            continue  # so is the form as it was recorded
        if i in gone:
            found[key] = "refused"
        elif i in own_results:
            found[key] = "same" if np.array_equal(own_results[i], results[i]) else "differs"
        else:
            is_same = digest_of(one.name, results[i]) == one.digest
            is_same = is_same or not of_doubles_differ(one, results[i])
            found[key] = "same" if is_same else "differs"
    return found


def _unchanged(own: Sequence[tuple[Key, Without]],
               items: Sequence[replay.Item]) -> dict[int, slots.Words]:  # fmt: skip
    """The results of the forms with hints as they are."""
    chosen = [i for i, (key, _) in enumerate(own) if is_hint(key)]
    if not chosen:
        return {}
    results = replay.accepted([items[i] for i in chosen], slots.pool(), slots.THREADS)
    return {chosen[place]: rows for place, rows in results.items()}


def settled(keys: Sequence[Key]) -> dict[Key, str]:
    """Of each token what becomes of a form without it: `differs` or `refused` of the first for
    which that is so, else `same`."""
    found: dict[Key, str] = {}
    for n in range(TRIED):
        left = [key for key in keys if found.get(key, "same") == "same" and len(variants()[key]) > n
                and (n < TRIED_HINTS or not is_hint(key))]  # fmt: skip
        found |= outcomes([(key, variants()[key][n]) for key in left])
    return found
