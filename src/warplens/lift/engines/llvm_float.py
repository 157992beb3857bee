"""Floating point of the LLVM engine: IEEE results bit for bit, with explicit rounding.

Signs are changed on the bits, never by an operation that LLVM may simplify. Halves are computed in
single precision where double rounding is harmless and through round-to-odd where it is not: a
result rounded to odd with at least two more bits than the target rounds again without error
(Boldo and Melquiond, 2008).
"""

from __future__ import annotations

import struct

from warplens.lift.engines import exact
from warplens.lift.engines.llvm_core import LlvmCore
from warplens.lift.engines.llvm_halves import by_singles, taken
from warplens.lift.engines.llvm_products import cut_products
from warplens.lift.engines.llvm_rounding import directed, single_of_integer
from warplens.lift.engines.llvm_text import SIZE, Value

_SIGN = {"f32": 1 << 31, "f64": 1 << 63, "f16": 1 << 15, "bf16": 1 << 15}
_EXPONENT = {"f32": 0x7F800000, "f64": 0x7FF << 52, "f16": 0x7C00, "bf16": 0x7F80}
_ONE_ONE = 0x3C003C00  # 1.0 in both halves
_NAN = {"f32": 0x7FFFFFFF, "f64": 0xFFF8000000000000, "f16": 0x7FFF, "bf16": 0x7FFF}
_PRECISION = {"f32": 24, "f64": 53}
_ROUND = {"RN": "roundeven", "RZ": "trunc", "RM": "floor", "RP": "ceil"}


def _folded_half(rounding: str, a: Value, b: Value, c: Value) -> int | None:
    """a * b + c of 16-bit constants: compilers move constants by HFMA2 with -0 * 0 + x."""
    numbers = []
    for arg in (a, b, c):
        if not isinstance(arg.const, int):
            return None
        is_f16 = arg.type == "f16"
        data = struct.pack("<H", arg.const) if is_f16 else struct.pack("<I", arg.const << 16)
        numbers.append(exact.number(struct.unpack("<e" if is_f16 else "<f", data)[0]))
    total = exact.multiply_add(numbers[0], numbers[1], numbers[2], rounding)
    return exact.encode(total, a.type, rounding)


