"""All code generators of roles, loaded in one place."""

from __future__ import annotations

from warplens.lift.control import barriers, branches, convergence, special
from warplens.lift.memory import (
    async_ops,
    atomic_ops,
    bulk_ops,
    cluster_ops,
    constant_ops,
    load_store_ops,
    matrix_ops,
    mbarrier_ops,
    tensor_memory_ops,
    tensor_ops,
    texture_ops,
    wgmma_ops,
)
from warplens.lift.regions.generators import ROLES

__all__ = [
    "ROLES", "async_ops", "atomic_ops", "barriers", "branches", "bulk_ops", "cluster_ops",
    "constant_ops", "convergence", "load_store_ops", "matrix_ops", "mbarrier_ops", "special",
    "tensor_memory_ops", "tensor_ops", "texture_ops", "wgmma_ops",
]  # fmt: skip
