"""A small reader of 64-bit little-endian ELF files: sections, symbols, relocations."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

NOBITS = 8
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_REL = struct.Struct("<QQ")
_RELA = struct.Struct("<QQq")
_SYMTAB, _RELA_TYPE, _REL_TYPE, _DYNSYM = 2, 4, 9, 11


class ElfError(ValueError):
    """The bytes are not a whole, well-formed ELF file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section; `data` is empty for NOBITS, whose `size` still counts."""

    index: int
    name: str
    type: int
    flags: int
    size: int
    link: int
    info: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """One symbol of the symbol table."""

    name: str
    type: int
    other: int
    section: int
    value: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ElfRelocation:
    """One entry of a relocation section; without addend in the entry, `addend` is None."""

    target: int
    offset: int
    type: int
    symbol: int
    addend: int | None


class ElfFile:
    """An ELF file in memory.

    Raises:
        ElfError: a header, table or section lies outside the bytes or is malformed.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) < _HEADER.size:
            raise ElfError(f"only {len(data)} bytes long, shorter than an ELF header")
        header = _HEADER.unpack_from(data)
        ident: bytes = header[0]
        if ident[:4] != b"\x7fELF":
            raise ElfError("it does not begin with the ELF magic number")
        if ident[4:6] != b"\x02\x01":
            raise ElfError("it is not a 64-bit little-endian ELF file")
        self.os_abi = ident[7]
        self.type: int = header[1]
        self.machine: int = header[2]
        self.flags: int = header[7]
        self._data = data
        self.sections = self._read_sections(header[6], header[11], header[12], header[13])

    def _read_sections(
        self, offset: int, entry_size: int, count: int, names_index: int
    ) -> tuple[Section, ...]:
        if count and entry_size != _SECTION.size:
            raise ElfError(f"section headers of {entry_size} bytes")
        if offset + count * _SECTION.size > len(self._data):
            raise ElfError("the section table lies beyond the end: the file is truncated")
        raw = [_SECTION.unpack_from(self._data, offset + i * _SECTION.size) for i in range(count)]
        if not raw:
            return ()
        if names_index >= count:
            raise ElfError("the section name table is missing")
        names = self._contents(raw[names_index])
        return tuple(
            Section(
                index=index,
                name=string_at(names, fields[0]),
                type=fields[1],
                flags=fields[2],
                size=fields[5],
                link=fields[6],
                info=fields[7],
                data=self._contents(fields),
            )
            for index, fields in enumerate(raw)
        )

    def _contents(self, fields: tuple[int, ...]) -> bytes:
        kind, offset, size = fields[1], fields[4], fields[5]
        if kind in (0, NOBITS) or size == 0:
            return b""
        if offset + size > len(self._data):
            raise ElfError("a section lies beyond the end: the file is truncated")
        return self._data[offset : offset + size]

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbol table, empty if there is none."""
        return self._symbols(_SYMTAB)

    def _symbols(self, kind: int) -> tuple[Symbol, ...]:
        for section in self.sections:
            if section.type == kind:
                if section.link >= len(self.sections) or len(section.data) % _SYMBOL.size:
                    raise ElfError("the symbol table is malformed")
                names = self.sections[section.link].data
                return tuple(
                    Symbol(
                        name=string_at(names, name),
                        type=info & 15,
                        other=other,
                        section=index,
                        value=value,
                        size=size,
                    )
                    for name, info, other, index, value, size in _SYMBOL.iter_unpack(section.data)
                )
        return ()

    def exported(self) -> tuple[str, ...]:
        """The names that a shared library defines."""
        return tuple(one.name for one in self._symbols(_DYNSYM) if one.section and one.name)

    def undefined(self) -> tuple[str, ...]:
        """The names that a program or library expects from others."""
        return tuple(one.name for one in self._symbols(_DYNSYM) if not one.section and one.name)

    def relocations(self) -> tuple[ElfRelocation, ...]:
        """Every relocation entry, in file order."""
        found = []
        for section in self.sections:
            if section.type not in (_REL_TYPE, _RELA_TYPE):
                continue
            layout = _RELA if section.type == _RELA_TYPE else _REL
            if len(section.data) % layout.size:
                raise ElfError(f"relocation section {section.name} is malformed")
            for entry in layout.iter_unpack(section.data):
                found.append(
                    ElfRelocation(
                        target=section.info,
                        offset=entry[0],
                        type=entry[1] & 0xFFFFFFFF,
                        symbol=entry[1] >> 32,
                        addend=entry[2] if layout is _RELA else None,
                    )
                )
        return tuple(found)


def string_at(table: bytes, offset: int) -> str:
    """The zero-terminated string at an offset of a string table."""
    if offset > len(table):
        raise ElfError("a name lies outside its string table")
    end = table.find(b"\0", offset)
    return table[offset : end if end >= 0 else len(table)].decode("utf-8", "replace")
