"""What the integer instructions mean, once more, in plain Python integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.isa.cases import Case

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def s32(n: int) -> int:
    """Signed reading of 32 bits."""
    return n - (1 << 32) if n >> 31 & 1 else n


def s64(n: int) -> int:
    """Signed reading of 64 bits."""
    return n - (1 << 64) if n >> 63 & 1 else n


def _sum(*terms: int) -> tuple[int, bool, bool]:
    total = sum(terms)
    return total & M32, total >> 32 >= 1, total >> 32 >= 2


def _sum64(*terms: int) -> tuple[int, bool, bool]:
    total = sum(terms)
    return total & M64, total >> 64 >= 1, total >> 64 >= 2


def _minus(n: int) -> int:
    return (~n & M32) + 1


def additions() -> Iterator[Case]:
    """IADD3, IADD, VIADD and their forms."""
    for name in ("IADD3", "UIADD3"):
        yield Case(name, "c c c", _sum)
        yield Case(name, "-c c c", lambda a, b, c: _sum(_minus(a), b, c))
        yield Case(name, "c -c -c", lambda a, b, c: _sum(a, _minus(b), _minus(c)))
        yield Case(f"{name}.X", "c ~c c p p", lambda a, b, c, p, q: _sum(a, ~b & M32, c, p, q))
    yield Case("UIADD3.64", "k k k", lambda a, b, c: _sum64(a, b, c))
    yield Case("UIADD3.64.X", "k k ~k p p", lambda a, b, c, p, q: _sum64(a, b, ~c & M64, p, q))
    yield Case("IADD", "c c", lambda a, b: _sum(a, b)[:2])
    yield Case("IADD", "-c c", lambda a, b: _sum(_minus(a), b)[:2])
    yield Case("IADD.X", "c ~c p", lambda a, b, p: _sum(a, ~b & M32, p)[:2])
    yield Case("IADD.64", "k k", lambda a, b: _sum64(a, b)[:2])
    yield Case("IADD.64", "k -k", lambda a, b: _sum64(a, (~b & M64) + 1)[:2])
    yield Case("IADD.64", "-k k", lambda a, b: _sum64((~a & M64) + 1, b)[:2])
    yield Case("IADD.64.X", "~k k p", lambda a, b, p: _sum64(~a & M64, b, p)[:2])
    yield Case("VIADD", "c -c", lambda a, b: a - b)
    yield Case("VIADD.S32.ISAT", "r r", lambda a, b: min(max(s32(a) + s32(b), -(2**31)), M32 >> 1))
    yield Case("VIADD.16x2", "c c", lambda a, b: _packed(16, lambda p, q: p + q, a, b))
    yield Case("VIADD.16x2", "-c c", lambda a, b: _packed(16, lambda p, q: q - p, a, b))
    yield Case("VIADD.U8x4", "c -c", lambda a, b: _packed(8, lambda p, q: p - q, a, b))


def _parts(n: int, size: int, is_signed: bool = False) -> list[int]:
    fields = [n >> at & ((1 << size) - 1) for at in range(0, 32, size)]
    if is_signed:
        return [f - (1 << size) if f >> (size - 1) else f for f in fields]
    return fields


def _join(parts: list[int], size: int) -> int:
    return sum((part & ((1 << size) - 1)) << size * i for i, part in enumerate(parts))


def _packed(size: int, f: Callable[..., int], *words: int, is_signed: bool = False) -> int:
    columns = zip(*(_parts(word, size, is_signed) for word in words), strict=True)
    return _join([f(*column) for column in columns], size)


def products() -> Iterator[Case]:
    """IMAD and IDP."""
    for name in ("IMAD", "UIMAD", "IMAD.MOV.U32", "IMAD.SHL.U32", "IMAD.IADD", "IMAD.U32"):
        yield Case(name, "r r r", lambda a, b, c: a * b + c)
    yield Case("IMAD.X", "r r r p", lambda a, b, c, p: a * b + c + p)
    yield Case("IMAD.U32.X", "r r r p", lambda a, b, c, p: a * b + c + p)
    for u in ("", ".U32"):
        reading = (lambda n: n) if u else s32
        full = _full_product(reading)
        yield Case(f"IMAD.WIDE{u}", "r r q", lambda a, b, c, f=full: _wide(f(a, b), c))
        yield Case(f"IMAD.WIDE{u}.X", "r r q p", lambda a, b, c, p, f=full: _wide(f(a, b), c, p))
        yield Case(f"IMAD.HI{u}", "r r q", lambda a, b, c, f=full: _high(f(a, b), c))
    yield Case("IDP.4A.S8.U8", "r r r", _dot4(True, False))
    yield Case("IDP.4A.U8.S8", "r r r", _dot4(False, True))
    for half, first in (("LO", 0), ("HI", 2)):
        yield Case(f"IDP.2A.{half}.S16.U8", "r r r", _dot2(first, True, False))
        yield Case(f"IDP.2A.{half}.U16.S8", "r r r", _dot2(first, False, True))


def _full_product(reading: Callable[[int], int]) -> Callable[[int, int], int]:
    return lambda a, b: (reading(a) * reading(b)) & M64


def _wide(*terms: int) -> tuple[int, bool]:
    return sum(terms) & M64, sum(terms) > M64


def _high(*terms: int) -> tuple[int, bool]:
    total, carry = _wide(*terms)
    return total >> 32, carry


def _dot4(a_signed: bool, b_signed: bool) -> Callable[[int, int, int], int]:
    def dot(a: int, b: int, c: int) -> int:
        pairs = zip(_parts(a, 8, a_signed), _parts(b, 8, b_signed), strict=True)
        return c + sum(p * q for p, q in pairs)

    return dot


def _dot2(first: int, a_signed: bool, b_signed: bool) -> Callable[[int, int, int], int]:
    def dot(a: int, b: int, c: int) -> int:
        left, right = _parts(a, 16, a_signed), _parts(b, 8, b_signed)
        return c + left[0] * right[first] + left[1] * right[first + 1]

    return dot


_TESTS: dict[str, Callable[[int, int], bool]] = {
    "F": lambda a, b: False,
    "LT": lambda a, b: a < b,
    "EQ": lambda a, b: a == b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "NE": lambda a, b: a != b,
    "GE": lambda a, b: a >= b,
    "T": lambda a, b: True,
}
_BOOLS: dict[str, Callable[[bool, bool], bool]] = {
    "AND": lambda r, p: r and p,
    "OR": lambda r, p: r or p,
    "XOR": lambda r, p: r != p,
}


def comparisons() -> Iterator[Case]:
    """ISETP in 32 and 64 bits, and the pair of instructions that makes 64 bits of 32."""
    for i, (name, test) in enumerate(_TESTS.items()):
        bool_name = tuple(_BOOLS)[i % 3]
        combine = _BOOLS[bool_name]
        for u, reading in (("", s32), (".U32", lambda n: n)):
            yield Case(f"ISETP.{name}{u}.{bool_name}", "r r p", _setp(test, combine, reading))
        for kind, reading in (("S64", s64), ("U64", lambda n: n)):
            yield Case(f"ISETP.{name}.{kind}.{bool_name}", "q q p", _setp(test, combine, reading))
        if name not in "FT":
            yield Case(f"ISETP.{name}.AND.EX", "r r p p", _setp_ex(name, test))
    yield Case("UISETP.GE.AND", "r r p", _setp(_TESTS["GE"], _BOOLS["AND"], s32))


def _setp(
    test: Callable[[int, int], bool],
    combine: Callable[[bool, bool], bool],
    reading: Callable[[int], int],
) -> Callable[[int, int, bool], tuple[bool, bool]]:
    def setp(a: int, b: int, p: bool) -> tuple[bool, bool]:
        r = test(reading(a), reading(b))
        return combine(r, p), combine(not r, p)

    return setp


def _setp_ex(
    name: str, test: Callable[[int, int], bool]
) -> Callable[[int, int, bool, bool], tuple[bool, bool]]:
    def setp(a: int, b: int, p: bool, low: bool) -> tuple[bool, bool]:
        # Low words that compare as `low` says; then the comparison of the whole numbers.
        low_pairs = {"EQ": (1, 1), "NE": (1, 2), "LT": (1, 2), "LE": (1, 2), "GT": (2, 1),
                     "GE": (2, 1)}  # fmt: skip
        not_low = {"EQ": (1, 2), "NE": (1, 1), "LT": (2, 1), "LE": (2, 1), "GT": (1, 2),
                   "GE": (1, 2)}  # fmt: skip
        x, y = low_pairs[name] if low else not_low[name]
        r = test((s32(a) << 32) + x, (s32(b) << 32) + y)
        return r and p, (not r) and p

    return setp


def addresses() -> Iterator[Case]:
    """LEA in all its forms."""
    for n in (0, 1, 5, 31):
        yield Case("LEA", f"c c i={n}", lambda a, b, n=n: _sum((a << n) & M32, b)[:2])
        yield Case("LEA", f"-c c i={n}", lambda a, b, n=n: _sum(_minus(a << n & M32), b)[:2])
        yield Case("LEA", f"c -c i={n}", lambda a, b, n=n: _sum((a << n) & M32, _minus(b))[:2])
        yield Case("LEA.X", f"c c i={n} p", lambda a, b, p, n=n: _sum(a << n & M32, b, p)[:2])
        yield Case(
            "LEA.HI", f"c c r i={n}", lambda a, b, c, n=n: _sum(_top((c << 32 | a) << n), b)[:2]
        )
        yield Case(
            "LEA.HI.X",
            f"c c r i={n} p",
            lambda a, b, c, p, n=n: _sum(_top((c << 32 | a) << n), b, p)[:2],
        )
        yield Case("LEA.HI.SX32", f"c c i={n}", lambda a, b, n=n: _sum(_top(s32(a) << n), b)[:2])
        yield Case(
            "LEA.HI.X.SX32",
            f"c ~c i={n} p",
            lambda a, b, p, n=n: _sum(_top(s32(a) << n), ~b & M32, p)[:2],
        )


def _top(n: int) -> int:
    return n >> 32 & M32


def extremes() -> Iterator[Case]:
    """Minimum and maximum, whole and packed."""
    yield Case("IABS", "r", lambda a: abs(s32(a)))
    yield Case("VABSDIFF", "r r r", lambda a, b, c: abs(s32(a) - s32(b)) + c)
    yield Case("VABSDIFF.U32", "r r r", lambda a, b, c: abs(a - b) + c)
    yield Case("VABSDIFF4.U8.ACC", "r r r", lambda a, b, c: c + sum(_distances(a, b)))
    yield Case("VABSDIFF4.U8", "r r r", lambda a, b, c: _join(_distances(a, b), 8))
    for name in ("IMNMX", "VIMNMX"):
        more = (None, None) if name == "VIMNMX" else ()
        for u, reading in (("", s32), (".U32", lambda n: n)):
            yield Case(
                name + u,
                "r r p",
                lambda a, b, p, r=reading, more=more: ((min if p else max)(a, b, key=r), *more),
            )
    yield Case("VIMNMX.S32.RELU", "r r p",
               lambda a, b, p: (max(0, _pick(p)(s32(a), s32(b))), None, None))  # fmt: skip
    for kind, reading in (("S64", s64), ("U64", lambda n: n)):
        yield Case(
            f"IMNMX.{kind}",
            "q q p p",
            lambda a, b, p, q, r=reading: (None, None, (min if p else max)(a, b, key=r)),
        )
    yield Case("VIMNMX3", "r r r p",
               lambda a, b, c, p: (min if p else max)(s32(a), s32(b), s32(c)))  # fmt: skip
    yield Case("VIADDMNMX", "c -c r p",
               lambda a, b, c, p: (min if p else max)(s32((a - b) & M32), s32(c)))  # fmt: skip
    yield Case("VIADDMNMX.U32", "c c r p", lambda a, b, c, p: (min if p else max)(a + b & M32, c))
    yield Case("VIADDMNMX.RELU", "c c r p",
               lambda a, b, c, p: max(0, _pick(p)(s32(a + b & M32), s32(c))))  # fmt: skip
    for kind, size, is_signed in (("S16x2", 16, True), ("U16x2", 16, False), ("U8x4", 8, False)):
        yield from _packed_extremes(kind, size, is_signed)


def _pick(take_min: bool) -> Callable[..., int]:
    return min if take_min else max


def _distances(a: int, b: int) -> list[int]:
    return [abs(p - q) for p, q in zip(_parts(a, 8), _parts(b, 8), strict=True)]


def _packed_extremes(kind: str, size: int, is_signed: bool) -> Iterator[Case]:
    def vimnmx(a: int, b: int, p: bool) -> tuple[int, bool, bool]:
        pairs = list(zip(_parts(a, size, is_signed), _parts(b, size, is_signed), strict=True))
        first = [q <= r if p else q >= r for q, r in pairs]
        return _join([(min if p else max)(pair) for pair in pairs], size), first[0], first[-1]

    def vimnmx3(a: int, b: int, c: int, p: bool) -> int:
        f = min if p else max
        return _packed(size, lambda *row: f(row), a, b, c, is_signed=is_signed)

    def viaddmnmx(a: int, b: int, c: int, p: bool) -> int:
        total = _packed(size, lambda q, r: q + r, a, b)
        f = min if p else max
        return _packed(size, lambda *row: f(row), total, c, is_signed=is_signed)

    yield Case(f"VIMNMX.{kind}", "r r p", vimnmx)
    if size == 16:
        yield Case(f"VIMNMX3.{kind}", "r r r p", vimnmx3)
        yield Case(f"VIADDMNMX.{kind}", "c c r p", viaddmnmx)
        if is_signed:
            yield Case(
                f"VIMNMX3.{kind}.RELU",
                "r r r p",
                lambda a, b, c, p: _packed(
                    16, lambda q: max(q, 0), vimnmx3(a, b, c, p), is_signed=True
                ),
            )
