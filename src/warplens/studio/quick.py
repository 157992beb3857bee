"""Answers while a slider moves: occupancy by the rules, and a rough time scaled from the last run.

The rough time keeps what the run's model found, scaled: bytes by DRAM's bandwidth, and the rest by
how many warps the GPU holds and how fast its clock is. It is there to follow the hand; where the
hand rests, the page asks the model itself.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import Any

from warplens.errors import WarplensError
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec
from warplens.occupancy_calculator.occupancy import Occupancy, occupancy

_OVERHEAD_NS = 2000.0  # of a launch without work, about
_ISSUE = 4  # instructions that an SM starts per cycle


@lru_cache(maxsize=4096)
def occupancy_at(
    gpu: str, threads: int, registers: int, static: int, dynamic: int
) -> dict[str, Any]:
    """Blocks and warps of an SM, what limits them; an error where nothing fits."""
    try:
        found = _occupancy(gpu, threads, registers, static, dynamic)
    except WarplensError as error:
        return {"error": str(error)}
    return {
        "blocks": found.blocks, "warps": found.warps, "max_warps": found.max_warps,
        "percent": 100.0 * found.occupancy, "limiters": list(found.limiters),
    }  # fmt: skip


def _occupancy(gpu: str, threads: int, registers: int, static: int, dynamic: int) -> Occupancy:
    spec = find_gpu(gpu)
    return occupancy(
        spec, threads=threads, registers=registers, static_shared=static, dynamic_shared=dynamic,
        optin=True,
    )  # fmt: skip


def rough_ns(base: dict[str, Any], point: dict[str, Any]) -> float | None:
    """A time for another launch shape or GPU, from the facts of a run: see above.

    Args:
        base: nanoseconds, instructions, dram_bytes, gpu, threads, blocks, warps (of an SM).
        point: gpu, threads, blocks, warps.
    """
    if not base.get("nanoseconds") or not base.get("warps") or not point.get("warps"):
        return None
    old, new = find_gpu(base["gpu"]), find_gpu(point["gpu"])
    busy = max(float(base["nanoseconds"]) - _OVERHEAD_NS, 100.0)
    memory = float(base.get("dram_bytes") or 0.0)
    issue = float(base.get("instructions") or 0.0)
    waiting = busy * _waves(point, new) / _waves(base, old) * old.clock_mhz() / new.clock_mhz()
    floors = (
        1e9 * memory / new.dram_bandwidth_bytes_per_second,
        1e3 * issue / (_ISSUE * new.sm_count * new.clock_mhz()),
    )
    return _OVERHEAD_NS + max(waiting, *floors)


def _waves(shape: dict[str, Any], gpu: GpuSpec) -> float:
    """How long the launch takes in times of one block: rounds of blocks, each as long as its work.

    A block with fewer threads has more to do each, if the grid stays as large.
    """
    per_sm = max(1.0, float(shape["warps"]) / max(1.0, float(shape["threads"]) / 32))
    rounds = max(1, ceil(float(shape["blocks"]) / (per_sm * gpu.sm_count)))
    return rounds * float(shape.get("work", 1.0))
