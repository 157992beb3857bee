"""How many thread-block clusters a GPU holds at the same time: a model, not a rule.

All blocks of a cluster run at once on SMs of one GPC, and how many SMs a GPC has differs from part
to part. The model spreads a GPU's SM pairs over its GPCs as evenly as possible and packs clusters
into each GPC by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warplens.errors import InputError
from warplens.gpus.spec import GpuSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOccupancy:
    """Clusters that fit on the whole GPU."""

    size: int
    clusters: int
    occupancy: float  # active blocks as a fraction of what the SMs could hold without clusters
    binds: bool  # clusters leave room for blocks unused
    portable: bool
    basis: str = "model"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        return {name: getattr(self, name) for name in self.__slots__}


def gpc_sizes(spec: GpuSpec) -> tuple[int, ...]:
    """The number of SMs in each GPC, spread evenly in pairs (two SMs share a TPC).

    >>> from warplens.gpus import find_gpu
    >>> gpc_sizes(find_gpu("H200"))
    (18, 18, 16, 16, 16, 16, 16, 16)
    """
    gpcs = int(spec.value("counts.gpc", 1))
    pairs, odd = divmod(spec.sm_count, 2)
    base, more = divmod(pairs, gpcs)
    sizes = [2 * (base + (1 if index < more else 0)) for index in range(gpcs)]
    sizes[-1] += odd
    return tuple(sizes)


def cluster_occupancy(
    spec: GpuSpec | None, gpu: str, size: int, blocks_per_sm: int
) -> ClusterOccupancy:
    """Clusters of `size` blocks that run at once when an SM holds `blocks_per_sm` blocks."""
    if spec is None or spec.cluster_blocks_max < 2:
        raise InputError(f"cluster = {size}: {gpu} has no thread block clusters; they need "
                         "compute capability 9.0")
    if isinstance(size, bool) or not 1 <= size <= spec.cluster_blocks_max:
        raise InputError(
            f"cluster = {size} is outside 1 to {spec.cluster_blocks_max}, the blocks per cluster "
            f"of {gpu} ({spec.cluster_blocks_portable} are portable)"
        )
    clusters = sum(sms * blocks_per_sm // size for sms in gpc_sizes(spec))
    room = spec.sm_count * blocks_per_sm
    return ClusterOccupancy(
        size=size,
        clusters=clusters,
        occupancy=clusters * size / room if room else 0.0,
        binds=clusters * size < room,
        portable=size <= spec.cluster_blocks_portable,
    )
