"""Reads DWARF line programs (`.debug_line`, versions 2 to 5): code address to source line."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from warplens.toolchain.paths import unescaped

_END_SEQUENCE, _SET_ADDRESS, _INLINED_CALL = 1, 2, 0x90
_DIRECTORY_PATH, _DIRECTORY_INDEX = 1, 2
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
_FORM_SIZES = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}
_FORM_STRING, _FORM_LINE_STRP, _FORM_UDATA, _FORM_BLOCK = 0x08, 0x1F, 0x0F, 0x09

Place = tuple[int, int]  # section index, address in it


@dataclass(slots=True)
class LineRow:
    """From `address` to the next row, code comes from this place; file None: from nowhere.

    Attributes:
        callers: file and line of the calls by which the code was inlined, the nearest one first.
    """

    address: int
    file: str | None
    line: int
    callers: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class _Reader:
    """A position in the section's bytes."""

    data: bytes
    at: int = 0

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise ValueError("the line table is truncated")
        piece = self.data[self.at : self.at + size]
        self.at += size
        return piece

    def string(self) -> str:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise ValueError("the line table holds an endless string")
        text = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return text

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise ValueError("the line table is truncated")
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        data, at = self.data, self.at
        value = shift = 0
        while at < len(data):
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.at = at
                return value
            shift += 7
            if shift > 70:
                raise ValueError("the line table holds an endless number")
        raise ValueError("the line table is truncated")

    def signed(self) -> int:
        start = self.at
        value = self.unsigned()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value


@dataclass(slots=True)
class _Header:
    minimum_length: int
    line_base: int
    line_range: int
    opcode_base: int
    operand_counts: bytes
    files: list[str] = field(default_factory=list)
    first_file: int = 1

    def file(self, index: int) -> str | None:
        index -= self.first_file
        return self.files[index] if 0 <= index < len(self.files) else None


def read_lines(
    data: bytes,
    relocated: Mapping[int, Place],
    line_strings: bytes = b"",
) -> dict[int, list[LineRow]]:
    """The line rows of every code section, sorted by address.

    Args:
        data: the bytes of `.debug_line`.
        relocated: offset in `data` of an address operand -> the place it means.
        line_strings: the bytes of `.debug_line_str`, for version 5.
    """
    rows: dict[int, list[LineRow]] = {}
    reader = _Reader(data)
    while reader.at + 4 <= len(data):
        length = reader.number(4)
        wide = length == 0xFFFFFFFF
        if wide:
            length = reader.number(8)
        end = reader.at + length
        if end > len(data):
            raise ValueError("the line table is truncated")
        header = _read_header(reader, 8 if wide else 4, line_strings)
        if header is not None:
            _run(reader, end, header, relocated, rows)
        reader.at = end
    for section in rows.values():
        section.sort(key=lambda row: row.address)
    return rows


def _read_header(reader: _Reader, word: int, line_strings: bytes) -> _Header | None:
    version = reader.number(2)
    if not 2 <= version <= 5:
        return None
    if version >= 5:
        reader.take(2)  # address and segment selector sizes
    header_length = reader.number(word)
    program = reader.at + header_length
    minimum_length = reader.number(1)
    if version >= 4:
        reader.take(1)  # operations per instruction
    reader.take(1)  # default is_stmt
    line_base = struct.unpack("b", reader.take(1))[0]
    line_range = reader.number(1)
    opcode_base = reader.number(1)
    if not line_range or not opcode_base:
        raise ValueError("the line table's header is malformed")
    header = _Header(
        minimum_length, line_base, line_range, opcode_base, reader.take(opcode_base - 1)
    )
    if version >= 5:
        header.first_file = 0
        _read_tables_v5(reader, header, word, line_strings)
    else:
        _read_tables(reader, header)
    reader.at = program
    return header


def _read_tables(reader: _Reader, header: _Header) -> None:
    folders = [""]
    while folder := reader.string():
        folders.append(folder)
    while name := reader.string():
        index = reader.unsigned()
        reader.unsigned()  # modification time
        reader.unsigned()  # size
        header.files.append(_join(folders[index] if index < len(folders) else "", name))


def _read_tables_v5(reader: _Reader, header: _Header, word: int, strings: bytes) -> None:
    folders = [path for path, _ in _read_entries(reader, word, strings)]
    for name, index in _read_entries(reader, word, strings):
        header.files.append(_join(folders[index] if index < len(folders) else "", name))


