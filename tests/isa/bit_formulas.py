"""Logic, shifts, permutes and moves in plain Python integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.isa.cases import Case
from tests.isa.formulas import M32, s32, s64


def _lop3(table: int) -> Callable[[int, int, int, bool], tuple[bool, int]]:
    def lop3(a: int, b: int, c: int, p: bool) -> tuple[bool, int]:
        d = 0
        for i in range(32):
            index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)
            d |= (table >> index & 1) << i
        return bool(d) or p, d

    return lop3


def logic() -> Iterator[Case]:
    """LOP3 and PLOP3 with every kind of table."""
    for table in range(0, 256, 5):
        yield Case("LOP3.LUT", f"r r r i={table} p", _lop3(table))
    for table in (0xC0, 0xFC, 0x3C, 0x96, 0x33, 0xF8, 0xB8, 0xE2, 0xFE, 0x0F, 0xAA):
        yield Case("ULOP3.LUT", f"r r r i={table} p", _lop3(table))
    for first, second in ((0x80, 0x08), (0xE0, 0x1F), (0xF8, 0x8F), (0x96, 0x2A), (0x00, 0xFF)):
        yield Case("PLOP3.LUT", f"p p p i={first} i={second}", _plop3(first, second))


def _plop3(first: int, second: int) -> Callable[[bool, bool, bool], tuple[bool, bool]]:
    def plop3(p: bool, q: bool, r: bool) -> tuple[bool, bool]:
        index = p * 4 + q * 2 + r
        return bool(first >> index & 1), bool(second >> index & 1)

    return plop3


def _shf(name: str) -> Callable[[int, int, int], int]:
    mods = name.split(".")

    def shf(low: int, n: int, high: int) -> int:
        size = 64 if "U64" in mods or "S64" in mods else 32
        amount = n % size if "W" in mods else min(n, size)
        pair = high << 32 | low
        if "L" in mods:
            shifted = pair << amount
        elif "S32" in mods or "S64" in mods:
            shifted = s64(pair) >> amount
        else:
            shifted = pair >> amount
        return (shifted >> 32 if "HI" in mods else shifted) & M32

    return shf


def shifts() -> Iterator[Case]:
    """SHF in all forms, with amounts below and above the limits."""
    for type_ in ("U32", "S32", "U64", "S64"):
        for direction in ("L", "R", "L.W", "R.W"):
            for high in ("", ".HI"):
                name = f"SHF.{direction}.{type_}{high}"
                yield Case(name, "r r r", _shf(name))


def _prmt(selector: int, a: int, b: int) -> int:
    data = (b << 32 | a).to_bytes(8, "little")
    out = []
    for k in range(4):
        nibble = selector >> 4 * k & 15
        byte = data[nibble & 7]
        out.append((0xFF if byte & 0x80 else 0) if nibble & 8 else byte)
    return int.from_bytes(bytes(out), "little")


def _mode(choose: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    """A special mode: `choose(n, k)` names the byte for place k when the selector is n."""

    def prmt(a: int, selector: int, b: int) -> int:
        data = (b << 32 | a).to_bytes(8, "little")
        return int.from_bytes(bytes(data[choose(selector & 3, k)] for k in range(4)), "little")

    return prmt


def permutes() -> Iterator[Case]:
    """PRMT with run-time selectors and in its special modes."""
    yield Case("PRMT", "r r r", lambda a, selector, b: _prmt(selector, a, b))
    yield Case("PRMT.F4E", "r r r", _mode(lambda n, k: n + k))
    yield Case("PRMT.B4E", "r r r", _mode(lambda n, k: (n - k) % 8))
    yield Case("PRMT.RC8", "r r r", _mode(lambda n, k: n))
    yield Case("PRMT.ECL", "r r r", _mode(max))
    yield Case("PRMT.ECR", "r r r", _mode(min))
    yield Case("PRMT.RC16", "r r r", _mode(lambda n, k: 2 * (n & 1) + (k & 1)))


def fixed_permutes() -> Iterator[tuple[int, Case]]:
    """Selectors known beforehand, which take another way through the code."""
    for selector in (0x3210, 0x5410, 0x7632, 0x7531, 0x0123, 0x4440, 0x8880, 0x9910, 0xBA98,
                     0xFEDC, 0x7654, 0x3333, 0x2103, 0x6540, 0xC3B1):  # fmt: skip
        yield selector, Case("PRMT", "r r r", lambda a, n, b: _prmt(n, a, b))


def _found(bits: int, place: int) -> tuple[int, bool]:
    """A place, and whether there is one."""
    return place if bits else -1, bits != 0


def fields() -> Iterator[Case]:
    """Counting, finding and extending bits."""
    yield Case("POPC", "r", lambda a: bin(a).count("1"))
    yield Case("BREV", "r", lambda a: int(f"{a:032b}"[::-1], 2))
    yield Case("FLO.U32", "r", lambda a: _found(a, a.bit_length() - 1))
    yield Case("FLO.U32.SH", "r", lambda a: _found(a, 32 - a.bit_length()))
    yield Case("FLO", "r", lambda a: _found(_significant(a), _significant(a).bit_length() - 1))
    yield Case("FLO.SH", "r", lambda a: _found(_significant(a), 32 - _significant(a).bit_length()))
    yield Case("BMSK", "r r", lambda p, w: _ones(min(p, 32), min(w, 32)))
    yield Case("BMSK.W", "r r", lambda p, w: _ones(p % 32, w % 32))
    yield Case("SGXT.U32", "r r", lambda a, n: a & ((1 << min(n, 32)) - 1))
    yield Case("SGXT", "r r", lambda a, n: _extend(a, min(n, 32)))
    yield Case("SGXT.W.U32", "r r", lambda a, n: a & ((1 << n % 32) - 1))
    yield Case("SGXT.W", "r r", lambda a, n: _extend(a, n % 32))


def _significant(a: int) -> int:
    return a if s32(a) >= 0 else ~a & M32


def _ones(position: int, width: int) -> int:
    return (((1 << width) - 1) << position) & M32


def _extend(a: int, n: int) -> int:
    low = a & ((1 << n) - 1)
    return low - (1 << n) if n and low >> (n - 1) else low


def moves() -> Iterator[Case]:
    """MOV and SEL."""
    yield Case("MOV", "r", lambda a: a)
    yield Case("MOV.64", "q", lambda a: a)
    yield Case("SEL", "r r p", lambda a, b, p: a if p else b)
    yield Case("USEL.64", "q q p", lambda a, b, p: a if p else b)
