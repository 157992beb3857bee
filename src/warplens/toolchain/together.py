"""Many cubins disassembled at once: nvdisasm takes half a second to start, whatever it reads.

Kernels whose code stands for itself are written into one ELF file, a section each, and their
listings are put into the cache, where `disassemble` finds them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from warplens.errors import CubinError, SassError
from warplens.toolchain import nvdisasm
from warplens.toolchain.cache import Cache, default_cache
from warplens.toolchain.cubin import CubinKernel, read_cubin
from warplens.toolchain.elf import ElfFile, Section, Symbol

_ELF = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOLS, _STRINGS = 2, 3  # types of sections
_FUNCTION, _GLOBAL = 2, 1 << 4
_ENTRY = 0x10
_ALIGNMENT = 128
_REGISTERS = 0xFF000000  # of a section's info; the rest is the number of its symbol
_NAMES = ".shstrtab"
_WORD = 16  # bytes of an instruction


@dataclass(frozen=True, slots=True)
class _Code:
    """One kernel of one of the cubins."""

    cubin: bytes
    name: str
    section: Section
    inner: tuple[Symbol, ...]  # functions in the kernel's section


def disassemble_together(cubins: Iterable[bytes], *, cache: Cache | None = None) -> int:
    """Lists the cubins that the cache does not know, a call for each kind of file; gives how many.

    What it leaves out (code with relocations, functions with sections of their own, tables of
    branch targets) is listed alone when it is needed, and what nvdisasm refuses there is refused
    then.

    Raises:
        ToolchainError: nvdisasm is missing or cannot run.
    """
    store = default_cache() if cache is None else cache
    if store.directory is None:
        return 0
    unknown = [
        cubin for cubin in dict.fromkeys(cubins)
        if store.get("listing", nvdisasm.listing_key(cubin)) is None
    ]  # fmt: skip
    alike: dict[bytes, list[_Code]] = {}
    for cubin in unknown:
        alike.setdefault(_head(cubin), []).extend(_codes(cubin))
    listed = 0
    for codes in filter(None, alike.values()):
        with suppress(CubinError, SassError, ValueError, LookupError, TypeError):
            listed += _keep(store, codes, json.loads(nvdisasm.run(_merged(codes)))[1])
    return listed


def _head(cubin: bytes) -> bytes:
    """What the file is for: identification, machine, flags."""
    if len(cubin) < _ELF.size:
        return b""
    fields = _ELF.unpack_from(cubin)
    return b"".join(str(part).encode() for part in (fields[0], fields[1], fields[2], fields[7]))


def _codes(cubin: bytes) -> list[_Code]:
    """The kernels of a cubin if its code stands for itself, else nothing."""
    try:
        known = read_cubin(cubin)
        elf = ElfFile(cubin)
    except (CubinError, ValueError):
        return []
    has_more = known.device_functions or known.externs or any(
        relocation.section.startswith(".text.") for relocation in known.relocations
    )
    if has_more or any(kernel.branch_targets for kernel in known.kernels.values()):
        return []
    return [_code(cubin, elf, kernel) for kernel in known.kernels.values()]


def _code(cubin: bytes, elf: ElfFile, kernel: CubinKernel) -> _Code:
    inner = tuple(
        symbol for symbol in elf.symbols
        if symbol.section == kernel.section_index and symbol.value in kernel.functions
        and symbol.type == _FUNCTION
    )  # fmt: skip
    return _Code(cubin, kernel.name, elf.sections[kernel.section_index], inner)


def _prefix(number: int) -> str:
    """What stands before the names of a kernel and its functions, which are told apart by it."""
    return f"warplens_{number}__"


def _merged(codes: Sequence[_Code]) -> bytes:
    """One ELF file with a section for each kernel, and symbols for it and its functions."""
    file, symbol_names = _File(), _Strings()
    symbols, count = _SYMBOL.pack(0, 0, 0, 0, 0, 0), 1
    names_at = len(codes) + 1
    for number, code in enumerate(codes):
        section, prefix = code.section, _prefix(number)
        file.add(
            f".text.{prefix}{code.name}", section.data, section.type, flags=section.flags,
            link=names_at + 1, info=section.info & _REGISTERS | count,
        )  # fmt: skip
        own = (code.name, _GLOBAL | _FUNCTION, _ENTRY, 0, len(section.data))
        inner = ((s.name, _FUNCTION, s.other, s.value, s.size) for s in code.inner)
        for name, kind, other, value, size in (own, *inner):
            at = symbol_names.add(prefix + name)
            symbols += _SYMBOL.pack(at, kind, other, number + 1, value, size)
            count += 1
    file.add(".strtab", symbol_names.data, _STRINGS)
    file.add(".symtab", symbols, _SYMBOLS, link=names_at, entry=_SYMBOL.size)
    return file.whole(codes[0].cubin)


class _File:
    """An ELF file in the making."""

    def __init__(self) -> None:
        self._names = _Strings()
        self._headers = [bytes(_SECTION.size)]
        self._body = b""

    def add(
        self, name: str, data: bytes, kind: int, *, flags: int = 0, link: int = 0, info: int = 0,
        entry: int = 0,
    ) -> None:  # fmt: skip
        """Adds a section."""
        self._body += bytes(-(_ELF.size + len(self._body)) % _ALIGNMENT)
        at = self._names.add(name)
        self._headers.append(_SECTION.pack(
            at, kind, flags, 0, _ELF.size + len(self._body),
            len(self._names.data if name == _NAMES else data), link, info, _ALIGNMENT, entry,
        ))  # fmt: skip
        self._body += self._names.data if name == _NAMES else data

    def whole(self, like: bytes) -> bytes:
        """The whole file, for the machine that another one is for."""
        self.add(_NAMES, b"", _STRINGS)
        fields = list(_ELF.unpack_from(like))
        fields[4:7] = 0, 0, _ELF.size + len(self._body)  # entry, program and section headers
        fields[9:14] = 0, 0, _SECTION.size, len(self._headers), len(self._headers) - 1
        return _ELF.pack(*fields) + self._body + b"".join(self._headers)


class _Strings:
    """A table of zero-terminated strings."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, text: str) -> int:
        """Where the text stands in the table."""
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def _keep(store: Cache, codes: Sequence[_Code], functions: Sequence[dict[str, Any]]) -> int:
    """Puts each cubin's listing into the cache, if its length is right."""
    listed = {function["function-name"]: function for function in functions}
    by_cubin: dict[bytes, list[dict[str, Any]]] = {}
    for number, code in enumerate(codes):
        prefix = _prefix(number)
        instructions = listed[prefix + code.name]["sass-instructions"]
        if len(instructions) * _WORD != code.section.size:
            raise SassError("nvdisasm lists another number of instructions than there are")
        for one in instructions:
            if prefix in one.get("operands", ""):
                one["operands"] = one["operands"].replace(prefix, "")
        own = {"function-name": code.name, "sass-instructions": instructions}
        by_cubin.setdefault(code.cubin, []).append(own)
    for cubin, own_functions in by_cubin.items():
        text = json.dumps([{}, own_functions]).encode()
        store.put("listing", nvdisasm.listing_key(cubin), text)
    return len(by_cubin)
