"""Machine code as programs hand it to a driver: by a pointer to a cubin, a fat binary or PTX."""

from __future__ import annotations

import importlib
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from warplens.driver.cells import get_bytes, get_text, get_u32, get_u64
from warplens.driver.status import DriverError, Status
from warplens.errors import CubinError, ToolchainError
from warplens.toolchain.nvjitlink import PTX, LinkInput, link

_ELF = b"\x7fELF"
_WRAPPER, _FATBIN = 0x466243B1, 0xBA55ED50
_NO_BITS = 8
_KIND_PTX, _KIND_ELF = 1, 2
_LZ4, _ZSTD = 0x2000, 0x8000
_OLD_VERSION = re.compile(rb"(\.version\s+)(?:[12]\.\d|3\.0)(?!\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Machine code for a GPU; `ptx` gives the text of the same compile, where it is known."""

    cubin: bytes
    ptx: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One piece of a fat binary."""

    kind: int
    sm: int
    data: bytes
    flags: int
    full_size: int


def code_at(address: int, sm: int) -> Code:
    """The code for a GPU from what a program's pointer shows.

    Raises:
        DriverError, CubinError, CompileError: there is none, or PTX that does not compile.
    """
    head = get_bytes(address, 4)
    if head == _ELF:
        return Code(cubin=_elf_bytes(address))
    if get_u32(address) in (_WRAPPER, _FATBIN):
        return _of_fatbin(address, sm)
    return compiled(get_text(address).encode("utf-8", "surrogateescape"), sm)


def code_of(data: bytes, sm: int) -> Code:
    """The code for a GPU from a file's bytes."""
    if data[:4] == _ELF:
        return Code(cubin=data)
    if data[:4] == struct.pack("<I", _FATBIN):
        return _chosen(_entries(data), sm)
    return compiled(data, sm)


def compiled(ptx: bytes, sm: int) -> Code:
    """PTX compiled for a GPU."""
    if b".version" not in ptx:
        raise CubinError("the image is no cubin, fat binary or PTX")
    # The linker takes no text before 3.1, of which older text is a part; drivers take it.
    text = _OLD_VERSION.sub(rb"\g<1>3.1", ptx, count=1)
    cubin = link([LinkInput(kind=PTX, data=text, name="ptx")], sm=sm)
    return Code(cubin=cubin, ptx=partial(_decoded, text))


def _decoded(ptx: bytes) -> str:
    return ptx.rstrip(b"\0").decode("utf-8", "surrogateescape")


def _elf_bytes(address: int) -> bytes:
    """An ELF file's bytes; how many follows from its tables."""
    head = get_bytes(address, 64)
    program_table, section_table = struct.unpack_from("<QQ", head, 32)
    program_size, n_programs, section_size, n_sections = struct.unpack_from("<HHHH", head, 54)
    end = max(64, program_table + program_size * n_programs,
              section_table + section_size * n_sections)  # fmt: skip
    for index in range(n_sections):
        section = get_bytes(address + section_table + index * section_size, 64)
        offset, size = struct.unpack_from("<QQ", section, 24)
        if struct.unpack_from("<I", section, 4)[0] != _NO_BITS:
            end = max(end, offset + size)
    return get_bytes(address, end)


def _of_fatbin(address: int, sm: int) -> Code:
    if get_u32(address) == _WRAPPER:
        address = get_u64(address + 8)
    header, size = struct.unpack_from("<HQ", get_bytes(address, 16), 6)
    return _chosen(_entries(get_bytes(address, header + size)), sm)


def _entries(data: bytes) -> list[_Entry]:
    header, size = struct.unpack_from("<HQ", data, 6)
    place, end, found = header, header + size, []
    while place < end:
        kind, _, skip, length = struct.unpack_from("<HHIQ", data, place)
        packed, _, _, sm = struct.unpack_from("<IIII", data, place + 16)
        flags, _, full = struct.unpack_from("<QQQ", data, place + 40)
        body = data[place + skip : place + skip + (packed or length)]
        found.append(_Entry(kind=kind, sm=sm, data=body, flags=flags, full_size=full))
        place += skip + length
    return found


def _chosen(entries: list[_Entry], sm: int) -> Code:
    """The newest machine code that the GPU runs, else PTX that is old enough for it."""
    codes = [e for e in entries if e.kind == _KIND_ELF and e.sm // 10 == sm // 10 and e.sm <= sm]
    texts = [e for e in entries if e.kind == _KIND_PTX and e.sm <= sm]
    if codes:
        code = max(codes, key=lambda entry: entry.sm)
        beside = [entry for entry in texts if entry.sm == code.sm]
        ptx = partial(_text, beside[0]) if beside else None
        return Code(cubin=_unpacked(code), ptx=ptx)
    if texts:
        return compiled(_unpacked(max(texts, key=lambda entry: entry.sm)), sm)
    has = ", ".join(sorted({f"sm_{entry.sm}" for entry in entries})) or "nothing"
    raise DriverError(
        Status.CUDA_ERROR_NO_BINARY_FOR_GPU, f"the fat binary has {has}; the GPU is sm_{sm}"
    )


def _text(entry: _Entry) -> str:
    return _decoded(_unpacked(entry))


def _unpacked(entry: _Entry) -> bytes:
    if entry.flags & _LZ4:
        return _lz4(entry.data, entry.full_size)
    if entry.flags & _ZSTD:
        try:
            library: Any = importlib.import_module("zstandard")
        except ImportError as error:
            raise ToolchainError(
                "the fat binary is compressed with zstd", hint="pip install zstandard"
            ) from error
        return bytes(
            library.ZstdDecompressor().decompress(entry.data, max_output_size=entry.full_size)
        )
    return entry.data


def _lz4(packed: bytes, size: int) -> bytes:
    """One LZ4 block: runs of literals, each with a copy of earlier output behind it."""
    out, place = bytearray(), 0

    def extended(length: int) -> int:
        nonlocal place
        if length == 15:
            while True:
                more = packed[place]
                place += 1
                length += more
                if more != 255:
                    break
        return length

    while place < len(packed):
        token = packed[place]
        place += 1
        literals = extended(token >> 4)
        out += packed[place : place + literals]
        place += literals
        if place >= len(packed):
            break
        distance = packed[place] | packed[place + 1] << 8
        place += 2
        length = extended(token & 15) + 4
        start = len(out) - distance
        if start < 0 or distance == 0:
            raise CubinError("the fat binary's LZ4 data is damaged")
        for index in range(start, start + length):
            out.append(out[index])
    if len(out) != size:
        raise CubinError(f"the fat binary's LZ4 data gives {len(out)} bytes instead of {size}")
    return bytes(out)
