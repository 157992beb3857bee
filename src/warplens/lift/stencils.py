"""Machine code of forms as stencils: bytes with holes that are filled in and put one after another.

A form (regions/forms.py) is compiled once to a function whose operands are the addresses of
symbols that nobody defines, so that its object tells where they go in. A kernel's runs of forms
are copies of these bytes; what they load from constants and the functions that they call stand
behind all runs.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warplens.lift.regions.lifted import HOLE, NEXT, RUN, Run
from warplens.toolchain.elf import ElfFile, ElfRelocation, Symbol

_PC32, _PLT32, _32, _32S = 2, 4, 10, 11
_GOT = frozenset({9, 41, 42})  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX
_JUMP = 0xE9
_END = bytes.fromhex("c5f877c3")  # vzeroupper, ret
_JUMP_BY_SLOT = bytes.fromhex("ff25")
_INT = struct.Struct("<i")
_ALIGNED = 64


class UnusableCode(Exception):
    """A compiler made something of a form that cannot be copied."""


def _expect(condition: bool, what: str) -> None:
    if not condition:
        raise UnusableCode(what)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stencil:
    """A form's machine code.

    Attributes:
        holes: places of operands' words, their numbers, and what is added to them.
        ways: places of distances to the end.
        constants: places of distances to constants: their section's bytes, and what is added.
        calls: places of distances to functions or, if marked, to their addresses.
    """

    code: bytes
    holes: tuple[tuple[int, int, int], ...]
    ways: tuple[int, ...]
    constants: tuple[tuple[int, bytes, int], ...]
    calls: tuple[tuple[int, str, bool, int], ...]

    def to_text(self) -> str:
        """For the cache."""
        constants = [(place, data.hex(), more) for place, data, more in self.constants]
        return json.dumps([self.code.hex(), self.holes, self.ways, constants, self.calls])

    @staticmethod
    def from_text(text: str) -> Stencil:
        """What `to_text` gave."""
        code, holes, ways, constants, calls = json.loads(text)
        return Stencil(
            code=bytes.fromhex(code), holes=tuple(map(tuple, holes)), ways=tuple(ways),
            constants=tuple((p, bytes.fromhex(data), more) for p, data, more in constants),
            calls=tuple(map(tuple, calls)),
        )  # fmt: skip


def stencils_of(data: bytes) -> dict[str, Stencil]:
    """The stencils in an object file, by the names of their functions."""
    elf = ElfFile(data)
    places: dict[int, list[ElfRelocation]] = {}
    for relocation in elf.relocations():
        places.setdefault(relocation.target, []).append(relocation)
    found = {}
    for symbol in elf.symbols:
        if symbol.type == 2 and symbol.section:
            _expect(symbol.name.startswith("wl.form."), "a call within its section")
            found[symbol.name] = _stencil(elf, symbol, places.get(symbol.section, []))
    return found


def _stencil(elf: ElfFile, function: Symbol, places: list[ElfRelocation]) -> Stencil:
    begin, end = function.value, function.value + function.size
    code = elf.sections[function.section].data[begin:end]
    holes, ways, constants, calls = [], [], [], []
    for r in places:
        if not begin <= r.offset < end:
            continue
        place, symbol, more = r.offset - begin, elf.symbols[r.symbol], r.addend or 0
        if symbol.name.startswith(HOLE):
            _expect(r.type in (_32, _32S), "an operand's relocation")
            holes.append((place, int(symbol.name[len(HOLE) :]), more))
        elif symbol.name == NEXT:
            _expect(r.type in (_PC32, _PLT32), "the end's relocation")
            ways.append(place)
        elif symbol.section:
            is_apart = r.type == _PC32 and symbol.section != function.section
            _expect(is_apart, "a constant's relocation")
            constants.append((place, elf.sections[symbol.section].data, symbol.value + more))
        else:
            _expect(r.type in (_PC32, _PLT32) or r.type in _GOT, "a function's relocation")
            calls.append((place, symbol.name, r.type in _GOT, more))
    if code[-5] == _JUMP and len(code) - 4 in ways:
        code = code[:-5]
        ways.remove(len(code) + 1)
    return Stencil(code=code, holes=tuple(holes), ways=tuple(ways), constants=tuple(constants),
                   calls=tuple(calls))  # fmt: skip


@dataclass(slots=True)
class _Code:
    """Code under construction: runs, then functions by way of their addresses, then constants."""

    made: bytearray = field(default_factory=bytearray)
    constants: list[tuple[int, bytes, int]] = field(default_factory=list)
    calls: list[tuple[int, str, bool, int]] = field(default_factory=list)

    def add(self, stencil: Stencil, words: Sequence[int]) -> None:
        """Appends a copy of a stencil."""
        code, base = self.made, len(self.made)
        code += stencil.code
        for place, number, more in stencil.holes:
            word = words[number] + more & 0xFFFFFFFF
            code[base + place : base + place + 4] = word.to_bytes(4, "little")
        for place in stencil.ways:
            _INT.pack_into(code, base + place, len(stencil.code) - place - 4)
        for place, data, more in stencil.constants:
            self.constants.append((base + place, data, more))
        for place, name, is_address, more in stencil.calls:
            self.calls.append((base + place, name, is_address, more))

    def finish(self) -> list[str]:
        """Adds what stands behind the runs; gives the functions whose addresses come behind it."""
        code = self.made
        names = list(dict.fromkeys(name for _, name, _, _ in self.calls))
        jumps = {}
        for name in names:
            jumps[name] = len(code)
            code += _JUMP_BY_SLOT + bytes(4)
        kept: dict[bytes, int] = {}
        for _, data, _ in self.constants:
            if data not in kept:
                code += bytes(-len(code) % _ALIGNED)
                kept[data] = len(code)
                code += data
        code += bytes(-len(code) % _ALIGNED)
        slots = {name: len(code) + 8 * i for i, name in enumerate(names)}
        for name, place in jumps.items():
            _INT.pack_into(code, place + 2, slots[name] - (place + 6))
        for place, data, more in self.constants:
            _INT.pack_into(code, place, kept[data] + more - place)
        for place, name, is_address, more in self.calls:
            target = (slots if is_address else jumps)[name]
            _INT.pack_into(code, place, target + more - place)
        return names


def code_of(runs: Sequence[Run], stencils: Mapping[str, Stencil]) -> str:
    """IR that defines a kernel's runs: their machine code, as what stands before a function."""
    code, begins = _Code(), []
    for run in runs:
        for word in (*reversed(run.vectors), len(run.vectors)):
            code.made += _INT.pack(word)
        begins.append(len(code.made))
        for form, words in run.steps:
            code.add(stencils[form.name], words)
        code.made += _END
    names = code.finish()
    data = code.made.hex("\\")
    n, m = len(code.made), len(names)
    slots = ", ".join(f"ptr @{name}" for name in names)
    kind = f"<{{ [{n} x i8], [{m} x ptr] }}>"
    lines = [
        f'define internal void @wl.code() align {_ALIGNED} prefix {kind} <{{ [{n} x i8] '
        f'c"\\{data}", [{m} x ptr] [{slots}] }}> {{\nret void\n}}'
    ]
    for i, begin in enumerate(begins):
        place = f"getelementptr (i8, ptr @wl.code, i64 {begin - n - 8 * m})"
        lines.append(f"@wl.run.{i} = internal alias void {RUN}, ptr {place}")
    lines += [f"declare void @{name}()" for name in names]
    return "\n".join((*lines, ""))


def names_of(runs: Sequence[Run]) -> str:
    """All that runs' code depends on, as a text."""
    found = []
    for run in runs:
        found += [f"{form.name} {words}" for form, words in run.steps]
        found.append(str(run.vectors))
    return "\n".join(found)
