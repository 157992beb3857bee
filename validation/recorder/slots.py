"""Kernels that run one instruction after another on edge-biased registers and store what they did.

A slot loads the registers that an instruction names from a pool of inputs, sets all seven
predicates (and uniform predicates), runs the instruction once, and stores the registers and
predicates again, changed or not. Which operands are results, and how wide they are, nobody has to
say: it is seen.

Every operand has registers of its own, by where its number stands in the word.
"""

from __future__ import annotations

import ctypes as ct
from collections.abc import Sequence
from dataclasses import dataclass

import assembler as a
import cells
import numpy as np
import numpy.typing as npt
import words as w

THREADS = 256
ROW = THREADS * 16  # bytes of four words of every thread
POOL_ROWS = 512
OUT_ROWS = 2000
REGISTERS = {16: 32, 24: 64, 32: 96, 64: 128}  # first register by place in the word
UNIFORMS = {16: 8, 24: 16, 32: 24, 64: 32}
PREDICATES = {81: 0, 84: 1, 87: 2, 77: 3, 68: 4}
REGISTER_COUNT = 168
_TEMPORARY, _UNIFORM_TEMPORARY = 8, 41
_IN, _OUT, _NOTES = 2, 4, 6
_DRAIN = 3  # NOPs behind an instruction, 15 cycles each
_PLAIN, _WIDE = 4, 16  # registers of an operand
FIRST_ROW = 8  # rows before it make room for negative offsets

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Form:
    """One instruction as it is recorded.

    Attributes:
        word: with the registers of its places, without control code.
        registers: the places of its registers.
        uniforms: the places of its uniform registers.
        has_uniform_predicates: whether uniform predicates are set and stored.
        is_matrix: operands may be sixteen registers wide.
        is_variable: it signals its end by a scoreboard.
        zone: which part of the pool it reads: 0 words of every kind, 1 doubles.
        cells: its memory operands.
        compare: the place of registers that half the threads' cells hold as well, or -1.
        is_alone: only the first lane of each warp runs it, under P6.
    """

    word: int
    registers: tuple[int, ...]
    uniforms: tuple[int, ...]
    has_uniform_predicates: bool = False
    is_matrix: bool = False
    is_variable: bool = False
    zone: int = 0
    cells: tuple[cells.Cell, ...] = ()
    compare: int = -1
    is_alone: bool = False

    @property
    def stored(self) -> tuple[cells.Cell, ...]:
        """The cells that have a row of results."""
        return tuple(c for c in self.cells if cells.SPACES[c.space] != "constant")

    @property
    def quads(self) -> int:
        """Rows of four registers of each operand."""
        return (_WIDE if self.is_matrix else _PLAIN) // 4

    @property
    def rows(self) -> int:
        """Rows that the slot stores."""
        return len(self.registers) * self.quads + len(self.uniforms) + 1 + len(self.stored)

    @property
    def instructions(self) -> int:
        """About how long the slot is."""
        own = 2 * len(self.registers) * self.quads + 10 * len(self.uniforms) + 16
        return own + 30 * self.has_uniform_predicates + 20 * len(self.cells)


def _mixed(x: npt.NDArray[np.uint64], zone: int) -> npt.NDArray[np.uint64]:
    """Hashes to 64-bit words: edges of integers and floats, ordinary numbers, any bits."""
    import operations as known

    kind, bits = x & np.uint64(7), x >> np.uint64(3)
    pick = (bits >> np.uint64(40)).astype(np.int64)
    fraction = (bits & np.uint64(0xFFFFFF)).astype(np.float64) / (1 << 24) - 0.5
    power = 2.0 ** ((bits >> np.uint64(24)) % np.uint64(33)).astype(np.float64)
    ordinary = fraction * power / 256
    small = (bits % np.uint64(101)).astype(np.int64) - 50
    if zone:
        edges = np.array(known.DOUBLE_EDGES, np.uint64)
        table = [
            edges[pick % len(edges)], edges[pick % len(edges)], ordinary.view(np.uint64),
            ordinary.view(np.uint64), small.view(np.uint64),
            bits * np.uint64(0x9E3779B97F4A7C15), small.astype(np.float64).view(np.uint64),
            bits & np.uint64(0xFFFFFFFF),
        ]  # fmt: skip
        return np.choose(kind.astype(np.int64), table)
    integers = np.array(known.INTEGER_EDGES, np.uint64)
    floats = np.array(known.FLOAT_EDGES, np.uint64)
    halves = np.array(known.HALF_EDGES, np.uint64)
    usual = (fraction * 2.0 ** (pick % 13 - 4)).astype(np.float16).view(np.uint16).astype(np.uint64)
    table = [integers[pick % len(integers)], floats[pick % len(floats)],
             halves[pick % len(halves)] | halves[pick // 64 % len(halves)] << np.uint64(16),
             bits * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32),
             ordinary.astype(np.float32).view(np.uint32).astype(np.uint64),
             small.astype(np.int32).view(np.uint32).astype(np.uint64),
             usual | np.roll(usual, 1) << np.uint64(16), integers[pick % 20]]  # fmt: skip
    return np.choose(kind.astype(np.int64), table) & np.uint64(0xFFFFFFFF)


