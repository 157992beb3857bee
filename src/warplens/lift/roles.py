"""All code generators of roles, loaded in one place."""

from __future__ import annotations

from warplens.lift import (
    async_ops,
    atomic_ops,
    bulk_ops,
    cluster_ops,
    constant_ops,
    control,
    matrix_ops,
    mbarrier_ops,
    memory_ops,
    special,
)
from warplens.lift.lifter import ROLES

__all__ = [
    "ROLES", "async_ops", "atomic_ops", "bulk_ops", "cluster_ops", "constant_ops", "control",
    "matrix_ops", "mbarrier_ops", "memory_ops", "special",
]  # fmt: skip
