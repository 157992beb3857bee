"""Forms of instructions that access memory, read special registers, or change no register at all.

They are those of compiled code and what is one flip of a modifier's bit away. Which operands make
an address, and of which space, is read from the text; the cells behind them are `cells.py`'s.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import cells
import slots
import words as w

SHARED = frozenset("LDS STS ATOMS LDSM STSM".split())
LOCAL = frozenset(("LDL", "STL"))
MEMORY = SHARED | LOCAL | frozenset(
    "LDG STG LD ST LDC ATOM ATOMG RED REDG LDGSTS QSPC CCTL".split()
)  # fmt: skip
QUIET = frozenset("""
    MEMBAR ERRBAR CGAERRBAR CCTL NOP YIELD NANOSLEEP DEPBAR LDGDEPBAR FENCE PREEXIT ACQBULK
    WARPSYNC.ALL ENDCOLLECTIVE
""".split())
SPECIAL = frozenset("""
    SR_LANEID SR_TID.X SR_TID.Y SR_TID.Z SR_CTAID.X SR_CTAID.Y SR_CTAID.Z SR_EQMASK SR_LTMASK
    SR_LEMASK SR_GTMASK SR_GEMASK SR_CgaCtaId SRZ
""".split())
BITS = range(72, 105)
LIMIT = 160
OFFSETS = (0x10, 0x30, -0x20)
_LOADS = frozenset("LDG LD LDS LDL LDC LDSM QSPC CCTL".split())
_BRACKET = re.compile(
    r"(?<!c)(?<!cx)(?<!\])(?:desc\[(UR\w+)\])?\[([^\]]*)\]|c\[0x\w+\]\[(R[^\]]*)\]"
)
_UNIFORM_PLACES = (32, 64)
_PREDICATE_PLACES = (81, 84, 87, 68)
_GUARD = 12


def words_of(found: Sequence[int]) -> list[int]:
    """One word of every form: those given and their neighbours."""
    known: dict[str, int] = {}
    texts = w.texts(found)
    for word, text in zip(found, texts, strict=True):
        if text is not None and is_taken(text):
            known.setdefault(w.form(text), w.put(word, _GUARD, 4, w.PT))
    flips = [word ^ 1 << bit for form, word in known.items() for bit in BITS
             if "[" in form]  # fmt: skip
    near: dict[str, list[tuple[str, int]]] = {}
    for word, text in zip(flips, w.texts(flips), strict=True):
        if text is not None and is_taken(text) and w.form(text) not in known:
            known_names = near.setdefault(w.opcode(text), [])
            if w.form(text) not in [name for name, _ in known_names]:
                known_names.append((w.form(text), word))
    rng = random.Random(19)
    for names in near.values():
        known |= dict(rng.sample(names, min(LIMIT, len(names))))
    return [known[name] for name in sorted(known)]


def is_taken(text: str) -> bool:
    """Whether the instruction is one of these and can run on a cell."""
    name, form = w.opcode(text), w.form(text)
    mnemonic = form.split(" ")[0]
    if name in ("S2R", "S2UR", "CS2R"):
        special = form.split(", ")[-1]
        return special in SPECIAL and not (name == "S2UR" and "TID" in special)
    if "[" not in text:
        return (name in QUIET or mnemonic in QUIET) and not re.search(r"\bU?R[\dZ]", text)
    if name not in MEMORY or "gdesc" in text or "cx[" in text or "tmem" in text:
        return False
    if name in SHARED | LOCAL | {"LDC"}:
        return True
    return "E" in mnemonic.split(".")


def placed(found: Sequence[int]) -> list[tuple[str, slots.Form]]:
    """The forms of these words with registers, addresses and cells of their own."""
    names = [w.form(text or "") for text in w.texts(found)]
    words = list(found)
    places: list[list[w.Field]] = [[] for _ in words]
    tried = [("R", low, 8, slots.REGISTERS[low]) for low in w.REGISTER_PLACES]
    tried += [("UR", low, 6, slots.UNIFORMS[low]) for low in (16, 24, *_UNIFORM_PLACES)]
    tried += [("P", low, 3, slots.PREDICATES[low]) for low in _PREDICATE_PLACES]
    for kind, low, width, number in tried:
        texts = w.texts([w.put(word, low, width, number) for word in words])
        other = w.texts([w.put(word, low, width, number ^ 1) for word in words])
        for i, (first, second) in enumerate(zip(texts, other, strict=True)):
            moved = w.followed(first, second, number, number ^ 1)
            if moved == kind and first is not None and w.form(first) == names[i]:
                words[i] = w.put(words[i], low, width, number)
                places[i].append(w.Field(kind, low))
    words = _with_offsets(words, names)
    forms = []
    for name, word, text, own in zip(names, words, w.texts(words), places, strict=True):
        form = None if text is None else _form(word, text, own)
        if form is not None:
            forms.append((name, form))
    return forms


def _with_offsets(words: list[int], names: list[str]) -> list[int]:
    """The words with other offsets, where they have one."""
    rng = random.Random(20)
    changed = []
    for word, name in zip(words, names, strict=True):
        if name.startswith("LDC"):
            is_added = "c[imm][R]" not in name
            changed.append(w.put(word, 38, 21, cells.a.CONSTANTS * is_added))
        elif "+imm]" in name:
            low = 32 if name.startswith("ST.") else 40  # ST has its data in bits 64 to 71
            changed.append(w.put(word, low, 24, rng.choice(OFFSETS)))
        else:
            changed.append(word)
    return [new if text is not None and w.form(text) == name else old for old, new, text, name in
            zip(words, changed, w.texts(changed), names, strict=True)]  # fmt: skip


def _form(word: int, text: str, own: list[w.Field]) -> slots.Form | None:
    opcode = w.opcode(text)
    modifiers = text.split(" ")[0].split(".")
    registers = {slots.REGISTERS[f.low]: f.low for f in own if f.kind == "R"}
    uniforms = {slots.UNIFORMS[f.low]: f.low for f in own if f.kind == "UR"}
    found = []
    for n, match in enumerate(_BRACKET.finditer(text)):
        cell = _cell(match[2] or match[3], _space(opcode, n), registers, uniforms)
        if cell is None:
            return None
        found.append(cell)
        if match[1] and match[1] != "URZ":
            low = uniforms.pop(int(match[1][2:]), None)
            if low is None:
                return None
            word = w.put(word, low, 6, slots.a.DESCRIPTOR)
    is_alone = opcode not in _LOADS and any(c.register < 0 <= c.uniform for c in found)
    return slots.Form(
        word=w.put(word, _GUARD, 4, 6) if is_alone else word,
        registers=tuple(sorted(registers.values())),
        uniforms=tuple(sorted(uniforms.values())),
        is_matrix="128" in modifiers and "CAS" in modifiers,
        is_variable=16 in {*registers.values(), *uniforms.values()} and opcode != "CS2R",
        cells=tuple(found),
        compare=32 if "CAS" in modifiers and 32 in registers.values() else -1,
        is_alone=is_alone,
    )


def _space(opcode: str, n: int) -> int:
    if opcode == "LDC":
        return cells.SPACES.index("constant")
    if opcode in LOCAL:
        return cells.SPACES.index("local")
    return int(opcode in SHARED or (opcode == "LDGSTS" and n == 0))


def _cell(address: str, space: int, registers: dict[int, int],
          uniforms: dict[int, int]) -> cells.Cell | None:  # fmt: skip
    """The operand's cell; its registers are taken out of those that hold data."""
    register = uniform = -1
    scale, offset = 1, 0
    for term in address.split("+"):
        number = re.fullmatch(r"(U?)R(\d+)((?:\.\w+)*)", term)
        if number is None:
            if re.fullmatch(r"-?0x[0-9a-f]+", term) is None:
                return None
            offset += int(term, 16)
        elif number[1]:
            uniform = uniforms.pop(int(number[2]), -2)
        else:
            register = registers.pop(int(number[2]), -2)
            scales = re.findall(r"\.X(\d+)", number[3])
            scale = int(scales[0]) if scales else 1
    if -2 in (register, uniform) or register == uniform == -1:
        return None
    return cells.Cell(space, register, uniform, scale, offset)


def as_row(form: slots.Form) -> list[Any]:
    """What `form_corpus.as_rows` adds for forms with cells."""
    return [[c.space, c.register, c.uniform, c.scale, c.offset] for c in form.cells]
