"""Launch statistics: what was launched, with which resources."""

from __future__ import annotations

from math import prod
from typing import Any

from warplens.gpus.carveout import driver_carveout_bytes
from warplens.metrics.counters import Counters, ratio
from warplens.metrics.registry import Formula, Row, SectionSpec, metric, rows, section


def limit(c: Counters) -> Any:
    """Blocks that fit on an SM: the smallest of all limits."""
    return c.occupancy.blocks


def shared_per_block(c: Counters) -> int:
    """Shared memory a block holds, the driver's part included, rounded to the GPU's unit."""
    total = c.execution.kernel.static_shared + c.execution.dynamic_shared
    total += c.gpu.shared_reserved_bytes
    return -(-total // c.gpu.shared_unit_bytes) * c.gpu.shared_unit_bytes


def shared_config_bytes(c: Counters) -> int:
    """The carve-out that the driver picks for the blocks an SM holds."""
    others = min(c.occupancy.limit_registers, c.occupancy.limit_warps, c.occupancy.limit_blocks)
    blocks = min(int(others), int(limit(c)) or 1)
    shared = c.execution.kernel.static_shared + c.execution.dynamic_shared
    return driver_carveout_bytes(c.gpu, blocks, prod(c.execution.block), shared)


def _axis(attribute: str, axis: int) -> Formula:
    def size(c: Counters) -> int:
        return int(getattr(c.execution, attribute)[axis])

    return size


def _cluster(c: Counters) -> int:
    """Blocks of a cluster; 0 for a launch without clusters, as ncu prints it."""
    size = c.settings.cluster or c.execution.kernel.cluster
    return prod(size) if size else 0


metric("launch__grid_size", unit="", formula=lambda c: prod(c.execution.grid),
       doc="Blocks launched.")  # fmt: skip
metric("launch__block_size", unit="", formula=lambda c: prod(c.execution.block),
       doc="Threads per block; a multiple of 32 leaves no lane unused.")  # fmt: skip
for _number, _name in enumerate("xyz"):
    metric(f"launch__grid_dim_{_name}", unit="", formula=_axis("grid", _number),
           doc=f"Grid size in {_name}, in blocks.")  # fmt: skip
    metric(f"launch__block_dim_{_name}", unit="", formula=_axis("block", _number),
           doc=f"Block size in {_name}, in threads.")  # fmt: skip
metric("launch__thread_count", unit="thread",
       formula=lambda c: prod(c.execution.grid) * prod(c.execution.block),
       doc="Threads launched.")  # fmt: skip
metric("launch__registers_per_thread", unit="register/thread",
       formula=lambda c: c.execution.kernel.registers,
       doc="Registers per thread, as compiled.")  # fmt: skip
metric("launch__registers_per_thread_allocated", unit="register/thread",
       formula=lambda c: -(-c.execution.kernel.registers * 32 // c.gpu.register_unit)
       * c.gpu.register_unit // 32,
       doc="Registers per thread, rounded up to the allocation granularity.")  # fmt: skip
metric("launch__shared_mem_per_block_static", unit="byte/block",
       formula=lambda c: c.execution.kernel.static_shared,
       doc="Static shared memory per block.")  # fmt: skip
metric("launch__shared_mem_per_block_dynamic", unit="byte/block",
       formula=lambda c: c.execution.dynamic_shared,
       doc="Dynamic shared memory per block, set at launch.")  # fmt: skip
metric("launch__shared_mem_per_block_driver", unit="byte/block", basis="spec",
       formula=lambda c: c.gpu.shared_reserved_bytes,
       doc="Shared memory per block reserved for the CUDA driver.")  # fmt: skip
metric("launch__shared_mem_per_block", unit="byte/block",
       formula=lambda c: c.execution.kernel.static_shared + c.execution.dynamic_shared
       + c.gpu.shared_reserved_bytes,
       doc="Static, dynamic and driver shared memory per block.")  # fmt: skip
metric("launch__shared_mem_per_block_allocated", unit="byte/block", formula=shared_per_block,
       doc="Shared memory per block, rounded up to the allocation granularity.")  # fmt: skip
metric("launch__shared_mem_config_size", unit="byte", basis="spec", formula=shared_config_bytes,
       doc="Shared memory carve-out: the smallest that does not lower occupancy.")  # fmt: skip
metric("launch__func_cache_config", unit="", formula=lambda c: "CachePreferNone",
       doc="The kernel's cache preference.")  # fmt: skip
metric("launch__waves_per_multiprocessor", unit="",
       formula=lambda c: ratio(prod(c.execution.grid), c.gpu.sm_count * limit(c)),
       doc="Grid size over the blocks that all SMs hold at once; slightly above a whole number "
       "means a tail in which most SMs idle.")  # fmt: skip
metric("launch__sm_count", unit="SM", basis="spec", formula=lambda c: c.gpu.sm_count,
       doc="SMs of the GPU.")  # fmt: skip
metric("launch__barrier_count", unit="", formula=lambda c: c.execution.kernel.n_barriers,
       doc="Barriers used per block.")  # fmt: skip
metric("launch__cluster_size", unit="", formula=_cluster, doc="Blocks per cluster.")  # fmt: skip
metric("launch__tpc_count", unit="", basis="spec", formula=lambda c: c.gpu.sm_count // 2,
       doc="TPCs of the GPU; a TPC has two SMs.")  # fmt: skip
metric("launch__tpc_enabled", unit="", formula=lambda c: "all",
       doc="The TPCs on which the launch may run.")  # fmt: skip
metric("launch__stack_size", unit="", formula=lambda c: c.settings.stack_bytes,
       doc="Stack size per thread (the runtime's default).")  # fmt: skip
metric("launch__uses_green_context", unit="", formula=lambda c: 0,
       doc="Whether the launch uses a green context, a part of the GPU.")  # fmt: skip
metric("launch__context_id", unit="", formula=lambda c: c.settings.context,
       doc="CUDA context ID.")  # fmt: skip
metric("launch__stream_id", unit="", formula=lambda c: c.settings.stream,
       doc="CUDA stream ID.")  # fmt: skip

section(
    SectionSpec(
        identifier="LaunchStats",
        title="Launch Statistics",
        order=70,
        sets=frozenset({"basic", "detailed", "full"}),
        rows=(
            *rows(
                ("Grid Size", "launch__grid_size"),
                ("Function Cache Configuration", "launch__func_cache_config"),
                ("Registers Per Thread", "launch__registers_per_thread"),
                ("Static Shared Memory Per Block", "launch__shared_mem_per_block_static"),
                ("Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic"),
                ("Driver Shared Memory Per Block", "launch__shared_mem_per_block_driver"),
                ("Block Size", "launch__block_size"),
                ("Threads", "launch__thread_count"),
                ("Waves Per SM", "launch__waves_per_multiprocessor"),
                ("Shared Memory Configuration Size", "launch__shared_mem_config_size"),
                ("Uses Green Context", "launch__uses_green_context"),
                ("Stack Size", "launch__stack_size"),
                ("# SMs", "launch__sm_count"),
                ("# TPCs", "launch__tpc_count"),
                ("Enabled TPC IDs", "launch__tpc_enabled"),
            ),
            Row(label="Cluster Size", name="launch__cluster_size", since=(9, 0)),
        ),
    )
)
