"""Occupancy: how many warps an SM can hold, and which resource decides."""

from __future__ import annotations

from warplens.gpus.spec import GpuSpec
from warplens.metrics.counters import Counters, ratio
from warplens.metrics.launch_stats import shared_config_bytes, shared_per_block
from warplens.metrics.registry import Row, SectionSpec, metric, rows, section


def _shared_limit(c: Counters) -> int:
    """Blocks that fit into the configured carve-out; without use the SM's own limit."""
    per_block, most = shared_per_block(c), c.gpu.max_blocks_per_sm
    fit = shared_config_bytes(c) // per_block if per_block else most
    return max(int(c.occupancy.blocks), min(fit, most))


def _has_clusters(gpu: GpuSpec) -> bool:
    return gpu.sm >= 90


def _active_clusters(c: Counters) -> int:
    return 0 if c.occupancy.cluster is None else int(c.occupancy.cluster.clusters)


def _cluster_share(c: Counters) -> float:
    return 0.0 if c.occupancy.cluster is None else 100.0 * float(c.occupancy.cluster.occupancy)


def _gpu_share(c: Counters) -> float:
    """Warps of all active clusters over the warp slots of the GPU."""
    return _cluster_share(c) * float(c.occupancy.occupancy)


metric("launch__occupancy_limit_registers", unit="block",
       formula=lambda c: c.occupancy.limit_registers,
       doc="Blocks per SM that registers allow.")  # fmt: skip
metric("launch__occupancy_limit_shared_mem", unit="block", formula=_shared_limit,
       doc="Blocks per SM that the shared memory carve-out allows; it is chosen so that it does "
       "not limit where it need not.")  # fmt: skip
metric("launch__occupancy_limit_warps", unit="block", formula=lambda c: c.occupancy.limit_warps,
       doc="Blocks per SM that warp slots allow.")  # fmt: skip
metric("launch__occupancy_limit_blocks", unit="block", formula=lambda c: c.occupancy.limit_blocks,
       doc="Maximum blocks per SM.")  # fmt: skip
metric("launch__occupancy_limit_barriers", unit="block",
       formula=lambda c: min(c.occupancy.limit_barriers, c.gpu.max_blocks_per_sm),
       doc="Blocks per SM that barriers allow, up to the maximum per SM.")  # fmt: skip
metric("sm__maximum_warps_per_active_cycle_pct", unit="%",
       formula=lambda c: 100.0 * c.occupancy.occupancy,
       doc="Theoretical occupancy: warps of this kernel that fit on an SM over its warp "
       "slots.")  # fmt: skip
metric("sm__maximum_warps_avg_per_active_cycle", unit="warp", formula=lambda c: c.occupancy.warps,
       doc="Warps of this kernel that fit on an SM.")  # fmt: skip
metric("smsp__maximum_warps_avg_per_active_cycle", unit="warp",
       formula=lambda c: ratio(c.occupancy.warps, c.gpu.sub_partitions),
       doc="Warps of this kernel that fit on a scheduler.")  # fmt: skip
metric("sm__warps_active", unit="warp", kind="counter", basis="model", cycle_unit="warp",
       formula=None, doc="Active warps, summed over cycles.")  # fmt: skip

metric("launch__cluster_max_active", unit="cluster", basis="model", formula=_active_clusters,
       exists=_has_clusters,
       doc="Clusters that the GPU holds at once; 0 without clusters.")  # fmt: skip
metric("launch__cluster_max_potential_size", unit="block", basis="spec", exists=_has_clusters,
       formula=lambda c: c.gpu.cluster_blocks_portable,
       doc="Blocks of the largest portable cluster.")  # fmt: skip
metric("launch__occupancy_cluster_pct", unit="%", basis="model", formula=_cluster_share,
       exists=_has_clusters,
       doc="Blocks of all active clusters over the blocks that fit without clusters; 0 without "
       "clusters.")  # fmt: skip
metric("launch__occupancy_cluster_gpu_pct", unit="%", basis="model", formula=_gpu_share,
       exists=_has_clusters,
       doc="Warps of all active clusters over all warp slots; 0 without clusters.")  # fmt: skip

section(
    SectionSpec(
        identifier="Occupancy",
        title="Occupancy",
        order=80,
        sets=frozenset({"basic", "detailed", "full"}),
        rows=(
            *rows(
                ("Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"),
                ("Block Limit Registers", "launch__occupancy_limit_registers"),
                ("Theoretical Active Warps per SM", "sm__maximum_warps_avg_per_active_cycle"),
                ("Block Limit Shared Mem", "launch__occupancy_limit_shared_mem"),
                ("Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"),
                ("Block Limit Warps", "launch__occupancy_limit_warps"),
                ("Achieved Active Warps Per SM", "sm__warps_active.avg.per_cycle_active"),
                ("Block Limit SM", "launch__occupancy_limit_blocks"),
            ),
            *(
                Row(label=label, name=name, since=(9, 0))
                for label, name in (
                    ("Block Limit Barriers", "launch__occupancy_limit_barriers"),
                    ("Cluster Occupancy", "launch__occupancy_cluster_pct"),
                    ("Max Active Clusters", "launch__cluster_max_active"),
                    ("Max Cluster Size", "launch__cluster_max_potential_size"),
                    ("Overall GPU Occupancy", "launch__occupancy_cluster_gpu_pct"),
                )
            ),
        ),
    )
)
