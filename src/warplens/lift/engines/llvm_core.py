"""Integers and predicates of the LLVM engine, one instruction per primitive where there is one."""

from __future__ import annotations

from collections.abc import Callable

from warplens.lift.engines.llvm_text import SIZE, LlvmText, Value, constant, signed

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


class LlvmCore(LlvmText):
    """Widths, integers, comparisons and predicates."""

    # width

    def zext64(self, a: Value) -> Value:
        return self._fold("u64", lambda n: n, a) or self.cast("zext", a, "u64")

    def sext64(self, a: Value) -> Value:
        return self._fold("u64", lambda n: signed(n, 32), a) or self.cast("sext", a, "u64")

    def low32(self, a: Value) -> Value:
        return self._fold("u32", lambda n: n, a) or self.cast("trunc", a, "u32")

    def high32(self, a: Value) -> Value:
        return self.low32(self.lshr(a, self.u64(32)))

    def pair(self, low: Value, high: Value) -> Value:
        wide = self.zext64(low)
        return self.or_(wide, self.shl(self.zext64(high), self.u64(32)))

    # integers

    def add(self, a: Value, b: Value) -> Value:
        if b.const == 0:
            return a
        if a.const == 0:
            return b
        return self._fold(a.type, lambda p, q: p + q, a, b) or self._binary("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        if b.const == 0:
            return a
        return self._fold(a.type, lambda p, q: p - q, a, b) or self._binary("sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        if a.const is not None and b.const is None:
            a, b = b, a
        n = b.const
        if isinstance(n, int) and n & (n - 1) == 0:
            if n == 0:
                return b
            return self.shl(a, constant(self.width, a.type, n.bit_length() - 1))
        return self._fold(a.type, lambda p, q: p * q, a, b) or self._binary("mul", a, b)

    def and_(self, a: Value, b: Value) -> Value:
        ones = (1 << SIZE[a.type]) - 1
        if b.const == ones or a.const == 0:
            return a
        if a.const == ones or b.const == 0:
            return b
        return self._fold(a.type, lambda p, q: p & q, a, b) or self._binary("and", a, b)

    def or_(self, a: Value, b: Value) -> Value:
        ones = (1 << SIZE[a.type]) - 1
        if b.const == 0 or a.const == ones:
            return a
        if a.const == 0 or b.const == ones:
            return b
        return self._fold(a.type, lambda p, q: p | q, a, b) or self._binary("or", a, b)

    def xor(self, a: Value, b: Value) -> Value:
        if b.const == 0:
            return a
        if a.const == 0:
            return b
        return self._fold(a.type, lambda p, q: p ^ q, a, b) or self._binary("xor", a, b)

    def not_(self, a: Value) -> Value:
        if a.inverse is not None:
            return a.inverse
        result = self.xor(a, constant(self.width, a.type, (1 << SIZE[a.type]) - 1))
        if result.const is None:
            result.inverse = a
        return result

    def shl(self, a: Value, n: Value) -> Value:
        if n.const == 0 or a.const == 0:
            return a
        return self._fold(a.type, lambda p, q: p << q, a, n) or self._binary("shl", a, n)

    def lshr(self, a: Value, n: Value) -> Value:
        if n.const == 0 or a.const == 0:
            return a
        return self._fold(a.type, lambda p, q: p >> q, a, n) or self._binary("lshr", a, n)

    def ashr(self, a: Value, n: Value) -> Value:
        if n.const == 0 or a.const == 0:
            return a
        size = SIZE[a.type]
        folded = self._fold(a.type, lambda p, q: signed(p, size) >> q, a, n)
        return folded or self._binary("ashr", a, n)

    def _extreme(self, name: str, fold: Callable[[int, int], int], a: Value, b: Value) -> Value:
        folded = self._fold(a.type, fold, a, b)
        if folded is not None:
            return folded
        function = f"llvm.{name}.{self._suffix[a.type]}"
        return self._intrinsic(function, a.type, self._arg(a), self._arg(b))

    def umin(self, a: Value, b: Value) -> Value:
        return self._extreme("umin", min, a, b)

    def umax(self, a: Value, b: Value) -> Value:
        return self._extreme("umax", max, a, b)

    def smin(self, a: Value, b: Value) -> Value:
        size = SIZE[a.type]
        return self._extreme("smin", lambda p, q: min(signed(p, size), signed(q, size)), a, b)

    def smax(self, a: Value, b: Value) -> Value:
        size = SIZE[a.type]
        return self._extreme("smax", lambda p, q: max(signed(p, size), signed(q, size)), a, b)

    def _extreme_parts(self, name: str, a: Value, b: Value, bits: int) -> Value:
        n = self.width * 32 // bits
        kind, word = f"<{n} x i{bits}>", self.types["u32"]
        parts = [self._raw(f"bitcast {word} {v.ref} to {kind}") for v in (a, b)]
        found = self.call_raw(
            f"llvm.{name}.v{n}i{bits}", kind, f"{kind} {parts[0]}", f"{kind} {parts[1]}"
        )
        return self.emit("u32", f"bitcast {kind} {found} to {word}")

    def umax_parts(self, a: Value, b: Value, bits: int) -> Value:
        if a.const == 0:
            return b
        return self._extreme_parts("umax", a, b, bits)

    def umin_parts(self, a: Value, b: Value, bits: int) -> Value:
        return self._extreme_parts("umin", a, b, bits)

    def popcount(self, a: Value) -> Value:
        function = f"llvm.ctpop.{self._suffix[a.type]}"
        return self._fold(a.type, int.bit_count, a) or self._intrinsic(
            function, a.type, self._arg(a)
        )

    def count_leading_zeros(self, a: Value) -> Value:
        size = SIZE[a.type]
        function = f"llvm.ctlz.{self._suffix[a.type]}"
        return self._fold(a.type, lambda n: size - n.bit_length(), a) or self._intrinsic(
            function, a.type, self._arg(a), "i1 false"
        )

    def reverse_bits(self, a: Value) -> Value:
        function = f"llvm.bitreverse.{self._suffix[a.type]}"
        return self._intrinsic(function, a.type, self._arg(a))

    # comparisons and predicates

    def icmp(self, kind: str, a: Value, b: Value) -> Value:
        if a.const is not None and b.const is not None:
            size = SIZE[a.type]
            compare = _COMPARE[kind[-2:]]
            if kind[0] == "s":
                folded = self._fold(
                    "p", lambda p, q: compare(signed(p, size), signed(q, size)), a, b
                )
            else:
                folded = self._fold("p", compare, a, b)
            if folded is not None:
                return folded
        name = self._name()
        self._line(f"{name} = icmp {kind} {self.types[a.type]} {a.ref}, {b.ref}")
        return Value("p", name)

    def pand(self, a: Value, b: Value) -> Value:
        return self.and_(a, b)

    def por(self, a: Value, b: Value) -> Value:
        return self.or_(a, b)

    def pxor(self, a: Value, b: Value) -> Value:
        return self.xor(a, b)

    def pnot(self, a: Value) -> Value:
        return self.not_(a)

    def select(self, p: Value, a: Value, b: Value) -> Value:
        if p.const == 1 or a is b:
            return a
        if p.const == 0:
            return b
        if p.const is not None:
            folded = self._fold(a.type, lambda c, t, f: t if c else f, p, a, b)
            if folded is not None:
                return folded
        if a.type == "p":
            if a.const == 1:
                return self.or_(p, b)
            if b.const == 0:
                return self.and_(p, a)
        found = self.emit(a.type, f"select {self._arg(p)}, {self._arg(a)}, {self._arg(b)}")
        found.depth = 1 + max(a.depth, b.depth)
        return found
