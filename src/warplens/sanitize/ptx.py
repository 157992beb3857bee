"""What only the PTX tells: shared arrays by name, warp intrinsics, how strong an access is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import PurePath

from warplens.sass.model import Instruction, SassKernel
from warplens.toolchain.demangle import demangle
from warplens.toolchain.paths import unescaped

_ENTRY = re.compile(r"^\.?(?:visible |weak )*\.(?:entry|func)\s*(?:\([^)]*\)\s*)?([\w$]+)", re.M)
_SHARED = re.compile(r"^\s*(?:\.extern |\.visible |\.weak |\.static )*"
                     r"\.shared\s+(?:\.attribute\([^)]*\)\s*)?\.align (\d+) \.(\w+) "
                     r"([\w$]+)((?:\[\d*\])*)", re.M)  # fmt: skip
_INTRINSIC = re.compile(r"\b(?:shfl|vote|match|redux|elect|bar\.warp|activemask)\b")
LOCATION = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.M)
_LOCAL = re.compile(r"^\s*\.local\s[^;]*?__local_depot\d+\[(\d+)\]", re.M)
_ACQUIRE = re.compile(r"\b(?:ld|atom)(?:\.\w+)*?\.acq(?:uire|_rel)\b")
_VOLATILE = re.compile(r"\b(?:ld|st)\.volatile\b")
_RELAXED = re.compile(r"\b(?:ld|st)\.(?:relaxed|acquire|release)\b")
_WAIT = re.compile(r"\bmbarrier\.(?:test|try)_wait")
_NARROW = re.compile(r"\b(?:atom|red)\.[\w.:]*\.(?:b16|f16|bf16)\b")
_STRONG_SHARED = re.compile(r"\b(?:ld|st)\.(?:volatile|relaxed|acquire|release)[\w.]*\.shared")


def has_warp_intrinsics(ptx: str, kernel: str) -> bool:
    """Whether a kernel, or a function that it may call, has instructions whose mask names lanes.

    Without PTX nobody knows.
    """
    starts = [*_ENTRY.finditer(ptx)]
    ends = [start.start() for start in starts[1:]] + [len(ptx)]
    for start, end in zip(starts, ends, strict=True):
        may_run = start.group(1) == kernel or ".func" in start.group(0)
        if may_run and _INTRINSIC.search(ptx, start.start(), end):
            return True
    return not starts


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A shared array: name, offset in the block's shared address space, bytes."""

    name: str
    offset: int
    size: int


def kernel_text(ptx: str, kernel: str) -> tuple[str, str]:
    """What a PTX file declares for all kernels, and the part of one kernel."""
    starts = [(m.start(), m.group(1)) for m in _ENTRY.finditer(ptx)]
    head = ptx[: starts[0][0]] if starts else ""
    ends = [start for start, _ in starts[1:]] + [len(ptx)]
    for (start, name), end in zip(starts, ends, strict=False):
        if name == kernel:
            return head, ptx[start:end]
    return head, ""


