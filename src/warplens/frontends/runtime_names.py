"""Where the functions of NVIDIA's runtime are in a library that has no symbol table.

Every function of the runtime passes its own name to tools that listen, so its code refers to a
text, `cudaMalloc`. Which function a place in the code belongs to is in the table of frames, which a
library needs to unwind exceptions and which stripping leaves.
"""

from __future__ import annotations

import json
import re
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warplens.toolchain.cache import default_cache, key_of
from warplens.toolchain.elf import ElfFile

_NAME = re.compile(rb"\0((?:__)?cuda[A-Z][A-Za-z0-9_]*)(?=\0)")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_LOAD, _DYNAMIC, _FRAMES = 1, 2, 0x6474E550
_INIT_ARRAY, _INIT_ARRAY_SIZE = 25, 27
_EXECUTABLE, _WRITABLE = 1, 2
_TABLE = b"\x01\x1b\x03\x3b"  # version 1, places as the compilers for x86-64 write them
_PIECE = 1 << 24
_SYMBOL = re.compile(r"(?:__)?cuda[A-Z]")
_FATBIN, _FUNCTION = 0x466243B1, 2
# How the runtime's static library has them, one behind the other.
_ROW = (
    "__cudaRegisterFatBinary", "__cudaRegisterFatBinaryEnd", "__cudaUnregisterFatBinary",
    "__cudaRegisterVar", "__cudaRegisterManagedVar", "__cudaRegisterHostVar",
    "__cudaRegisterFunction", "__cudaInitModule", "__cudaPushCallConfiguration",
    "__cudaPopCallConfiguration", "__cudaGetKernel", "__cudaLaunchKernel",
    "__cudaLaunchKernel_ptsz",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a library that is loaded."""

    address: int
    flags: int
    data: npt.NDArray[np.uint8]

    def has(self, address: int) -> bool:
        """Whether an address is in it."""
        return self.address <= address < self.address + len(self.data)


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library's parts and where its functions begin, by the addresses in its file."""

    segments: tuple[Segment, ...]
    starts: tuple[int, ...]
    initialisers: tuple[int, int] = (0, 0)  # a table's place and entries

    def code(self) -> Iterator[Segment]:
        """What is executed."""
        return (one for one in self.segments if one.flags & _EXECUTABLE)

    def start_of(self, place: int) -> int | None:
        """The beginning of the function that a place is in."""
        index = bisect_right(self.starts, place)
        return self.starts[index - 1] if index else None

    def bytes_at(self, address: int, size: int) -> bytes:
        """What stands at an address."""
        for segment in self.segments:
            if segment.has(address):
                start = address - segment.address
                return segment.data[start : start + size].tobytes()
        return b""


def read_library(path: Path) -> Library:
    """Reads a 64-bit ELF file's program headers and its table of frames."""
    data: npt.NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
    (table,) = struct.unpack("<Q", data[32:40].tobytes())
    size, count = struct.unpack("<HH", data[54:58].tobytes())
    segments: list[Segment] = []
    starts: tuple[int, ...] = ()
    dynamic: dict[int, int] = {}
    for index in range(count):
        entry = data[table + index * size :][: _PROGRAM.size].tobytes()
        kind, flags, offset, address, _, in_file, _, _ = _PROGRAM.unpack(entry)
        part = data[offset : offset + in_file]
        if kind == _LOAD:
            segments.append(Segment(address=address, flags=flags, data=part))
        elif kind == _FRAMES and part[:4].tobytes() == _TABLE:
            (n_frames,) = struct.unpack("<I", part[8:12].tobytes())
            pairs = np.frombuffer(part[12 : 12 + 8 * n_frames].tobytes(), np.int32)
            starts = tuple((pairs[::2].astype(np.int64) + address).tolist())
        elif kind == _DYNAMIC:
            dynamic = dict(struct.iter_unpack("<qQ", part.tobytes()))
    table, nbytes = dynamic.get(_INIT_ARRAY, 0), dynamic.get(_INIT_ARRAY_SIZE, 0)
    return Library(tuple(segments), starts, (table, nbytes // 8))


def references(segment: Segment, wanted: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Places in code that take an address (`lea`, relative to the next instruction), and which."""
    for first in range(0, len(segment.data), _PIECE):
        code = np.asarray(segment.data[first : first + _PIECE + 7])
        if len(code) < 8:
            continue
        is_lea = (code[1:-6] == 0x8D) & ((code[:-7] & 0xFB) == 0x48) & ((code[2:-5] & 0xC7) == 5)
        places = np.nonzero(is_lea)[0]
        words = np.stack([code[places + 3 + i] for i in range(4)], axis=1)
        distances = words.copy().view(np.int32)[:, 0].astype(np.int64)
        after = segment.address + first + places + 7
        targets = after + distances
        for index in np.nonzero(np.isin(targets, wanted))[0]:
            yield int(after[index]) - 7, int(targets[index])


def named_functions(library: Library) -> dict[str, int]:
    """The runtime's functions by the names that their code refers to."""
    texts: dict[int, str] = {}
    for segment in library.segments:
        if not segment.flags & (_EXECUTABLE | _WRITABLE):
            for found in _NAME.finditer(segment.data.tobytes()):
                texts[segment.address + found.start(1)] = found[1].decode()
    wanted = np.array(sorted(texts), np.int64)
    users: dict[int, set[str]] = {}
    for segment in library.code():
        for place, target in references(segment, wanted):
            start = library.start_of(place)
            if start is not None:
                users.setdefault(start, set()).add(texts[target])
    # A function with several names prints or lists them.
    single = {start: next(iter(names)) for start, names in users.items() if len(names) == 1}
    often = Counter(single.values())
    return {name: start for start, name in single.items() if often[name] == 1}


def _called_after(library: Library, place: int) -> int | None:
    """The function that code calls next."""
    code = library.bytes_at(place, 32)
    at = code.find(b"\xe8")
    if at < 0 or at + 5 > len(code):
        return None
    return place + at + 5 + int(struct.unpack_from("<i", code, at + 1)[0])


def _registrations(library: Library) -> dict[int, int]:
    """Functions that name a fat binary, and what they call with it."""
    head = struct.pack("<II", _FATBIN, 1)
    wrappers = [
        segment.address + found.start()
        for segment in library.segments if segment.flags & _WRITABLE
        for found in re.finditer(re.escape(head), segment.data.tobytes())
    ]  # fmt: skip
    found = {}
    for segment in library.code() if wrappers else ():
        for place, _ in references(segment, np.array(wrappers, np.int64)):
            start, called = library.start_of(place), _called_after(library, place + 7)
            if start is not None and called is not None:
                found[start] = called
    return found


def _unnamed(library: Library, registrations: dict[int, int]) -> dict[str, int]:
    """What registers kernels and launches them: it has no names, but a place in a fixed row."""
    calls = Counter(registrations.values())
    if not calls:
        return {}
    first = calls.most_common(1)[0][0]
    index = bisect_right(library.starts, first) - 1
    row = library.starts[index : index + len(_ROW)]
    return dict(zip(_ROW, row, strict=True)) if row and row[0] == first else {}


@dataclass(frozen=True, slots=True)
class Runtime:
    """The runtime inside a library.

    Attributes:
        functions: their places.
        registering: the initialisers that tell it of kernels.
    """

    functions: dict[str, int]
    registering: frozenset[int]


def find_runtime(path: Path, library: Library) -> Runtime:
    """The runtime's functions in a library: by symbols if it has them, else as described above.

    That takes seconds in a large library, so what was found is kept.
    """
    with path.open("rb") as file:
        head = file.read(4096)  # the linker's digest of the whole is in it
    key, cache = key_of("runtime inside", str(path.stat().st_size), head), default_cache()
    kept = cache.get("runtime", key)
    if kept is not None:
        told = json.loads(kept)
        return Runtime(told["functions"], frozenset(told["registering"]))
    registrations = _registrations(library)
    functions = {
        symbol.name: symbol.value
        for symbol in ElfFile(path.read_bytes()).symbols
        if symbol.type == _FUNCTION and symbol.value and _SYMBOL.match(symbol.name)
    } or {**named_functions(library), **_unnamed(library, registrations)}
    told = {"functions": functions, "registering": list(registrations)}
    cache.put("runtime", key, json.dumps(told).encode())
    return Runtime(functions, frozenset(registrations))