def hashed(count: int, seed: int) -> npt.NDArray[np.uint64]:
    """The same random 64-bit words in every version of NumPy."""
    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x += np.uint64(seed * 0xD1342543DE82EF95 % (1 << 64))
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def pool(seed: int = 18) -> Words:
    """Inputs, [row, thread, 4]: the first half words of every kind, the second half doubles.

    A quarter of the rows' threads repeat the row before, as it is or nearly: equal operands,
    negated ones, neighbours.
    """
    half = POOL_ROWS // 2
    words = _mixed(hashed(half * THREADS * 4, seed), 0).astype(np.uint32)
    words = words.reshape(half, THREADS, 4)
    pairs = _mixed(hashed(half * THREADS * 2, seed + 1), 1).reshape(half, THREADS, 2)
    _relate(words, hashed(half * THREADS * 4, seed + 2), 1 << 31)
    _relate(pairs, hashed(half * THREADS * 2, seed + 3), 1 << 63)
    return np.concatenate([words, pairs.view(np.uint32).reshape(half, THREADS, 4)])


def _relate(
    rows: npt.NDArray[np.unsignedinteger], chance: npt.NDArray[np.uint64], top: int
) -> None:
    one = rows.dtype.type(1)
    kinds = (chance % np.uint64(16)).reshape(rows.shape)
    for i in range(1, len(rows)):
        last, kind = rows[i - 1], kinds[i]
        rows[i] = np.where(kind == 0, last, rows[i])
        rows[i] = np.where(kind == 1, last ^ rows.dtype.type(top), rows[i])
        rows[i] = np.where(kind == 2, ~last + one, rows[i])
        rows[i] = np.where(kind == 3, last + one, rows[i])


def constants(seed: int = 18) -> Words:
    """The 64 words of constant memory."""
    return _mixed(hashed(64, seed + 4), 0).astype(np.uint32)


def constants_cell() -> ct.Array[ct.c_uint32]:
    """The constant words as an argument of a launch."""
    words = constants().tolist()
    return (ct.c_uint32 * len(words))(*words)


class _Writer:
    """Code of one kernel.

    With `is_noted` it tells the host's memory which slot it is at; with `is_light` it leaves out
    what only a GPU needs to wait for.
    """

    def __init__(self, is_noted: bool = False, is_light: bool = False) -> None:
        self.is_noted, self.is_light = is_noted, is_light
        self.drain = 0 if is_light else _DRAIN
        self.slots = 0
        self.code = [
            a.special(0, 33), a.descriptor(), a.parameter(_IN, a.PARAMETERS),
            a.parameter(_OUT, a.PARAMETERS + 8), a.wide(_IN, 0, 16, _IN),
            a.wide(_OUT, 0, 16, _OUT), a.parameter(_NOTES, a.PARAMETERS + 16),
            a.wide(_NOTES, 0, 4, _NOTES), *cells.prologue(),
        ]  # fmt: skip
        self.row = FIRST_ROW

    def load(self, register: int, form: Form, number: int) -> None:
        """Loads four registers; `number` is the row of the pool, counted from the form's zone."""
        half = POOL_ROWS // 2
        row = number % half + half * form.zone
        self.code.append(a.load(register, _IN, row * ROW))

    def store(self, register: int) -> None:
        """Stores four registers to the next row."""
        self.code.append(a.store(_OUT, self.row * ROW, register))
        self.row += 1

    def slot(self, form: Form, first: int) -> None:
        """One form, with inputs from row `first` of the pool on."""
        self.slots += 1
        if self.is_noted:
            note = a.store_word(_NOTES, 0, _TEMPORARY)
            self.code += [a.move(_TEMPORARY, self.slots), note, a.fence()]
        number = first
        for place in form.uniforms:
            self.load(_TEMPORARY, form, number)
            number += 1
            for i in range(4):
                self.code.append(a.to_uniform(UNIFORMS[place] + i, _TEMPORARY + i))
        for place in form.registers:
            for quad in range(form.quads):
                self.load(REGISTERS[place] + 4 * quad, form, number)
                number += 1
        self.load(_TEMPORARY, form, number)
        if form.has_uniform_predicates:
            self.code.append(a.to_uniform(_UNIFORM_TEMPORARY, _TEMPORARY + 1))
            for i in range(7):
                self.code.append(a.uniform_predicate(i, _UNIFORM_TEMPORARY, 1 << i))
        if form.is_alone:
            self.code += [a.logic(_TEMPORARY, _TEMPORARY, 0x3F, 0xC0),
                          a.add(_TEMPORARY, _TEMPORARY, cells.FIRST_LANE)]  # fmt: skip
        self.code += [a.to_predicates(_TEMPORARY), a.nop()]
        self.memory(form, number + 1)
        write = 1 if form.is_variable else w.NO_SCOREBOARD
        read = 2 if form.cells else w.NO_SCOREBOARD
        self.code += [w.controlled(form.word, write=write, read=read), *[a.nop()] * self.drain]
        self.results(form)

    def memory(self, form: Form, number: int) -> None:
        """Fills the cells and sets the addresses; rows of results are those of `results`."""
        own = self.row
        for cell in form.cells:
            if cell in form.stored:
                self.load(_TEMPORARY, form, number)
                self.code += cells.filled(self, cell, _TEMPORARY, _OUT)
                number += 1
                if form.compare >= 0:
                    mixed = cells.filled(self, cell, REGISTERS[form.compare], _OUT)
                    self.code += [a.guarded(word, 6) for word in mixed]
            self.code += cells.addressed(self, cell, _OUT, REGISTERS, UNIFORMS)
            self.row += cell in form.stored
        if form.cells and not self.is_light:
            self.code.append(a.fence())
        self.row = own

    def results(self, form: Form) -> None:
        """Stores cells and every operand, then predicates in a row of their own."""
        if len(form.stored) > 1:
            self.code += a.copies_done()
        for cell in form.stored:
            self.code += cells.fetched(self, cell, _OUT)
            self.row += 1
        for place in form.registers:
            for quad in range(form.quads):
                self.store(REGISTERS[place] + 4 * quad)
        for place in form.uniforms:
            for i in range(4):
                self.code.append(a.from_uniform(_TEMPORARY + i, UNIFORMS[place] + i))
            self.store(_TEMPORARY)
        self.code.append(a.from_predicates(_TEMPORARY))
        if form.has_uniform_predicates:
            self.code.append(a.uniform_add(_UNIFORM_TEMPORARY, w.URZ, 0))
            for i in range(7):
                step = a.uniform_add(_UNIFORM_TEMPORARY, _UNIFORM_TEMPORARY, 1 << i)
                self.code.append(a.guarded(step, i))
            self.code.append(a.from_uniform(_TEMPORARY + 1, _UNIFORM_TEMPORARY))
        else:
            self.code.append(a.move(_TEMPORARY + 1, 0))
        self.code += [a.move(_TEMPORARY + 2, 0), a.move(_TEMPORARY + 3, 0)]
        self.store(_TEMPORARY)


