"""Features that are known but not executed: what a message calls them, and what to do instead."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Feature:
    """Opcodes by their beginnings, or forms of an opcode by a modifier, that are refused."""

    name: str
    advice: str
    prefixes: tuple[str, ...]
    modifiers: frozenset[str] = frozenset()  # only instructions with one of these


_GRAPHICS = "graphics shaders"
_PLAIN = "access the data through plain pointers"

FEATURES = (
    Feature("TMA copies by im2col::w (cp.async.bulk.tensor)", "copy tiles or by im2col",
            ("UTMA",), frozenset({"W", "W128"})),
    Feature("texture footprints and levels of detail asked for", _PLAIN, ("TMML", "UTEX")),
    Feature("formatted reads of surfaces, which no PTX compiles to", _PLAIN,
            ("SULD",), frozenset({"P"})),
    Feature("surface atomics with results", _PLAIN, ("SUATOM", "SUQUERY")),
    Feature("multimem accesses (several GPUs at once)", "access one GPU's memory",
            ("LDGMC", "UREDGR", "USTGR")),
    Feature("mixed single and half precision additions", "convert first",
            ("UFHADD", "UFHFMA")),
    Feature("packed 8-bit floating-point arithmetic", "convert to half precision",
            ("QADD4", "QFMA4", "QMUL4")),
    Feature(_GRAPHICS, "no CUDA C++ compiles to it; please report the kernel",
            ("AL2P", "ALD", "AST", "CSMTEST", "FOOTPRINT", "FSWZADD", "IPA", "ISBERD", "ISBEWR",
             "LDTRAM", "OUT", "PIXLD")),
    Feature("driver code", "no CUDA C++ compiles to it; please report the kernel",
            ("ACQSHMINIT", "GETLMEMBASE", "SETCTAID", "SETLMEMBASE", "USETSHMSZ")),
    Feature("instructions never seen in compiled code", "please report the kernel",
            ("IMUL", "MOV64IUR", "UCLEA", "ULEPC", "UR2UP", "WARPGROUPSET")),
)  # fmt: skip


def feature_of(opcode: str, modifiers: Iterable[str] = ()) -> Feature | None:
    """The refused feature that an instruction belongs to, if any."""
    present = frozenset(modifiers)
    for feature in FEATURES:
        if opcode.startswith(feature.prefixes) and (
            not feature.modifiers or feature.modifiers & present
        ):
            return feature
    return None


def refused_forms(opcode: str) -> tuple[Feature, ...]:
    """Features that are forms of an opcode which is executed otherwise."""
    return tuple(f for f in FEATURES if f.modifiers and opcode.startswith(f.prefixes))
