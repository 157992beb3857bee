"""All code generators of roles, loaded in one place."""

from __future__ import annotations

from warplens.lift import control, memory_ops, special
from warplens.lift.lifter import ROLES

__all__ = ["ROLES", "control", "memory_ops", "special"]
