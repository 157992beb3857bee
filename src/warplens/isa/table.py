"""The opcode registry: one decorated function per operation, with its operand kinds and classes.

Signature language, `"dst ... <- src ..."`, one token per text operand in nvdisasm's order:

    r   32-bit value (register, uniform register, immediate, constant); `-` means integer negation,
        `~` inversion, `|x|` integer absolute value
    c   32-bit value for carry arithmetic: the function gets (bits, negated); a negated source comes
        already inverted and the function adds 1
    b   32-bit value whose `-`/`|x|` act on the float sign bit but whose payload is kept
    f   f32 value, `-`/`|x|` applied
    v   two f32 values in a pair, as a tuple (low, high), after `.LO_HI` (swapped), `.NP` (the high
        one negated), `-`/`|x|` on both; an immediate or a register with `.F32` gives both
    q   64-bit value in an even register pair (immediates as the text says)
    w   64-bit integer of a conversion: like q, but an immediate gives the high word, as with d
    k   64-bit value for carry arithmetic, (bits, negated) like c
    d   f64 value in a pair (an immediate gives the high word)
    h   packed pair of 16-bit floats as u32; the function gets the u32 after `.H0_H0`/`.H1_H1`
        selection and `-`/`|x|` on both halves (sign bits)
    p   predicate, `!` applied
    i   compile-time Python int (a look-up table, a mask, a shift amount)
    s   special register name as a Python string
    ?   after a kind: may be missing. A missing destination is dropped; a missing source is passed
        as None.
    2/4/8/16 after r (r2, r4 …): that many consecutive registers, as a tuple of u32 values

The function gets `(x, m, *sources)`: the lanes, the instruction's modifiers (a `Modifiers`), the
sources. It returns one value per destination kind (a tuple if more than one), in order, including
optional ones. Instead of the value for an optional destination it may give a function without
arguments, called only if the instruction has that destination.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

_KIND = re.compile(r"^(r|k|c|b|f|v|q|w|d|h|p|i|s)(2|4|8|16)?(\?)?$")


@dataclass(frozen=True, slots=True)
class Kind:
    """One operand of a signature."""

    kind: str
    count: int = 1
    optional: bool = False


class Modifiers(tuple[str, ...]):
    """The modifiers of one instruction, asked by name."""

    __slots__ = ()

    def has(self, name: str) -> bool:
        """Whether the modifier is present."""
        return name in self

    def one_of(self, *names: str, default: str) -> str:
        """The first of `names` that is present, else `default`."""
        for name in names:
            if name in self:
                return name
        return default


@dataclass(frozen=True, slots=True)
class Op:
    """One registered operation."""

    opcode: str
    destinations: tuple[Kind, ...]
    sources: tuple[Kind, ...]
    modifiers: frozenset[str]
    requires: frozenset[str]
    pipe: str
    latency: str
    uniform: bool
    function: Callable[..., Any] | None
    category: str  # integer bit fp32 fp64 fp16 conversion control memory inter_thread misc uniform
    doc: str
    role: str = "value"  # "value": `function` computes; otherwise the lifter handles this role
    attributes: dict[str, Any] = field(default_factory=dict)


_TABLE: dict[str, list[Op]] = {}


def parse_signature(signature: str) -> tuple[tuple[Kind, ...], tuple[Kind, ...]]:
    """Splits `"r p? <- c c c"` into destination and source kinds."""

    def kinds(part: str) -> tuple[Kind, ...]:
        found = []
        for token in part.split():
            match = _KIND.match(token)
            if match is None:
                raise ValueError(f"bad operand kind {token!r} in signature {signature!r}")
            found.append(Kind(match[1], int(match[2] or 1), match[3] is not None))
        return tuple(found)

    left, arrow, right = signature.partition("<-")
    if not arrow:
        raise ValueError(f"signature {signature!r} has no '<-'")
    return kinds(left), kinds(right)


def op(
    *opcodes: str,
    sig: str,
    mods: str = "",
    requires: str = "",
    pipe: str,
    latency: str,
    category: str,
    role: str = "value",
    **attributes: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers the decorated function as the meaning of `opcodes`.

    Args:
        sig: operand kinds, see the module's text.
        mods: every modifier the function understands, separated by blanks; an instruction with
            another modifier is refused.
        requires: modifiers an instruction must have for this entry to apply; among several entries
            of one opcode the one with the most matching required modifiers wins. `F64.F32` asks for
            two adjacent modifiers in that order.
        pipe: the execution pipe (alu, fma, fp16, fp64, xu, lsu, adu, cbu, uniform, tensor).
        latency: the latency class, a key of the architecture's table in gpus/*.toml.
        category: the class in which ncu counts the instruction.
        attributes: `marks` says which marks of operands are refused: "magnitudes" asks for `|x|`
            on the first two sources, "no ~ first" for none of that kind on the first, "none" for
            none at all; `ignore_absolute` leaves `|x|` to the function; `reads_first_result` gives
            what the first destination held as one more argument; `reads_layouts` tells the function
            of each matrix operand's layout (A.ROW, B.COL) among the modifiers.
    """
    destinations, sources = parse_signature(sig)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for opcode in opcodes:
            entry = Op(
                opcode=opcode,
                destinations=destinations,
                sources=sources,
                modifiers=frozenset(mods.split()) | frozenset(requires.split()),
                requires=frozenset(requires.split()),
                pipe="uniform" if is_uniform(opcode) else pipe,
                latency="uniform" if is_uniform(opcode) else latency,
                uniform=is_uniform(opcode),
                function=function if role == "value" else None,
                category="uniform" if is_uniform(opcode) else category,
                doc=(function.__doc__ or "").strip(),
                role=role,
                attributes=attributes,
            )
            entries = _TABLE.setdefault(opcode, [])
            if any(e.requires == entry.requires for e in entries):
                raise ValueError(f"{opcode} is registered twice with requires={requires!r}")
            entries.append(entry)
        _find.cache_clear()
        return function

    return register


_UNIFORM_EXCEPTIONS = frozenset({
    "UBLKCP", "UBLKRED", "UCGABAR_ARV", "UCGABAR_WAIT", "UTMACCTL", "UTMACMDFLUSH", "UTMALDG",
    "UTMAPF", "UTMAREDG", "UTMASTG", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA", "UTCCP", "UTCBAR",
    "UTCATOMSWS", "UTCSHIFT", "UVIRTCOUNT", "UGETNEXTWORKID", "UMEMSETS",
})  # fmt: skip


def is_uniform(opcode: str) -> bool:
    """Whether the operation runs once per warp in the uniform datapath."""
    return opcode.startswith("U") and opcode not in _UNIFORM_EXCEPTIONS


def find(opcode: str, modifiers: Iterable[str]) -> Op | None:
    """The entry that fits an instruction, or None. Modifiers are not checked against `mods`."""
    return _find(opcode, tuple(modifiers))


@lru_cache(maxsize=1 << 14)
def _find(opcode: str, names: tuple[str, ...]) -> Op | None:
    present = {*names, *(f"{a}.{b}" for a, b in pairwise(names))}
    best: Op | None = None
    for entry in _TABLE.get(opcode, ()):
        if entry.requires <= present and (
            best is None or len(entry.requires) > len(best.requires)
        ):
            best = entry
    return best


def all_ops() -> tuple[Op, ...]:
    """Every registered entry, sorted by opcode."""
    return tuple(entry for name in sorted(_TABLE) for entry in _TABLE[name])