def _read_entries(reader: _Reader, word: int, strings: bytes) -> list[tuple[str, int]]:
    formats = [(reader.unsigned(), reader.unsigned()) for _ in range(reader.number(1))]
    entries = []
    for _ in range(reader.unsigned() if formats else 0):
        path, index = "", 0
        for content, form in formats:
            value = _read_form(reader, form, word, strings)
            if content == _DIRECTORY_PATH and isinstance(value, str):
                path = value
            elif content == _DIRECTORY_INDEX and isinstance(value, int):
                index = value
        entries.append((path, index))
    return entries


def _read_form(reader: _Reader, form: int, word: int, strings: bytes) -> str | int:
    if form == _FORM_STRING:
        return reader.string()
    if form == _FORM_LINE_STRP:
        return _Reader(strings, reader.number(word)).string()
    if form == _FORM_UDATA:
        return reader.unsigned()
    if form == _FORM_BLOCK:
        reader.take(reader.unsigned())
        return 0
    if form in _FORM_SIZES:
        return reader.number(_FORM_SIZES[form])
    raise ValueError(f"the line table uses the unknown form {form:#x}")


def _join(folder: str, name: str) -> str:
    if not folder or name.startswith("/") or name[1:2] == ":":
        return unescaped(name)
    return unescaped(f"{folder.rstrip('/')}/{name}")


def _run(
    reader: _Reader,
    end: int,
    header: _Header,
    relocated: Mapping[int, Place],
    rows: dict[int, list[LineRow]],
) -> None:
    """Runs one line program."""
    state = _State()
    unit, base = header.minimum_length, header.opcode_base
    steps = [divmod(code, header.line_range) for code in range(256 - base)]
    while reader.at < end:
        code = reader.byte()
        if code >= base:
            step, advance = steps[code - base]
            state.address += step * unit
            state.line += header.line_base + advance
            state.emit(header.file(state.file), rows)
        elif code == 0:
            state = _extended(reader, state, relocated, rows)
        elif code == _COPY:
            state.emit(header.file(state.file), rows)
        elif code == _ADVANCE_PC:
            state.address += reader.unsigned() * unit
        elif code == _ADVANCE_LINE:
            state.line += reader.signed()
        elif code == _SET_FILE:
            state.file = reader.unsigned()
        elif code == _CONST_ADD_PC:
            state.address += (255 - header.opcode_base) // header.line_range * unit
        elif code == _FIXED_ADVANCE_PC:
            state.address += reader.number(2)
        else:
            for _ in range(header.operand_counts[code - 1]):
                reader.unsigned()


@dataclass(slots=True)
class _State:
    """The registers of the line-number machine that matter here."""

    section: int = -1
    address: int = 0
    file: int = 1
    line: int = 1
    context: int = 0  # the row, counted from 1, of the call that inlined what comes; 0: none
    made: list[LineRow] = field(default_factory=list)  # all rows since the last end
    calls: dict[int, tuple[tuple[str, int], ...]] = field(default_factory=dict)  # by `context`

    def emit(self, file: str | None, rows: dict[int, list[LineRow]]) -> None:
        """Adds a row at the present place."""
        callers = self.calls.get(self.context)
        if callers is None:
            callers = ()
            if 0 < self.context <= len(self.made):
                call = self.made[self.context - 1]
                callers = ((call.file, call.line), *call.callers) if call.file else call.callers
                self.calls[self.context] = callers
        row = LineRow(self.address, file, self.line, callers)
        self.made.append(row)
        if self.section >= 0:
            rows.setdefault(self.section, []).append(row)


def _extended(
    reader: _Reader,
    state: _State,
    relocated: Mapping[int, Place],
    rows: dict[int, list[LineRow]],
) -> _State:
    """An extended operation, NVIDIA's own for inlined calls among them."""
    size = reader.unsigned()
    start = reader.at
    kind = reader.byte() if size else 0
    if kind == _END_SEQUENCE:
        state.emit(None, rows)
        state = _State()  # rows are counted anew, for calls as well
    elif kind == _SET_ADDRESS:
        state.section, state.address = relocated.get(reader.at, (-1, 0))
    elif kind == _INLINED_CALL:  # followed by the function's name, which nobody needs
        state.context = reader.unsigned()
    reader.at = start + size
    return state
