"""Every token of an accepted form counts: without it some result is another, or it is a hint.

Tokens are taken out of recorded forms one at a time (`tests/forms/tokens.py`), and what is left is
executed on the recorded inputs. It must differ from the recorded answer, or be refused. Tokens for
which neither happens are hints (`isa/hints.py`), or stand below with the reason.
"""

from __future__ import annotations

import pytest

from tests.forms import tokens
from tests.forms.tokens import Key, Without, is_hint, settled, variants
from tests.in_turn import one_in

PARTS = 900

_DEFAULT = "what the operation does without it too; nvdisasm always prints one of its kind"
_ONLY = "the only one there is; nvdisasm always prints it"
_NO_RESULT = "asked for by the predicate that is the result; the recorded forms have none"
_INPUTS = "matters to inputs that the recorded form cannot have"

# Tokens without which every recorded form that has them gives the same, and why.
WITHOUT_EFFECT: dict[Key, str] = {
    **{(opcode, ".AND", "modifier"): _DEFAULT
       for opcode in ("DSETP", "FSET", "FSETP", "HSET2", "HSETP2", "ISETP", "UISETP", "BMMA")},
    **{(opcode, ".F", "modifier"): _DEFAULT for opcode in ("FSET", "FSETP", "HSET2", "HSETP2")},
    **{(opcode, ".GE", "modifier"): _DEFAULT for opcode in ("ISETP", "UISETP")},
    **{(opcode, ".ANY", "modifier"): _DEFAULT for opcode in ("VOTE", "VOTEU")},
    **{(opcode, ".M88", "modifier"): _DEFAULT for opcode in ("LDSM", "STSM")},
    **{(opcode, f".{name}", "modifier"): _DEFAULT
       for opcode in ("SHF", "USHF") for name in ("R", "U32")},
    ("BMMA", ".POPC", "modifier"): _ONLY,
    ("F2FP", ".F16", "modifier"): _DEFAULT,
    ("F2FP", ".F32", "modifier"): _DEFAULT,
    ("F2IP", ".F32", "modifier"): _ONLY,
    ("I2FP", ".F32", "modifier"): _ONLY,
    ("I2FP", ".S32", "modifier"): _DEFAULT,
    ("I2I", ".S16", "modifier"): _DEFAULT,
    ("I2I", ".S32", "modifier"): _ONLY,
    ("I2IP", ".S32", "modifier"): _ONLY,
    ("IDP", ".2A", "modifier"): _DEFAULT,
    ("IDP", ".LO", "modifier"): _DEFAULT,
    ("MUFU", ".RCP", "modifier"): _DEFAULT,
    ("SHFL", ".IDX", "modifier"): _DEFAULT,
    ("HFMA2", ".MMA", "modifier"): "says on which unit it runs; `HFMA2` gives the same bits",
    ("WARPSYNC", ".ALL", "modifier"): "the warp's lanes are all there in straight-line code",
    **{(opcode, ".FTZ", "modifier"): "sums of singles flush, and are always printed with it"
       for opcode in ("ATOM", "ATOMG", "REDG")},
    **{("FCHK", mark, operand): "the exponents decide; signs do not"
       for mark in "-|" for operand in ("operand 1", "operand 2")},
    **{("NANOSLEEP", token, "operand 0"): "sleeping changes no result" for token in ("!", "!P")},
    **{("LOP3", token, "operand 5"): _NO_RESULT for token in ("!", "P", "!P")},
    **{("ULOP3", token, "operand 5"): _NO_RESULT for token in ("!", "!UP")},
    ("ULOP3", "!UP", "operand 6"): "of the one form's eight inputs all have the predicate true",
    ("HSETP2", ".H0_H0", "operand 2"): "asked for by the second result, which is PT in all of them",
    ("LD", ".U32", "operand 1"): "the register beside the address holds 0 where it was recorded",
    ("ST", ".U32", "operand 0"): "the register beside the address holds 0 where it was recorded",
    ("LDGSTS", ".ZFILL", "modifier"): f"{_INPUTS}: addresses with low bits (tests/breadth/copies)",
    ("ULDC", ".U16", "modifier"): f"{_INPUTS}: the constant is below 65,536",
}  # fmt: skip
# Hints by their name that the parser reads all the same: with it an address has 64 bits.
READ = ".E"


def left(keys: list[Key]) -> dict[Key, str]:
    """The tokens that are neither read, nor hints, nor explained, and hints that are none."""
    found = settled(keys)
    return {
        key: outcome for key, outcome in found.items()
        if (outcome == "same" and not is_hint(key) and key not in WITHOUT_EFFECT)
        or (outcome != "same" and is_hint(key) and key[1] != READ)
    }  # fmt: skip


@pytest.mark.parametrize("part", one_in(PARTS, range(PARTS), str))
def test_tokens_change_results(part: int) -> None:
    """Without a token a recorded form differs from its recorded answer, or is refused."""
    keys = list(variants())[part::PARTS]
    assert keys

    assert left(keys) == {}


def test_an_unread_token_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that is left in its place counts as one without effect."""
    key = ("IADD3", "-", "operand 1")
    monkeypatch.setattr(Without, "__call__", lambda self, listed: listed)

    assert tokens.outcomes([(key, variants()[key][0])]) == {key: "same"}


def test_explained_tokens_exist() -> None:
    """The list names tokens of accepted forms only."""
    assert set(WITHOUT_EFFECT) <= set(variants())
