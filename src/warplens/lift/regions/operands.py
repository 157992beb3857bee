"""Source operands become values of the kind a signature asks for; results go back to registers."""

from __future__ import annotations

from typing import Any

from warplens.isa.table import Kind
from warplens.lift.decode.binding import (
    KEY_PREDICATE,
    KEY_UNIFORM,
    KEY_UNIFORM_PREDICATE,
    BindingError,
    is_sign,
)
from warplens.lift.engines.llvm_lanes import LlvmLanes, Value
from warplens.lift.regions.registers import RegisterFile
from warplens.sass.model import PT, RZ, Const, Imm, Operand, Pred, Reg, Special, UPred, UReg

_HALVES = {"H0_H0": 0, "H1_H1": 1, "H0": 0, "H1": 1}
_PLAIN_SUFFIXES = frozenset({"64", "U32", "ROW", "COL", "H1_H0", "noreuse", "32"})


class Operands:
    """Reads operands for one instruction in the vector or the uniform datapath."""

    def __init__(self, registers: RegisterFile, vector: LlvmLanes, scalar: LlvmLanes,
                 constants: Any) -> None:  # fmt: skip
        self._registers = registers
        self._vector = vector
        self._scalar = scalar
        self._constants = constants  # callable (Const, n_words, uniform) -> list of scalar refs

    # --- raw 32-bit words ------------------------------------------------------------------------

    def _spread(self, value: Value, uniform: bool) -> Value:
        if uniform:
            return value
        if value.const is not None:
            return self._vector.const(value.type, value.const)
        return self._vector.broadcast(value.type, value.ref)

    def word(self, operand: Operand, offset: int, uniform: bool) -> Value:
        """Word `offset` of an operand, as u32 or f32, modifiers not applied."""
        x = self._scalar if uniform else self._vector
        match operand:
            case Reg(index=index):
                if uniform:
                    raise BindingError(f"vector register R{index} in the uniform datapath")
                return x.u32(0) if index == RZ else self._registers.read(index + offset)
            case UReg(index=index):
                if index == RZ:
                    return x.u32(0)
                value = self._registers.read_bits(KEY_UNIFORM + index + offset)
                return self._spread(value, uniform)
            case Imm(bits=bits):
                return x.u32(bits >> (32 * offset))
            case Const():
                scalar: Value = self._constants(operand, offset)
                return self._spread(scalar, uniform)
        raise BindingError(f"operand {operand!r} is not a value")

    def bits_word(self, operand: Operand, offset: int, uniform: bool) -> Value:
        """As `word`, floats turned into canonical bits."""
        if isinstance(operand, Reg) and operand.index != RZ and not uniform:
            return self._registers.read_bits(operand.index + offset)
        return self.word(operand, offset, uniform)

    def wide(self, operand: Operand, is_high: bool, uniform: bool) -> Value:
        """A 64-bit operand as u64 or f64; `is_high`: an immediate gives the high word."""
        x = self._scalar if uniform else self._vector
        if isinstance(operand, Imm):
            if is_high:
                return x.u64((operand.bits & 0xFFFFFFFF) << 32)
            n = operand.bits
            # The text tells the sign: UMOV.64 UR4, 0xeb55ee1f is positive, IADD.64 ..., -0x5 not.
            if n <= 0xFFFFFFFF and n & 0x80000000 and operand.text.startswith("-"):
                n |= 0xFFFFFFFF00000000
            return x.u64(n)
        if isinstance(operand, Reg) and operand.index != RZ and not uniform:
            return self._registers.read_pair(operand.index)
        if isinstance(operand, UReg) and operand.index != RZ:
            pair = self._registers.read_pair(KEY_UNIFORM + operand.index)
            if pair.type == "f64":
                pair = self._scalar.bits(pair)
            return self._spread(pair, uniform)
        return x.pair(self.word(operand, 0, uniform), self.word(operand, 1, uniform))

    def predicate(self, operand: Operand, uniform: bool) -> Value:
        """A predicate operand with its negation, or the sign of a register that stands for one."""
        x = self._scalar if uniform else self._vector
        if is_sign(operand):
            return x.icmp("slt", self.bits_word(operand, 0, uniform), x.u32(0))
        assert isinstance(operand, Pred | UPred)
        if operand.index == PT:
            value = x.true()
        elif isinstance(operand, UPred):
            value = self._spread(
                self._registers.read(KEY_UNIFORM_PREDICATE + operand.index), uniform
            )
        elif uniform:
            raise BindingError("vector predicate in the uniform datapath")
        else:
            value = self._registers.read(KEY_PREDICATE + operand.index)
        return x.pnot(value) if operand.negate else value

    # --- kinds -----------------------------------------------------------------------------------

    def _suffixed(self, x: LlvmLanes, value: Value, suffixes: tuple[str, ...]) -> Value:
        for suffix in suffixes:
            if suffix in _PLAIN_SUFFIXES:
                continue
            if suffix[:1] in "BH" and suffix[1:] in ("0", "1", "2", "3"):
                n, size = int(suffix[1:]), 8 if suffix[0] == "B" else 16
                value = x.lshr(value, x.u32(n * size))
            else:
                raise BindingError(f"operand suffix .{suffix}")
        return value

    def source(self, kind: Kind, operand: Operand | None, uniform: bool,
               keep_sign: bool = False) -> Any:  # fmt: skip
        """The argument for a source of this kind (None when an optional one is missing).

        `keep_sign` leaves `|x|` to the semantic function (XORSIGN forms).
        """
        if operand is None:
            return None
        x = self._scalar if uniform else self._vector
        if kind.kind == "p":
            return self.predicate(operand, uniform)
        if kind.kind == "i":
            assert isinstance(operand, Imm)
            return operand.bits
        if kind.kind == "s":
            assert isinstance(operand, Special)
            return operand.name
        negate = getattr(operand, "negate", False)
        absolute = getattr(operand, "absolute", False) and not keep_sign
        invert = getattr(operand, "invert", False)
        suffixes = getattr(operand, "suffixes", ())
        if kind.kind == "v":
            return self._two_singles(x, operand, uniform, suffixes, negate, absolute)
        if kind.count > 1:
            if negate or absolute or invert:
                raise BindingError("modifier on a register group")
            return tuple(self.bits_word(operand, i, uniform) for i in range(kind.count))
        if kind.kind in "qwdk":
            return self._wide_source(x, kind.kind, operand, uniform, negate, absolute, invert)
        if kind.kind == "f":
            value = self.word(operand, 0, uniform)
            value = value if value.type == "f32" else x.bits_to_f32(value)
            value = x.fabs(value) if absolute else value
            return x.fneg(value) if negate else value
        value = self.bits_word(operand, 0, uniform)
        if kind.kind == "h":
            if "F32" in suffixes:  # sm_75: one operand of a half addition is a single
                single = x.bits_to_f32(value)
                single = x.fabs(single) if absolute else single
                return x.fneg(single) if negate else single
            return self._half_source(x, value, suffixes, negate, absolute)
        value = self._suffixed(x, value, suffixes)
        if kind.kind == "b":
            value = x.and_(value, x.u32(0x7FFFFFFF)) if absolute else value
            return x.xor(value, x.u32(0x80000000)) if negate else value
        if kind.kind == "c":
            return (x.not_(value) if negate or invert else value, negate)
        if absolute:
            value = x.smax(value, x.sub(x.u32(0), value))
        value = x.not_(value) if invert else value
        return x.sub(x.u32(0), value) if negate else value

    def _two_singles(self, x: LlvmLanes, operand: Operand, uniform: bool,
                     suffixes: tuple[str, ...], negate: bool, absolute: bool) -> Any:  # fmt: skip
        one_word = isinstance(operand, Imm) or "F32x2" not in suffixes
        words = [self.bits_word(operand, 0 if one_word else i, uniform) for i in range(2)]
        if "LO_HI" in suffixes:
            words.reverse()
        unknown = set(suffixes) - {"F32x2", "F32", "HI_LO", "LO_HI", "NP"}
        if unknown:
            raise BindingError(f"operand suffix .{min(unknown)}")
        low, high = (x.bits_to_f32(word) for word in words)
        if absolute:
            low, high = x.fabs(low), x.fabs(high)
        if negate:
            low, high = x.fneg(low), x.fneg(high)
        return low, x.fneg(high) if "NP" in suffixes else high

    def _wide_source(self, x: LlvmLanes, kind: str, operand: Operand, uniform: bool,
                     negate: bool, absolute: bool, invert: bool) -> Any:  # fmt: skip
        value = self.wide(operand, kind in "wd", uniform)
        if kind == "d":
            value = value if value.type == "f64" else x.bits_to_f64(value)
            value = x.fabs(value) if absolute else value
            return x.fneg(value) if negate else value
        value = x.bits(value) if value.type == "f64" else value
        if kind == "k":
            return (x.not_(value) if negate or invert else value, negate)
        value = x.not_(value) if invert else value
        return x.sub(x.u64(0), value) if negate else value

    def _half_source(self, x: LlvmLanes, value: Value, suffixes: tuple[str, ...],
                     negate: bool, absolute: bool) -> Value:  # fmt: skip
        for suffix in suffixes:
            if suffix in _HALVES:
                high = _HALVES[suffix]
                half = x.lshr(value, x.u32(16)) if high else x.and_(value, x.u32(0xFFFF))
                both = x.or_(half, x.shl(half, x.u32(16)))
                value = x.halves_taken(both, value, "high" if high else "low")
            elif suffix == "H0_NH1":
                low = x.xor(x.lshr(value, x.u32(16)), x.u32(0x8000))
                value = x.or_(x.shl(value, x.u32(16)), low)  # the halves swapped, low negated
            elif suffix not in _PLAIN_SUFFIXES:
                raise BindingError(f"operand suffix .{suffix}")
        if absolute:
            value = x.halves_taken(x.and_(value, x.u32(0x7FFF7FFF)), value, "absolute")
        if negate:
            value = x.halves_taken(x.xor(value, x.u32(0x80008000)), value, "negated")
        return value

    # --- results ---------------------------------------------------------------------------------

    def _merged(self, x: LlvmLanes, guard: Value | None, new: Value, old: Value) -> Value:
        if guard is None:
            return new
        if new.type != old.type:
            new = x.bits(new) if new.type in ("f32", "f64") else new
            old = x.bits(old) if old.type in ("f32", "f64") else old
        return x.select(guard, new, old)

    def write_word(self, key: int, value: Value, guard: Value | None) -> None:
        """Writes a register word or predicate where the guard holds."""
        x = self._vector if key < KEY_UNIFORM else self._scalar
        if guard is not None:
            value = self._merged(x, guard, value, self._registers.read(key))
        self._registers.write(key, value)

    def write_wide(self, key: int, value: Value, guard: Value | None) -> None:
        """Writes a register pair where the guard holds."""
        x = self._vector if key < KEY_UNIFORM else self._scalar
        if guard is not None:
            value = self._merged(x, guard, value, self._registers.read_pair(key))
        self._registers.write_pair(key, value)

    def _as_uniform(self, value: Value) -> Value:
        scalar = self._vector.scalar(value)
        return Value(value.type, scalar, value.const if isinstance(value.const, int) else None)

    def destination(self, kind: Kind, operand: Operand | None, value: Any, guard: Value | None,
                    uniform: bool) -> None:  # fmt: skip
        """Writes one result of a semantic function."""
        if operand is None or getattr(operand, "index", None) == (
            PT if isinstance(operand, Pred | UPred) else RZ
        ):
            return
        if callable(value):
            value = value()
        if kind.count > 1:
            for i, word in enumerate(value):
                if word is not None:
                    self.destination(
                        Kind("r"), _shifted(operand, i), word, guard, uniform
                    )
            return
        is_scalar_place = isinstance(operand, UReg | UPred)
        if is_scalar_place and not uniform:
            value = self._as_uniform(value)
            guard = None if guard is None else self._any(guard)
        match operand:
            case Pred(index=index):
                self.write_word(KEY_PREDICATE + index, value, guard)
            case UPred(index=index):
                self.write_word(KEY_UNIFORM_PREDICATE + index, value, guard)
            case Reg(index=index) | UReg(index=index):
                key = index if isinstance(operand, Reg) else KEY_UNIFORM + index
                if kind.kind in "qd":
                    self.write_wide(key, value, guard)
                else:
                    self.write_word(key, value, guard)

    def _any(self, guard: Value) -> Value:
        bits = self._vector.ballot_scalar(guard)
        return self._scalar.icmp("ne", Value("u32", bits), self._scalar.u32(0))


def _shifted(operand: Operand, by: int) -> Operand:
    assert isinstance(operand, Reg | UReg)
    return type(operand)(operand.index + by)
