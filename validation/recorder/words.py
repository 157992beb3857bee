"""Instruction words of sm_90: fields, control codes, and what nvdisasm says of raw words.

Nothing here knows what instructions mean. Where the registers of a word stand is found by writing
other numbers into it and looking which operands of the text follow.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import build

CONTROL = 105
RZ, URZ, PT = 255, 63, 7
NO_SCOREBOARD = 7
REGISTER_PLACES = (16, 24, 32, 64)
_BATCH = 60_000
_ADDRESS = re.compile(r"at address 0x([0-9a-f]+)")
_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", re.MULTILINE)
_TOKEN = re.compile(
    r"(?P<float>[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?|[+-](?:INF|QNAN|SNAN))"
    r"|(?P<hex>-?0x[0-9a-f]+)"
)


@dataclass(frozen=True)
class Field:
    """Where an operand's number stands: its kind (R, UR, P or UP) and its lowest bit."""

    kind: str
    low: int

    @property
    def width(self) -> int:
        """Bits of the number."""
        return {"R": 8, "UR": 6}.get(self.kind, 3)


def put(word: int, low: int, width: int, value: int) -> int:
    """The word with another value in a field."""
    return word & ~((1 << width) - 1 << low) | (value & (1 << width) - 1) << low


def get(word: int, low: int, width: int) -> int:
    """The value of a field."""
    return word >> low & (1 << width) - 1


def plain(word: int) -> int:
    """The word without its control code."""
    return put(word, CONTROL, 23, 0)


def controlled(
    word: int,
    stall: int = 15,
    write: int = NO_SCOREBOARD,
    read: int = NO_SCOREBOARD,
    wait: int = 0x3F,
) -> int:
    """The word with a control code; by default it waits for all scoreboards and stalls long."""
    code = stall | write << 5 | read << 8 | wait << 11
    return put(word, CONTROL, 23, code)


def _program() -> Path:
    for folder in [*build._nvidia_dirs(), *build.toolkit()]:
        path = Path(folder) / "bin" / "nvdisasm"
        if path.exists():
            return path
    raise FileNotFoundError("nvdisasm: install nvidia-cuda-nvdisasm")


def _listing(words: Sequence[int]) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.bin"
        path.write_bytes(b"".join(controlled(plain(w)).to_bytes(16, "little") for w in words))
        command = [str(_program()), "-b", "SM90", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def texts(words: Sequence[int]) -> list[str | None]:
    """What nvdisasm prints for each word; None where it refuses it."""
    found: list[str | None] = []
    for start in range(0, len(words), _BATCH):
        found += _texts(words[start : start + _BATCH])
    return found


def _texts(words: Sequence[int]) -> list[str | None]:
    refused = {int(a, 16) // 16 for a in _ADDRESS.findall(_listing(words)[1])}
    kept = [i for i in range(len(words)) if i not in refused]
    found: list[str | None] = [None] * len(words)
    for address, text in _LINE.findall(_listing([words[i] for i in kept])[0]):
        if "INVALID" not in text and "?" not in text:
            found[kept[int(address, 16) // 16]] = text
    return found


def form(text: str) -> str:
    """The form of an instruction: its text with R, UR, P, UP, B and imm for numbers."""
    text = re.sub(r"^@!?U?P\w+\s+", "", text).replace(".reuse", "")
    mnemonic, _, operands = text.partition(" ")
    operands = re.sub(r"\bR(\d+|Z)\b", "R", operands)
    operands = re.sub(r"\bUR(\d+|Z)\b", "UR", operands)
    operands = re.sub(r"\bP[\dT]\b", "P", operands)
    operands = re.sub(r"\bUP[\dT]\b", "UP", operands)
    operands = re.sub(r"(?<!\.)\bB\d+(?=$|[,\s])", "B", operands)
    operands = re.sub(r"(c|cx)\[(0x\w+)\]\[(0x\w+)\]", r"\1[imm][imm]", operands)
    operands = re.sub(r"(?<![\w.\]])[+-]?(?:0x[0-9a-f]+|\d[\w.+-]*|INF|QNAN|SNAN)", "imm", operands)
    return f"{mnemonic} {operands}".strip()


def opcode(text: str) -> str:
    """The opcode's name, without modifiers."""
    return form(text).split(" ")[0].split(".")[0]


def _numbers(text: str) -> list[tuple[str, str]]:
    return re.findall(r"(?<![\w.])[!~|-]*(UR|R|UP|P)(\d+|Z|T)\b", text)


def followed(first: str | None, second: str | None, one: int, two: int) -> str | None:
    """The kind of the single operand that went from number one to number two."""
    if first is None or second is None:
        return None
    before, after = _numbers(first), _numbers(second)
    if len(before) != len(after):
        return None
    moved = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    if len(moved) == 1 and moved[0][0][1] == str(one) and moved[0][1][1] == str(two):
        return moved[0][0][0]
    return None


def fields(words: Sequence[int], places: Iterable[int] = ()) -> list[tuple[Field, ...]]:
    """Where each word holds registers and predicates; `places` are tried for predicates."""
    probes: list[int] = []
    tried = [(low, 8, 32, 48) for low in REGISTER_PLACES]
    tried += [(low, 3, 2, 5) for low in places]
    for word in words:
        for low, width, one, two in tried:
            probes += [put(word, low, width, one), put(word, low, width, two)]
    found = iter(texts(probes))
    result = []
    for _ in words:
        own = []
        for low, width, one, two in tried:
            kind = followed(next(found), next(found), one, two)
            if kind is not None and (width == 8) == (kind in ("R", "UR")):
                own.append(Field(kind, low))
        result.append(tuple(own))
    return result