class LlvmFloat(LlvmCore):
    """Float arithmetic, conversions and reinterpretation."""

    # reinterpretation

    def _pattern(self, a: Value) -> Value:
        """The bits of a float in an integer of its own type's size, as u32/u64 or "bf16" (i16)."""
        kind = {"f32": "u32", "f64": "u64", "f16": "bf16", "bf16": "bf16"}[a.type]
        if a.const is not None:
            return self.const(kind, a.const)
        if a.type == "bf16":
            return a
        return self.cast("bitcast", a, kind)

    def _float(self, pattern: Value, type: str) -> Value:
        """The float with these bits; the inverse of `_pattern`."""
        if pattern.const is not None:
            return self.const(type, pattern.const)
        if type == "bf16":
            return pattern
        return self.cast("bitcast", pattern, type)

    def _small(self, n: int) -> Value:
        return self.const("bf16", n)

    def _like(self, pattern: Value, n: int) -> Value:
        return self.const(pattern.type, n)

    def raw_bits(self, a: Value) -> Value:
        pattern = self._pattern(a)
        if pattern.type != "bf16":
            return pattern
        return self._fold("u32", lambda n: n, pattern) or self.cast("zext", pattern, "u32")

    def bits(self, a: Value) -> Value:
        raw = self.raw_bits(a)
        nan = self.const(raw.type, _NAN[a.type])
        return self.select(self._is_nan(a), nan, raw)

    def _is_nan(self, a: Value) -> Value:
        infinity = _EXPONENT[a.type]
        magnitude = _SIGN[a.type] - 1
        if a.const is not None or a.type == "bf16":
            pattern = self._pattern(a)
            low = self.and_(pattern, self._like(pattern, magnitude))
            return self.icmp("ugt", low, self._like(pattern, infinity))
        return self.emit("p", f"fcmp uno {self._arg(a)}, {a.ref}")

    def bits_to_f32(self, a: Value) -> Value:
        return self._float(a, "f32")

    def bits_to_f64(self, a: Value) -> Value:
        return self._float(a, "f64")

    def _to_small(self, a: Value) -> Value:
        return self._fold("bf16", lambda n: n, a) or self.cast("trunc", a, "bf16")

    def bits_to_f16(self, a: Value) -> Value:
        return self._float(self._to_small(a), "f16")

    def bits_to_bf16(self, a: Value) -> Value:
        return self._to_small(a)

    def fcmp(self, kind: str, a: Value, b: Value) -> Value:
        if a.type == "bf16":
            a, b = self._widen(a, "f32"), self._widen(b, "f32")
        return self.emit("p", f"fcmp {kind} {self._arg(a)}, {b.ref}")

    # sign and flushing, on the bits

    def fneg(self, a: Value) -> Value:
        pattern = self._pattern(a)
        return self._float(self.xor(pattern, self._like(pattern, _SIGN[a.type])), a.type)

    def fabs(self, a: Value) -> Value:
        pattern = self._pattern(a)
        return self._float(self.and_(pattern, self._like(pattern, _SIGN[a.type] - 1)), a.type)

    def flush(self, a: Value) -> Value:
        pattern = self._pattern(a)
        zero = self._like(pattern, 0)
        exponent = self.and_(pattern, self._like(pattern, _EXPONENT[a.type]))
        sign = self.and_(pattern, self._like(pattern, _SIGN[a.type]))
        is_tiny = self.icmp("eq", exponent, zero)
        return self._float(self.select(is_tiny, sign, pattern), a.type)

    # arithmetic

    def _float_binary(self, op: str, a: Value, b: Value) -> Value:
        return self.emit(a.type, f"{op} {self._arg(a)}, {b.ref}")

    def fadd(self, a: Value, b: Value, rounding: str = "RN") -> Value:
        if SIZE[a.type] == 16:
            if rounding == "RN":
                total = self._float_binary("fadd", self._widen(a, "f32"), self._widen(b, "f32"))
                return self.float_to_float(total, a.type)
            wide = self._sum_to_odd(self._widen(a, "f64"), self._widen(b, "f64"), rounding)
            return self.float_to_float(wide, a.type, rounding)
        if rounding == "RN":
            return self._float_binary("fadd", a, b)
        return directed(self, "fadd", rounding, a, b)

    def fmul(self, a: Value, b: Value, rounding: str = "RN") -> Value:
        if SIZE[a.type] == 16:
            # 11+11 bits fit in single precision; bfloat16 has the exponents of single precision.
            wide = "f32" if a.type == "f16" else "f64"
            product = self._float_binary("fmul", self._widen(a, wide), self._widen(b, wide))
            return self.float_to_float(product, a.type, rounding)
        if rounding == "RN":
            return self._float_binary("fmul", a, b)
        return directed(self, "fmul", rounding, a, b)

    def ffma(self, a: Value, b: Value, c: Value, rounding: str = "RN") -> Value:
        if SIZE[a.type] == 16:
            folded = _folded_half(rounding, a, b, c)
            if folded is not None:
                return self.const(a.type, folded)
            wide = "f32" if a.type == "f16" else "f64"
            product = self._float_binary("fmul", self._widen(a, wide), self._widen(b, wide))
            total = self._sum_to_odd(product, self._widen(c, wide), rounding)
            return self.float_to_float(total, a.type, rounding)
        if rounding != "RN":
            return directed(self, "ffma", rounding, a, b, c)
        if a.type == "f32" and not self.features.has_fma:
            product = self._float_binary("fmul", self._widen(a, "f64"), self._widen(b, "f64"))
            total = self._sum_to_odd(product, self._widen(c, "f64"), "RN")
            return self.float_to_float(total, "f32")
        function = f"llvm.fma.{self._suffix[a.type]}"
        return self._intrinsic(function, a.type, self._arg(a), self._arg(b), self._arg(c))

    def _sum_to_odd(self, a: Value, b: Value, rounding: str) -> Value:
        """a + b rounded to odd; `rounding` decides the sign of an exact zero.

        Knuth's two-sum gives the rounding error exactly, since nothing overflows in the wider
        type; an inexact sum whose last bit is even moves by one towards the error.
        """
        total = self._float_binary("fadd", a, b)
        from_b = self._float_binary("fsub", total, a)
        from_a = self._float_binary("fsub", total, from_b)
        error = self._float_binary(
            "fadd", self._float_binary("fsub", a, from_a), self._float_binary("fsub", b, from_b)
        )
        bits = self._pattern(total)
        zero = self.const(a.type, 0)
        is_inexact = self.fcmp("one", error, zero)
        is_even = self.icmp("eq", self.and_(bits, self._like(bits, 1)), self._like(bits, 0))
        differ = self.icmp("slt", self.xor(bits, self._pattern(error)), self._like(bits, 0))
        step = self.select(differ, self._like(bits, -1 % (1 << SIZE[a.type])), self._like(bits, 1))
        moved = self.add(bits, step)
        odd = self.select(self.pand(is_inexact, is_even), moved, bits)
        if rounding == "RM":
            # x + (-x) is -0 when rounding down, unless both are +0.
            positive = self.pnot(
                self.icmp("slt", self.or_(self._pattern(a), self._pattern(b)), self._like(bits, 0))
            )
            is_zero = self.pand(self.fcmp("oeq", total, zero), self.pnot(is_inexact))
            minus = self._like(bits, _SIGN[a.type])
            odd = self.select(self.pand(is_zero, self.pnot(positive)), minus, odd)
        return self._float(odd, a.type)

    def fdiv(self, a: Value, b: Value) -> Value:
        if SIZE[a.type] == 16:
            quotient = self._float_binary("fdiv", self._widen(a, "f32"), self._widen(b, "f32"))
            return self.float_to_float(quotient, a.type)
        return self._float_binary("fdiv", a, b)

    def fsqrt(self, a: Value) -> Value:
        if SIZE[a.type] == 16:
            return self.float_to_float(self.fsqrt(self._widen(a, "f32")), a.type)
        return self._intrinsic(f"llvm.sqrt.{self._suffix[a.type]}", a.type, self._arg(a))

    def round_integral(self, a: Value, rounding: str) -> Value:
        if SIZE[a.type] == 16:
            return self.float_to_float(self.round_integral(self._widen(a, "f32"), rounding), a.type)
        function = f"llvm.{_ROUND[rounding]}.{self._suffix[a.type]}"
        return self._intrinsic(function, a.type, self._arg(a))

    # float to float

    def _widen(self, a: Value, type: str) -> Value:
        """An exact conversion to f32 or f64."""
        if a.type == type:
            return a
        if a.type == "bf16":
            wide = self._fold("u32", lambda n: n, a) or self.cast("zext", a, "u32")
            single = self.bits_to_f32(self.shl(wide, self.u32(16)))
            return self._widen(single, type)
        return self.cast("fpext", a, type)

    def float_to_float(self, a: Value, type: str, rounding: str = "RN") -> Value:
        if SIZE[type] >= SIZE[a.type] and a.type != type and SIZE[type] > 16:
            return self._widen(a, type)
        if a.type == type:
            return a
        if SIZE[a.type] == 16:
            a = self._widen(a, "f32")
        if a.type == "f64" and type != "f32":
            a = self._to_odd_single(a)
        nearest = self._narrow(a, type)
        if rounding == "RN":
            return nearest
        return self._redirect(a, nearest, rounding)

    def _narrow(self, a: Value, type: str) -> Value:
        """The nearest value, ties to even, of the next smaller type."""
        if type != "bf16":
            return self.cast("fptrunc", a, type)
        bits = self._pattern(a)
        lowest = self.and_(self.lshr(bits, self.u32(16)), self.u32(1))
        rounded = self.add(self.add(bits, self.u32(0x7FFF)), lowest)
        kept = self.select(self._is_nan(a), self.u32(0x7FFF0000), rounded)
        return self._to_small(self.lshr(kept, self.u32(16)))

    def _redirect(self, exact: Value, nearest: Value, rounding: str) -> Value:
        """Corrects a value rounded to nearest, by comparing it with what was rounded."""
        back = self._widen(nearest, exact.type)
        bits = self._pattern(nearest)
        is_negative = self.icmp("slt", bits, self._like(bits, 0))
        too_high, too_low = self.fcmp("ogt", back, exact), self.fcmp("olt", back, exact)
        if rounding == "RZ":
            grow = self.false()
            shrink = self.select(is_negative, too_low, too_high)
        elif rounding == "RM":
            grow, shrink = (
                self.pand(too_high, is_negative),
                self.pand(too_high, self.pnot(is_negative)),
            )
        else:
            grow, shrink = (
                self.pand(too_low, self.pnot(is_negative)),
                self.pand(too_low, is_negative),
            )
        minus_one = (1 << SIZE[nearest.type]) - 1
        step = self.select(
            grow,
            self._like(bits, 1),
            self.select(shrink, self._like(bits, minus_one), self._like(bits, 0)),
        )
        return self._float(self.add(bits, step), nearest.type)

    def _to_odd_single(self, a: Value) -> Value:
        """f64 to f32, rounded to odd."""
        short = self._redirect(a, self.cast("fptrunc", a, "f32"), "RZ")
        is_inexact = self.fcmp("one", self._widen(short, "f64"), a)
        sticky = self.select(is_inexact, self.u32(1), self.u32(0))
        return self.bits_to_f32(self.or_(self._pattern(short), sticky))

    # integers

    def int_to_float(self, a: Value, type: str, signed: bool, rounding: str = "RN") -> Value:
        if SIZE[type] == 16:
            return self.float_to_float(self._int_rounded(a, "f32", signed, "odd"), type, rounding)
        if rounding == "RN" or (a.type == "u32" and type == "f64"):
            return self.cast("sitofp" if signed else "uitofp", a, type)
        if signed and self.width == 32 and (a.type, type) == ("u32", "f32"):
            if self.features.has_avx512 and rounding != "odd":
                return single_of_integer(self, a, rounding)
            if rounding == "RZ":  # exact in double, whose bits beyond a single's are cut off
                bits = self._pattern(self.cast("sitofp", a, "f64"))
                cut = self.and_(bits, self.u64(-(1 << 29) & 0xFFFFFFFFFFFFFFFF))
                return self.cast("fptrunc", self._float(cut, "f64"), "f32")
        return self._int_rounded(a, type, signed, rounding)

    def _int_rounded(self, a: Value, type: str, signed: bool, rounding: str) -> Value:
        """RZ, RM, RP or odd: cut to the precision, convert exactly, then correct the last place."""
        size = SIZE[a.type]
        zero = self._like(a, 0)
        negative = self.icmp("slt", a, zero) if signed else self.false()
        magnitude = self.select(negative, self.sub(zero, a), a) if signed else a
        precision = self._like(a, _PRECISION[type])
        length = self.sub(self._like(a, size), self.count_leading_zeros(magnitude))
        shift = self.sub(self.umax(length, precision), precision)
        cut = self.shl(self.lshr(magnitude, shift), shift)
        is_inexact = self.icmp("ne", cut, magnitude)
        bits = self._pattern(self.cast("uitofp", cut, type))
        last = self.select(is_inexact, self._like(bits, 1), self._like(bits, 0))
        if rounding == "odd":
            bits = self.or_(bits, last)
        elif rounding != "RZ":
            up = self.pand(is_inexact, negative if rounding == "RM" else self.pnot(negative))
            bits = self.add(bits, self.select(up, self._like(bits, 1), self._like(bits, 0)))
        sign = self.select(negative, self._like(bits, _SIGN[type]), self._like(bits, 0))
        return self._float(self.or_(bits, sign), type)

    def halves_at_once(self, op: str, *words: Value) -> Value | None:
        by_halves = self.features.has_halves
        if not by_halves and not (self.features.has_avx512 and self.width == 32):
            return None
        if all(word.const is not None for word in words):
            return None
        if op == "fma" and not by_halves:  # compilers write every second sum as a product by one
            for factor, one in (words[:2], words[1::-1]):
                if one.const == _ONE_ONE:
                    op, words = "fadd", (factor, words[2])
                    break
        n = 2 * self.width
        bits, word_type = f"<{n} x i16>", self.types["u32"]
        # A source that such an operation gave is read as it was before its NaNs got their pattern:
        # what is made of NaNs is a NaN whatever theirs, and no step waits for that of the last.
        given = [self._before.get(word.ref, self._arg(word)) for word in words]
        pattern, kept = self._by_halves(op, given) if by_halves else by_singles(self, op, given)
        found = self.emit("u32", f"bitcast {bits} {kept} to {word_type}")
        self._before[found.ref] = f"{bits} {pattern}"
        return found

    def halves_taken(self, word: Value, source: Value, how: str) -> Value:
        """`word`, whose halves are `source`'s, taken as `how` says (llvm_halves.taken)."""
        small = self.small.get(self._before.get(source.ref) or self._arg(source))
        if small:
            self.small[self._arg(word)] = taken(self, small, how)
        return word

    def _by_halves(self, op: str, words: list[str]) -> tuple[str, str]:
        """By arithmetic in half precision: the results' bits, NaNs as they come and canonical."""
        n = 2 * self.width
        kind, bits = f"<{n} x half>", f"<{n} x i16>"
        parts = [self._raw(f"bitcast {word} to {kind}") for word in words]
        if op == "fma":
            name = f"llvm.fma.v{n}f16"
            result = self.call_raw(name, kind, *(f"{kind} {part}" for part in parts))
        else:
            result = self._raw(f"{op} {kind} {', '.join(parts)}")
        is_nan = self._raw(f"fcmp uno {kind} {result}, {result}")
        pattern = self._raw(f"bitcast {kind} {result} to {bits}")
        nan = f"{bits} splat (i16 {_NAN['f16']})"
        return pattern, self._raw(f"select <{n} x i1> {is_nan}, {nan}, {bits} {pattern}")

    def cut_products(
        self, rows: list[list[Value]], columns: list[Value], least: list[Value]
    ) -> tuple[Value, list[Value], list[Value]] | None:
        if not (self.features.has_avx512 and self.width == 32):
            return None
        return cut_products(self, rows, columns, least)

    def truncated(self, a: Value) -> Value:
        return self.cast("fptosi", a, "u32")

    def float_to_int(self, a: Value, type: str, signed: bool) -> Value:
        if SIZE[a.type] == 16:
            a = self._widen(a, "f32")
        kind = "fptosi" if signed else "fptoui"
        if self.width == 1:
            function = f"llvm.{kind}.sat.{self._suffix[type]}.{self._suffix[a.type]}"
            return self._intrinsic(function, type, self._arg(a))
        # The intrinsic for saturation takes LLVM's vectors apart, here and in machine code.
        bits = SIZE[type] - signed
        low = -(1 << bits) if signed else 0
        value = self.cast(kind, a, type)  # poison where a select takes its limit instead
        too_large = self.fcmp("oge", a, self._whole(a.type, 1 << bits))
        value = self.select(too_large, self.const(type, (1 << bits) - 1), value)
        too_small = self.fcmp("ult", a, self._whole(a.type, low))
        value = self.select(too_small, self.const(type, low % (1 << SIZE[type])), value)
        if not signed:  # a NaN is below
            return value
        return self.select(self._is_nan(a), self.const(type, 0), value)

    def _whole(self, type: str, n: int) -> Value:
        """A whole number as a float constant."""
        form, kind = ("<f", "<I") if type == "f32" else ("<d", "<Q")
        return self.const(type, int(struct.unpack(kind, struct.pack(form, float(n)))[0]))
