"""Loads every family of the instruction set, so that the registry is complete."""

from __future__ import annotations

import importlib
import pkgutil

import warplens.isa
from warplens.isa.table import Modifiers, Op
from warplens.isa.table import find as _find
from warplens.sass.model import Instruction, Reg

_NOT_FAMILIES = frozenset({"lanes", "table", "families"})


def load_all() -> None:
    """Imports every module of this package; each registers its operations."""
    for module in pkgutil.iter_modules(warplens.isa.__path__):
        if module.name not in _NOT_FAMILIES:
            importlib.import_module(f"warplens.isa.{module.name}")


def find(inst: Instruction) -> Op | None:
    """The table entry of an instruction."""
    return _find(inst.opcode, inst.modifiers)


def modifiers_of(entry: Op, inst: Instruction) -> Modifiers:
    """What the operation's function is told: modifiers, and A.ROW or B.COL where it asks."""
    if not entry.attributes.get("reads_layouts"):
        return Modifiers(inst.modifiers)
    sources = [o for o in inst.operands[len(entry.destinations) :] if isinstance(o, Reg)]
    layouts = (f"{name}.{mark}" for name, o in zip("ABC", sources, strict=False)
               for mark in o.suffixes if mark in ("ROW", "COL"))  # fmt: skip
    return Modifiers((*inst.modifiers, *layouts))
