"""Which forms of instructions are recorded: those of compiled code, and their neighbours.

`python validation/recorder/form_corpus.py OUT.json CUBIN...` takes every instruction word of the
cubins, one of each form, flips the bits that select modifiers and operand kinds one by one, twice
over, and keeps what nvdisasm takes for an instruction that only reads and writes registers.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import cells
import form_memory
import slots
import words as w
from build import text_section

BITS = (9, 10, 11, *range(56, 64), *range(64, w.CONTROL))
NEAR_LIMIT, FAR_LIMIT = 700, 120  # forms of one opcode: one flip away, two flips away
VARIANTS = 3  # words with other immediates
STRAIGHT = frozenset("""
    BMMA BMSK BREV DADD DFMA DMMA DMUL DSETP ELECT F2F F2FP F2I F2IP FADD FCHK FFMA FLO FMNMX FMUL
    FRND FSEL FSET FSETP HADD2 HFMA2 HMMA HMNMX2 HMUL2 HSET2 HSETP2 I2F I2FP I2I I2IP IABS IADD3 IDP
    IMAD IMMA IMNMX ISETP LEA LOP3 MATCH MOV MOVM MUFU PLOP3 POPC PRMT QMMA R2UR REDUX SEL SGXT SHF
    SHFL UBMSK UBREV UFLO UIADD3 UIMAD UISETP ULEA ULOP3 UMOV UPLOP3 UPOPC UPRMT USEL USGXT USHF
    VABSDIFF VABSDIFF4 VHMNMX VIADD VIADDMNMX VIMNMX VIMNMX3 VOTE VOTEU P2R R2P UP2UR UR2UP CLMAD
    IMUL FSWZADD
""".split())
MATRIX = frozenset(("BMMA", "DMMA", "HMMA", "IMMA", "QMMA"))
# They signal a scoreboard; all others of STRAIGHT have fixed latencies.
VARIABLE = frozenset("""
    BREV DMMA F2F F2I FCHK FLO FRND I2F MATCH MOVM MUFU POPC REDUX SHFL
