"""Loads every family of the instruction set, so that the registry is complete."""

from __future__ import annotations

import importlib
import pkgutil

import warplens.isa
from warplens.isa.table import Op
from warplens.isa.table import find as _find
from warplens.sass.model import Instruction

_NOT_FAMILIES = frozenset({"lanes", "table", "families"})


def load_all() -> None:
    """Imports every module of this package; each registers its operations."""
    for module in pkgutil.iter_modules(warplens.isa.__path__):
        if module.name not in _NOT_FAMILIES:
            importlib.import_module(f"warplens.isa.{module.name}")


def find(inst: Instruction) -> Op | None:
    """The table entry of an instruction."""
    return _find(inst.opcode, inst.modifiers)
