"""Kernel parameter types from PTX and from C++ signatures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_ENTRY = re.compile(r"\.entry\s+([\w$.]+)\s*(?:\(([^)]*)\))?")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>[a-z]+\d+)"
    r"(?P<pointer>\s+\.ptr(?:\s+\.(?:const|global|local|shared|param))?(?:\s+\.align\s+\d+)?)?"
    r"\s+(?P<name>[\w$.]+)(?:\[(?P<count>\d+)\])?"
)
_ARITHMETIC = {
    "bool": "bool",
    "char": "int",
    "signed char": "int",
    "unsigned char": "uint",
    "short": "int",
    "unsigned short": "uint",
    "int": "int",
    "unsigned int": "uint",
    "long": "int",
    "unsigned long": "uint",
    "long long": "int",
    "unsigned long long": "uint",
    "wchar_t": "int",
    "char16_t": "uint",
    "char32_t": "uint",
    "float": "float",
    "double": "float",
    "__half": "float",
    "__nv_bfloat16": "bfloat",
}
_OPENING, _CLOSING = "<([{", ">)]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PtxParameter:
    """One parameter as PTX declares it.

    Attributes:
        type: PTX type without its dot: u64, f32, b8 (a structure of `size` bytes).
        is_pointer: None where PTX does not tell; it does for sm_100 and newer.
    """

    name: str
    type: str
    size: int
    align: int
    is_pointer: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterType:
    """What a launch must know of one parameter.

    Attributes:
        kind: pointer, int, uint, float, bfloat, bool, struct; `integer` when the sign is unknown,
            `word` for a 64-bit value that may be a pointer or an integer.
        spelled: the C++ type, empty if the name holds no signature.
        pointee: for a pointer, the type pointed to without const, empty if unknown.
    """

    kind: str
    size: int
    align: int
    spelled: str = ""
    pointee: str = ""


def parse_parameters(ptx: str) -> dict[str, tuple[PtxParameter, ...]]:
    """The parameters of every kernel in a PTX text, by mangled kernel name."""
    pointers_marked = _target(ptx) >= 100
    found = {}
    for entry in _ENTRY.finditer(ptx):
        parameters = _PARAMETER.finditer(entry[2] or "")
        found[entry[1]] = tuple(_parameter(match, pointers_marked) for match in parameters)
    return found


def _target(ptx: str) -> int:
    match = re.search(r"^\.target\s+\w+?_(\d+)", ptx, re.MULTILINE)
    return int(match[1]) if match is not None else 0


def _parameter(match: re.Match[str], pointers_marked: bool) -> PtxParameter:
    kind = match["type"]
    width = int(kind.lstrip("abcdefghijklmnopqrstuvwxyz")) // 8
    count = match["count"]
    if match["pointer"] is not None:
        is_pointer: bool | None = True
    elif kind in ("u64", "b64", "s64") and count is None and not pointers_marked:
        is_pointer = None
    else:
        is_pointer = False
    return PtxParameter(
        name=match["name"],
        type=kind,
        size=width * int(count or 1),
        align=int(match["align"] or width),
        is_pointer=is_pointer,
    )


def parameter_types(
    demangled: str, parameters: Sequence[PtxParameter]
) -> tuple[ParameterType, ...]:
    """Parameter types from the PTX and, where the name carries one, from the C++ signature.

    Args:
        demangled: `void scale<3>(float const*, float*, float, int)`, or a bare name.
    """
    spelled = signature_types(demangled)
    if spelled is None or len(spelled) != len(parameters):
        spelled = ("",) * len(parameters)
    return tuple(_refined(p, text) for p, text in zip(parameters, spelled, strict=True))


def signature_types(demangled: str) -> tuple[str, ...] | None:
    """The C++ types between the outer parentheses of a signature; None without a signature."""
    if not demangled.endswith(")"):
        return None
    depth = 0
    for start in range(len(demangled) - 1, -1, -1):
        depth += (demangled[start] == ")") - (demangled[start] == "(")
        if depth == 0:
            return _split(demangled[start + 1 : -1])
    return None


def _split(text: str) -> tuple[str, ...]:
    """Splits at the commas outside all brackets."""
    pieces, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING and text[position - 1 : position + 1] != "->":
            depth -= 1
        elif character == "," and depth == 0:
            pieces.append(text[start:position].strip())
            start = position + 1
    pieces.append(text[start:].strip())
    return tuple(pieces) if text.strip() else ()


def _refined(parameter: PtxParameter, spelled: str) -> ParameterType:
    kind, pointee = _kind(parameter), ""
    plain = _without_const(spelled)
    if plain.endswith(("*", "&")) or "(*)" in plain or "(&)" in plain:
        kind, pointee = "pointer", _without_const(plain.rstrip("*& ")) if plain[-1] in "*&" else ""
        if plain.endswith("**"):
            pointee = plain[:-1]
    elif plain in _ARITHMETIC:
        kind = _ARITHMETIC[plain]
    elif spelled and parameter.is_pointer is None:
        kind = "integer"  # an enumeration or an alias: pointers are spelled with a star
    return ParameterType(
        kind=kind, size=parameter.size, align=parameter.align, spelled=spelled, pointee=pointee
    )


def _kind(parameter: PtxParameter) -> str:
    """What PTX alone tells."""
    if parameter.is_pointer:
        return "pointer"
    if parameter.is_pointer is None:
        return "word"
    if parameter.type == "b8":
        return "struct"
    return "float" if parameter.type.startswith("f") else "integer"


def _without_const(spelled: str) -> str:
    words = spelled.strip()
    for suffix in (" __restrict__", " restrict", " const", " volatile"):
        words = words.removesuffix(suffix)
    return words.strip()