def code_of(forms: Sequence[Form], firsts: Sequence[int], is_noted: bool = False,
            is_light: bool = False) -> list[int]:  # fmt: skip
    """A kernel that runs these forms one after another."""
    writer = _Writer(is_noted, is_light)
    for form, first in zip(forms, firsts, strict=True):
        writer.slot(form, first)
    return [*writer.code, a.leave()]


def places(forms: Sequence[Form], is_light: bool = False) -> dict[int, int]:
    """Where the instructions that are recorded stand in a kernel of these forms: form by index."""
    writer, found = _Writer(is_light=is_light), {}
    for i, form in enumerate(forms):
        start = len(writer.code)
        writer.slot(form, 0)
        for at in range(len(writer.code) - 1, start, -1):
            if w.plain(writer.code[at]) == w.plain(form.word):
                found[at] = i
                break
    return found


def batches(forms: Sequence[Form], limit: int = 64, room: int = 4800) -> list[range]:
    """Neighbouring forms that fit one kernel."""
    found: list[range] = []
    start, rows, length = 0, 0, 8
    for i, form in enumerate(forms):
        if i - start == limit or rows + form.rows > OUT_ROWS or length + form.instructions > room:
            found.append(range(start, i))
            start, rows, length = i, 0, 8
        rows += form.rows
        length += form.instructions
    return [*found, range(start, len(forms))]


def first_row(number: int) -> int:
    """Where the inputs of a form begin in the pool, by the form's number."""
    return number * 37 % (POOL_ROWS // 2)


def split(out: Words, forms: Sequence[Form]) -> list[Words]:
    """The rows [row, thread, 4] of each form, from what a kernel stored."""
    ends = np.cumsum([form.rows for form in forms]) + FIRST_ROW
    return np.split(out[FIRST_ROW : ends[-1]], ends[:-1] - FIRST_ROW)


def given(form: Form, first: int, inputs: Words) -> Words:
    """What the rows of a form would be if its instruction did nothing: cells, registers, flags."""
    half = POOL_ROWS // 2
    rows = inputs[[(first + i) % half + half * form.zone for i in range(form.rows)]]
    n = len(form.uniforms)
    per_warp = np.repeat(rows[:n].reshape(n, THREADS // 32, 32, 4)[:, :, :1], 32, axis=2)
    end = n + len(form.registers) * form.quads
    flags = rows[end]
    last = np.zeros((1, THREADS, 4), np.uint32)
    last[0, :, 0] = flags[:, 0] & 0x7F
    if form.is_alone:
        last[0, :, 0] = (flags[:, 0] & 0x3F) + 0x40 * (np.arange(THREADS) % 32 == 0)
    if form.has_uniform_predicates:
        last[0, :, 1] = np.repeat(flags[::32, 1] & 0x7F, 32)
    memory = rows[end + 1 :].copy()
    if form.compare >= 0:
        same = last[0, :, 0] & 0x40 != 0
        memory[:, same] = rows[n + form.registers.index(form.compare) * form.quads, same]
    return np.concatenate([memory, rows[n:end], per_warp.reshape(n, THREADS, 4), last])
