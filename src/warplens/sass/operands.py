"""Reads operands as nvdisasm prints them."""

from __future__ import annotations

import re
from functools import lru_cache

from warplens.sass.model import (
    RZ,
    URZ,
    Barrier,
    Const,
    Imm,
    Mem,
    Operand,
    Pred,
    Reg,
    Scoreboard,
    Special,
    Token,
    UPred,
    UReg,
)

_REGISTER = re.compile(
    r"(?P<minus>-)?(?P<tilde>~)?(?P<bar>\|)?(?P<uniform>U)?R(?P<index>\d+|Z)"
    r"(?P<inner>(?:\.\w+)*)(?(bar)\|)(?P<suffixes>(?:\.\w+)*)"
)
_PREDICATE = re.compile(r"(!)?(U)?P(\d+|T)")
_CONSTANT = re.compile(
    r"(?P<minus>-)?(?P<tilde>~)?(?P<bar>\|)?c(?:\[(?P<bank>0x[0-9a-f]+)\]|x\[(?P<bindless>[^\]]+)\])"
    r"\[(?P<address>[^\]]+)\](?P<inner>(?:\.\w+)*)(?(bar)\|)(?P<suffixes>(?:\.\w+)*)"
)
_MEMORY = re.compile(r"(?:desc\[(?P<desc>UR\d+|URZ)\])?\[(?P<address>[^\]]*)\]")
_ADDRESS_REGISTER = re.compile(r"(U)?R(\d+|Z)((?:\.\w+)*)")
_INTEGER = re.compile(r"([+-]?)0x([0-9a-f]+)")
_SPECIAL = re.compile(r"SR(?:_[\w.]+|Z)")
_SCALE = re.compile(r"X(\d+)")
# What has no type of its own: predicate sets, descriptors, tensor memory, texture shapes.
_TOKEN = re.compile(
    r"U?PR(?:\.B[0-3])?|[gti]?desc\[[^\]]+\](?:\.\w+)*|tmem\[[^\]]+\](?:\.\w+)*|gsb\d"
    r"|(?:\d[A-Z]|[A-Z]{2})[A-Z0-9_]*(?:\.[A-Z0-9_]+)*|\{[\d,]*\}"
)
_FLOAT = re.compile(r"[+-]?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|INF|QNAN|SNAN|NAN)", re.IGNORECASE)

WORD = 0xFFFFFFFF
DOUBLE_WORD = (1 << 64) - 1


def is_float(text: str) -> bool:
    """Whether the text is a floating-point immediate; integers are always printed in hex."""
    return _FLOAT.fullmatch(text.strip()) is not None


@lru_cache(maxsize=1 << 16)
def parse_operand(text: str, wide: bool = False) -> Operand | None:
    """The operand that a text means; None if it cannot be understood.

    Floating-point immediates and labels are the caller's: they need more than the text.

    Args:
        wide: the instruction takes 64-bit addresses also where the text does not say `.64`.
    """
    memory = _MEMORY.fullmatch(text)
    if memory is not None:
        return _memory(memory, wide)
    register = _REGISTER.fullmatch(text)
    if register is not None:
        return _register(register)
    predicate = _PREDICATE.fullmatch(text)
    if predicate is not None:
        index = 7 if predicate[3] == "T" else int(predicate[3])
        kind = UPred if predicate[2] else Pred
        return kind(index, predicate[1] is not None)
    integer = _INTEGER.fullmatch(text)
    if integer is not None:
        return Imm(_pattern(integer), False, text)
    constant = _CONSTANT.fullmatch(text)
    if constant is not None:
        return _constant(constant)
    return _named(text)


def _named(text: str) -> Operand | None:
    if _SPECIAL.fullmatch(text):
        return Special(text)
    if text in ("Rpc.LO", "Rpc.HI"):  # the halves of the return-address register
        return Special(text)
    if re.fullmatch(r"B\d+", text):
        return Barrier(int(text[1:]))
    if re.fullmatch(r"SB\d", text):
        return Scoreboard(int(text[2:]))
    return Token(text) if _TOKEN.fullmatch(text) else None


def _index(text: str) -> int:
    return RZ if text == "Z" else int(text)


def _register(match: re.Match[str]) -> Reg | UReg:
    marks = [mark for mark in (match["inner"] + match["suffixes"]).split(".") if mark]
    suffixes = tuple(mark for mark in marks if mark != "reuse")
    negate, invert = match["minus"] is not None, match["tilde"] is not None
    absolute = match["bar"] is not None
    if match["uniform"]:
        return UReg(_uniform_index(match["index"]), negate, absolute, invert, suffixes)
    return Reg(_index(match["index"]), negate, absolute, invert, "reuse" in marks, suffixes)


def _uniform_index(text: str) -> int:
    return URZ if text == "Z" else int(text)


def _value(match: re.Match[str]) -> int:
    magnitude = int(match[2], 16)
    return -magnitude if match[1] == "-" else magnitude


def _pattern(match: re.Match[str]) -> int:
    """The 32-bit pattern of an integer, or the 64-bit one if it needs more."""
    value = _value(match)
    return value & (WORD if -(1 << 31) <= value <= WORD else DOUBLE_WORD)


def _terms(text: str) -> list[str]:
    """The summands of an address: `R2.64+UR4+-0x10`."""
    return [term for term in text.split("+") if term]


def _constant(match: re.Match[str]) -> Const | None:
    bindless = match["bindless"]
    base: Reg | UReg | None = None
    offset = 0
    for term in ([bindless] if bindless else []) + _terms(match["address"]):
        integer = _INTEGER.fullmatch(term)
        if integer is not None:
            offset += _value(integer)
            continue
        register = _REGISTER.fullmatch(term)
        if register is None or base is not None:
            return None
        base = _register(register)
    return Const(
        bank=-1 if bindless else int(match["bank"], 16),
        offset=offset,
        base=base,
        negate=match["minus"] is not None,
        absolute=match["bar"] is not None,
        invert=match["tilde"] is not None,
        suffixes=tuple(
            mark for mark in (match["inner"] + match["suffixes"]).split(".")
            if mark and mark != "reuse"
        ),
    )


def _memory(match: re.Match[str], wide: bool) -> Mem | None:
    base: Reg | None = None
    uniform: UReg | None = None
    offset, scale = 0, 1
    base_wide = base_u32 = uniform_wide = False
    for term in _terms(match["address"]):
        integer = _INTEGER.fullmatch(term)
        if integer is not None:
            offset += _value(integer)
            continue
        register = _ADDRESS_REGISTER.fullmatch(term)
        if register is None:
            return None
        marks = {mark for mark in register[3].split(".") if mark}
        scales = [found for mark in marks if (found := _SCALE.fullmatch(mark))]
        if marks - {"64", "U32", "reuse"} - {found[0] for found in scales}:
            return None
        if register[1]:
            uniform = UReg(_uniform_index(register[2]))
            uniform_wide = wide or "64" in marks
        else:
            base = Reg(_index(register[2]), reuse="reuse" in marks)
            base_u32 = "U32" in marks
            base_wide = "64" in marks or (wide and not base_u32)
            scale = int(scales[0][1]) if scales else 1
    desc = match["desc"]
    return Mem(
        base=base,
        wide=base_wide,
        uniform=uniform,
        offset=offset,
        scale=scale,
        base_u32=base_u32,
        uniform_wide=uniform_wide,
        desc=UReg(_uniform_index(desc[2:])) if desc else None,
    )