def shared_arrays(ptx: str, kernel: SassKernel) -> tuple[SharedArray, ...]:
    """Shared arrays as the PTX declares them; none where their layout is not certain."""
    head, body = kernel_text(ptx, kernel.name)
    reserved = kernel.shared_section - kernel.static_shared if kernel.sm >= 90 else 0
    place = 0
    arrays: list[SharedArray] = []
    dynamic: list[str] = []
    for alignment, kind, name, shape in _SHARED.findall(head + body):
        if not re.search(rf"[^.\]]\s\[?{re.escape(name)}[\];+,]", body):
            continue
        counts = [int(n) if n else 0 for n in re.findall(r"\[(\d*)\]", shape)]
        size = prod([int(kind[1:]) // 8, *counts])
        if counts and size == 0:
            dynamic.append(name)
            continue
        place = -(-place // int(alignment)) * int(alignment)
        arrays.append(SharedArray(variable_name(name), reserved + place, size))
        place += size
    if place > kernel.static_shared or kernel.static_shared - place >= 16:
        arrays = []
    first = reserved + kernel.static_shared
    return (*arrays, *(SharedArray(variable_name(n), first, 0) for n in dynamic[:1]))


def variable_name(mangled: str) -> str:
    """`s` for `_ZZ1kE1s`: a variable of a function by its own name."""
    text = demangle(mangled)
    return text.rsplit("::", 1)[-1] if text else mangled


def local_array_bytes(ptx: str, kernel: str) -> int:
    """Bytes of a kernel's local arrays before the assembler put some of them into registers."""
    return sum(int(size) for size in _LOCAL.findall(kernel_text(ptx, kernel)[1]))


Line = tuple[str, int]
Sites = Mapping[Line, tuple[Line, ...]]  # where the code of a line was inlined
_BAR = re.compile(r"^\s*(?:@!?%p\d+\s+)?(?:bar|barrier)\.(?:cta\.)?(?:sync|arrive|red)", re.M)
_INLINED = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+.*inlined_at\s+(\d+)\s+(\d+)", re.M)


_CALL = re.compile(r"^\s*(?:@!?%p\d+\s+)?call\b", re.M)


def barrier_lines(ptx: str, kernel: str) -> Counter[Line]:
    """How many block barriers the PTX of a kernel, and of functions that it may call, has on
    every source line."""
    return _lines_with(_BAR, ptx, kernel)


def call_lines(ptx: str, kernel: str) -> Counter[Line]:
    """The same of calls."""
    return _lines_with(_CALL, ptx, kernel)


def source_files(ptx: str) -> dict[str, str]:
    """Names of the source files by the numbers that `.loc` has for them."""
    return {number: PurePath(unescaped(path)).name for number, path in _FILE.findall(ptx)}


def _lines_with(pattern: re.Pattern[str], ptx: str, kernel: str) -> Counter[Line]:
    files = source_files(ptx)
    found: Counter[Line] = Counter()
    line = ("", 0)
    runs = False
    for row in ptx.splitlines():
        start = _ENTRY.match(row)
        if start:
            runs = start.group(1) == kernel or ".func" in row
            line = ("", 0)
            continue
        location = LOCATION.match(row)
        if location:
            line = (files.get(location.group(1), ""), int(location.group(2)))
        elif runs and line[1] and pattern.match(row):
            found[line] += 1
    return found


@lru_cache(maxsize=8)
def call_sites(ptx: str) -> Sites:
    """Where the code of a line was inlined, by the outermost call."""
    files = source_files(ptx)
    found: dict[Line, set[Line]] = {}
    for file, line, other, at in _INLINED.findall(ptx):
        place, site = (files.get(file, ""), int(line)), (files.get(other, ""), int(at))
        found.setdefault(place, set()).add(site)
    return {place: tuple(sorted(_outermost(place, found, ()))) for place in found}


def callers_of(inst: Instruction, sites: Sites) -> tuple[Line, ...]:
    """Where an instruction's code was called if it was inlined: by the line table, else by PTX."""
    if inst.callers:
        file, line = inst.callers[-1]
        return ((PurePath(file).name, line),)
    return sites.get((PurePath(inst.file or "").name, inst.line or 0), ())


def _outermost(place: Line, found: Mapping[Line, set[Line]], on_way: tuple[Line, ...]) -> set[Line]:
    if place not in found or place in on_way:
        return {place}
    return {end for site in found[place] for end in _outermost(site, found, (*on_way, place))}


@dataclass(frozen=True, slots=True)
class OrderingLines:
    """Source lines (name of the file, number) with accesses whose strength SASS does not show.

    Attributes:
        strong: accesses to shared memory that are volatile or strong.
        acquire: loads and atomics that acquire: within a block that costs no instruction.
        waits: reads of an mbarrier's phase.
        volatile: loads and stores that are volatile, and no atomic objects' beside them.
        narrow: atomics of 16 bits, for which there are no instructions.
    """

    strong: frozenset[Line] = frozenset()
    acquire: frozenset[Line] = frozenset()
    volatile: frozenset[Line] = frozenset()
    waits: frozenset[Line] = frozenset()
    narrow: frozenset[Line] = frozenset()


def ordering_lines(ptx: str, kernel: str) -> OrderingLines:
    """The lines of a kernel, and of what was inlined into it."""
    files = source_files(ptx)
    strong: set[Line] = set()
    other: set[Line] = set()
    acquire: set[Line] = set()
    waits: set[Line] = set()
    volatile: set[Line] = set()
    relaxed: set[Line] = set()
    narrow: set[Line] = set()
    line = ("", 0)
    for row in kernel_text(ptx, kernel)[1].splitlines():
        location = LOCATION.match(row)
        if location:
            line = (files.get(location.group(1), ""), int(location.group(2)))
            continue
        if not line[1]:
            continue  # nobody knows which instructions are meant
        if _VOLATILE.search(row):
            volatile.add(line)
        elif _RELAXED.search(row):
            relaxed.add(line)
        if _ACQUIRE.search(row):
            acquire.add(line)
        if _WAIT.search(row):
            waits.add(line)
        if _NARROW.search(row):
            narrow.add(line)
        if _STRONG_SHARED.search(row):
            strong.add(line)
        elif re.search(r"\b(?:ld|st)\.shared", row):
            other.add(line)
    return OrderingLines(
        strong=frozenset(strong - other), acquire=frozenset(acquire), waits=frozenset(waits),
        volatile=frozenset(volatile - relaxed), narrow=frozenset(narrow),
    )  # fmt: skip
