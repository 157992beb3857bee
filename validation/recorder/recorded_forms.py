"""The recordings of forms as they are kept: some lanes in full, a digest of all inputs.

`recorded_forms.py FORMS.json CORPUS.json.xz OUT.npz.xz RECORDED_DIR...` makes the file from what
`forms.py` wrote. Of every form one word is kept. Results that two runs in different order did not
repeat are left out. CORPUS has the instruction words of compiled code.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import form_corpus
import numpy as np
import slots
import words as w

# What QSPC says of an address depends on where the process has its windows. All rows of a matrix
# stored through one uniform address go to one place, and which of them stays is not defined.
DOUBTFUL = ("QSPC", "STSM.16.M88 [UR")
LANES = 32  # of each form, kept in full: the first warp
_NAN = 0xFFF8000000000000


@dataclass(frozen=True)
class Recorded:
    """What a form did: the (row, part)s that it changed, their values in the first lanes."""

    name: str
    number: int
    form: slots.Form
    places: np.ndarray
    values: np.ndarray
    digest: bytes

    def expected(self, inputs: slots.Words) -> slots.Words:
        """The rows after the instruction, [row, lane, 4], as far as lanes are kept."""
        rows = slots.given(self.form, slots.first_row(self.number), inputs)[:, :LANES].copy()
        for (row, part), values in zip(self.places, self.values, strict=True):
            rows[row, :, part] = values
        return canonical(self.name, rows)


def canonical(name: str, rows: slots.Words) -> slots.Words:
    """The rows of a form with doubles: every NaN as one, since payloads are not modelled."""
    opcode, *modifiers = name.split(" ")[0].split(".")
    if "F64" not in modifiers and opcode not in form_corpus.DOUBLE:
        return rows
    pairs = np.ascontiguousarray(rows).view(np.uint64)
    is_nan = np.isnan(pairs.view(np.float64))
    is_nan[-1] = False  # predicates
    return np.where(is_nan, np.uint64(_NAN), pairs).view(np.uint32)


def digest_of(name: str, rows: slots.Words) -> bytes:
    """Eight bytes that stand for the results of all inputs."""
    data = np.ascontiguousarray(canonical(name, rows)).tobytes()
    return hashlib.blake2b(data, digest_size=8).digest()


class Recording:
    """The file of recordings."""

    def __init__(self, path: Path) -> None:
        with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as data:
            self._data: dict[str, Any] = dict(data)
        self.metadata: dict[str, Any] = json.loads(str(self._data["metadata"]))
        self.entries = form_corpus.from_rows(json.loads(str(self._data["forms"])))
        self.doubtful = {i for i, (name, _) in enumerate(self.entries) if name.startswith(DOUBTFUL)}
        self._names: dict[int, str] = {}

    @cached_property
    def forms(self) -> list[Recorded]:
        """Every recorded form."""
        ends = np.cumsum(self._data["counts"].astype(int))
        found = []
        for i, (name, form) in enumerate(self.entries):
            own = slice(ends[i] - self._data["counts"][i], ends[i])
            found.append(Recorded(
                name, int(self._data["numbers"][i]), form, self._data["places"][own],
                self._data["values"][own], self._data["digests"][i].tobytes(),
            ))  # fmt: skip
        return found

    @property
    def in_corpus(self) -> list[int]:
        """The places of those forms that compiled code has."""
        found: list[int] = np.flatnonzero(self._data["in_corpus"]).tolist()
        return found

    def words(self) -> list[int]:
        """Their instruction words, but for the doubtful ones."""
        return [form.word for i, (_, form) in enumerate(self.entries) if i not in self.doubtful]

    def name(self, names: dict[int, str]) -> None:
        """Takes the names that the table gives to words."""
        self._names = names

    def names(self) -> Iterator[str]:
        """The table's names of what was recorded."""
        own = (self._names.get(word) for word in self.words())
        return iter({name: None for name in own if name is not None})

    def inputs(self, name: str) -> int:
        """How many inputs were recorded."""
        return slots.THREADS


def _raw(folder: Path) -> dict[int, tuple[bool, np.ndarray, np.ndarray]]:
    found = {}
    for path in sorted(folder.glob("forms_*.npz")):
        with np.load(path) as data:
            ends = np.cumsum(data["counts"].astype(int))
            numbers, agree, counts = data["numbers"], data["agree"], data["counts"].astype(int)
            places, values = data["places"], data["values"]
        for number, is_same, end, count in zip(numbers, agree, ends, counts, strict=True):
            own = slice(end - count, end)
            found[int(number)] = bool(is_same), places[own], values[own]
    return found


def _chosen(entries: list[tuple[str, slots.Form]], raw: Iterable[int]) -> list[int]:
    """One number of each form."""
    first: dict[str, int] = {}
    for number in raw:
        first.setdefault(entries[number][0], number)
    return sorted(first.values())


def _corpus_names(path: Path) -> set[str]:
    words = [int(word, 16) for word in json.loads(lzma.decompress(path.read_bytes()))["words"]]
    return {w.form(text) for text in w.texts(words) if text is not None}


def pack(forms: Path, corpus: Path, folders: list[Path]) -> bytes:
    """The file's bytes."""
    listed = [form for _, form in form_corpus.from_rows(json.loads(forms.read_text()))]
    texts = w.texts([form.word for form in listed])
    entries = [(w.form(text or ""), form) for text, form in zip(texts, listed, strict=True)]
    raw, inputs = {}, slots.pool()
    for folder in folders:
        raw |= _raw(folder)
    numbers = _chosen(entries, [i for i in sorted(raw) if raw[i][0]])
    digests = []
    for i in numbers:
        rows = slots.given(entries[i][1], slots.first_row(i), inputs).copy()
        for (row, part), values in zip(raw[i][1], raw[i][2], strict=True):
            rows[row, :, part] = values
        digests.append(np.frombuffer(digest_of(entries[i][0], rows), np.uint8))
    with np.load(folders[0] / "forms_0.npz") as data:
        metadata = str(data["metadata"])
    common = _corpus_names(corpus)
    buffer = io.BytesIO()
    np.savez(
        buffer, metadata=np.array(metadata), numbers=np.array(numbers, np.int32),
        forms=np.array(json.dumps(form_corpus.as_rows([entries[i] for i in numbers]))),
        counts=np.array([len(raw[i][1]) for i in numbers], np.uint8),
        places=np.concatenate([raw[i][1] for i in numbers]),
        values=np.concatenate([raw[i][2][:, :LANES] for i in numbers]),
        digests=np.array(digests),
        in_corpus=np.array([entries[i][0] in common for i in numbers]),
    )  # fmt: skip
    return lzma.compress(buffer.getvalue(), preset=9)


def main() -> None:
    """Writes the file."""
    forms, corpus, out, *folders = map(Path, sys.argv[1:])
    out.write_bytes(pack(forms, corpus, folders))
    print(out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