""".split())
DOUBLE = frozenset(("DADD", "DFMA", "DMMA", "DMUL", "DSETP"))


def harvested(cubins: Iterable[bytes]) -> list[int]:
    """The distinct instruction words of cubins, without control codes."""
    found: dict[int, None] = {}
    for cubin in cubins:
        for name in _kernels(cubin):
            offset, size = text_section(cubin, name)
            for at in range(offset, offset + size, 16):
                found[w.plain(int.from_bytes(cubin[at : at + 16], "little"))] = None
    return list(found)


def by_chance(rounds: int = 16, seed: int = 18) -> list[int]:
    """Words with random operands and modifiers, of opcodes that no compiled code may have."""
    rng = random.Random(seed)
    found = []
    for field in range(4096):
        for _ in range(rounds):
            word = field | 7 << 12 | sum(
                rng.choice((0, 0xFF, rng.getrandbits(8))) << low for low in range(16, 72, 8)
            )
            word |= (rng.getrandbits(32) & rng.getrandbits(32) & rng.getrandbits(32)) << 72
            for low in (81, 84, 87):
                word = w.put(word, low, 3, rng.choice((0, 7)))
            found.append(w.plain(word))
    texts = w.texts(found)
    return [word for word, text in zip(found, texts, strict=True) if text is not None]


def _kernels(cubin: bytes) -> list[str]:
    names, at = [], 0
    while (at := cubin.find(b"\0.text.", at)) >= 0:
        end = cubin.index(0, at + 1)
        names.append(cubin[at + 7 : end].decode())
        at = end
    return names


def neighbours(words: Sequence[int], straight: bool = True) -> dict[str, int]:
    """A word of every form: those given, one flip and two flips away, within the limits."""
    known = _by_form(words, {})
    level = dict(known)
    for limit in (NEAR_LIMIT, FAR_LIMIT):
        flipped = {w.put(word, 12, 4, 7) ^ 1 << bit for word in level.values() for bit in BITS}
        level = _limited(_by_form(sorted(flipped), known), limit)
        known |= level
    return known


def _by_form(words: Sequence[int], known: dict[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word, text in zip(words, w.texts(words), strict=True):
        if text is not None and w.opcode(text) in STRAIGHT and "cx[" not in text:
            name = w.form(text)
            if name not in known:
                found.setdefault(name, w.put(word, 12, 4, 7))
    return found


def _limited(forms: dict[str, int], limit: int) -> dict[str, int]:
    by_opcode: dict[str, list[str]] = {}
    for name in forms:
        by_opcode.setdefault(name.split(".")[0].split(" ")[0], []).append(name)
    rng = random.Random(18)
    kept = [n for names in by_opcode.values() for n in rng.sample(names, min(limit, len(names)))]
    return {name: forms[name] for name in sorted(kept)}


def placed(words: Sequence[int]) -> list[tuple[str, slots.Form]]:
    """The forms of these words with the registers that slots give them.

    Each word comes twice: with its PT as they are, and with predicates wherever it can have them.
    """
    found: dict[str, slots.Form] = {}
    todo: list[tuple[int, tuple[w.Field, ...]]] = []
    for word, own in zip(words, w.fields(words, slots.PREDICATES), strict=True):
        bare = word
        for field in own:
            if field.kind in ("R", "UR"):
                numbers = slots.REGISTERS if field.kind == "R" else slots.UNIFORMS
                bare = w.put(bare, field.low, field.width, numbers[field.low])
        full = bare
        for field in own:
            if field.kind in ("P", "UP"):
                number = slots.PREDICATES[field.low]
                full = w.put(full, field.low, 3, number)
                if w.get(bare, field.low, 3) != w.PT:
                    bare = w.put(bare, field.low, 3, number)
        todo += [(bare, own), (full, own)]
    rng = random.Random(90)
    todo = [(_constant(word, text, rng), own) for (word, own), text in
            zip(todo, w.texts([t[0] for t in todo]), strict=True) if text]  # fmt: skip
    for (word, own), text in zip(todo, w.texts([t[0] for t in todo]), strict=True):
        if text is not None:
            found.setdefault(w.form(text), _form(word, text, own))
    return sorted(found.items())


def _constant(word: int, text: str, rng: random.Random) -> int:
    """The word with a constant that exists, if it has one."""
    if "c[0x" not in text:
        return word
    offset = slots.a.CONSTANTS + 8 * rng.randrange(1, 31)
    return w.put(word, 38, 21, offset)


def _form(word: int, text: str, own: tuple[w.Field, ...]) -> slots.Form:
    name = w.opcode(text)
    return slots.Form(
        word=word,
        registers=tuple(f.low for f in own if f.kind == "R"),
        uniforms=tuple(f.low for f in own if f.kind == "UR"),
        has_uniform_predicates=any(f.kind == "UP" for f in own),
        is_matrix=name in MATRIX,
        is_variable=name in VARIABLE,
        zone=int(name in DOUBLE or ".F64" in text.split(" ")[0]),
    )


def with_immediates(forms: list[tuple[str, slots.Form]]) -> list[tuple[str, slots.Form]]:
    """The forms, and those with immediates again with others."""
    free = _immediate_bits(forms)
    rng = random.Random(91)
    found = list(forms)
    tried: list[tuple[str, slots.Form]] = []
    for (name, form), bits in zip(forms, free, strict=True):
        for _ in range(VARIANTS if bits else 0):
            found_word = form.word
            value = _edge(rng)
            for i, bit in enumerate(bits):
                found_word = w.put(found_word, bit, 1, value >> i & 1)
            tried.append((name, slots.Form(**{**form.__dict__, "word": found_word})))
    texts = w.texts([form.word for _, form in tried])
    found += [entry for entry, text in zip(tried, texts, strict=True)
              if text is not None and w.form(text) == entry[0]]  # fmt: skip
    distinct = {form.word: (name, form) for name, form in found}
    return sorted(distinct.values(), key=lambda entry: (entry[0], entry[1].word))


def _edge(rng: random.Random) -> int:
    import operations as known

    kinds = (known.INTEGER_EDGES, known.FLOAT_EDGES, range(33), (rng.getrandbits(32),))
    return int(rng.choice(rng.choice(kinds)))


def _immediate_bits(forms: list[tuple[str, slots.Form]]) -> list[list[int]]:
    """Bits of each word that change the text but not the form, outside registers and constants."""
    probed = [i for i, (name, _) in enumerate(forms) if "imm" in name.replace("c[imm][imm]", "")]
    lows = [*range(16, 24), *range(32, 64), *range(64, 80)]
    flips = [forms[i][1].word ^ 1 << low for i in probed for low in lows]
    texts = w.texts(flips)
    own = dict(zip(probed, w.texts([forms[i][1].word for i in probed]), strict=True))
    found: list[list[int]] = [[] for _ in forms]
    for n, i in enumerate(probed):
        taken = {low + k for low in forms[i][1].registers for k in range(8)}
        taken |= {low + k for low in forms[i][1].uniforms for k in range(8)}
        if "c[imm]" in forms[i][0]:
            taken |= set(range(38, 59))
        for k, low in enumerate(lows):
            text = texts[n * len(lows) + k]
            if low not in taken and text not in (None, own[i]) and w.form(text) == forms[i][0]:
                found[i].append(low)
    return found


def as_rows(forms: list[tuple[str, slots.Form]]) -> list[list[object]]:
    """The forms as lists for JSON."""
    return [[name, f"{f.word:032x}", f.registers, f.uniforms, int(f.has_uniform_predicates),
             int(f.is_matrix), int(f.is_variable), f.zone, form_memory.as_row(f), f.compare,
             int(f.is_alone)] for name, f in forms]  # fmt: skip


def from_rows(rows: list[list[object]]) -> list[tuple[str, slots.Form]]:
    """The forms of a JSON file."""
    return [
        (str(name), slots.Form(int(str(word), 16), tuple(registers), tuple(uniforms),
                               bool(up), bool(matrix), bool(variable), int(zone),
                               tuple(cells.Cell(*own) for own in memory), int(compare),
                               bool(alone)))
        for name, word, registers, uniforms, up, matrix, variable, zone, memory, compare, alone
        in rows
    ]  # fmt: skip


def main() -> None:
    """Writes the list."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("cubins", type=Path, nargs="+")
    given = parser.parse_args()
    found = harvested(path.read_bytes() for path in given.cubins) + by_chance()
    near = neighbours(found)
    memory = form_memory.words_of(found)
    forms = [*with_immediates(placed(list(near.values()))), *form_memory.placed(memory)]
    given.out.write_text(json.dumps(as_rows(forms), separators=(",", ":")))
    print(len(found), "words,", len(near), "forms found,", len({n for n, _ in forms}),
          "forms placed,", len(forms), "words to record")  # fmt: skip


if __name__ == "__main__":
    main()
