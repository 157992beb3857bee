"""Launch choices: the block size, the registers and the shared memory that occupancy allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.gpus.spec import GpuSpec
from warplens.occupancy_calculator.occupancy import _resolve, occupancy
from warplens.occupancy_calculator.rules import Rules, carveout_index


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSizeSuggestion:
    """A block size of the highest occupancy and the grid that fills the GPU once."""

    threads: int
    grid: int
    blocks_per_sm: int
    occupancy: float


def _block_sizes(rules: Rules, max_threads: int | None) -> npt.NDArray[np.int64]:
    """Block sizes from the largest allowed down in steps of a warp."""
    limit = rules.max_threads_per_block
    if max_threads is not None:
        if max_threads < 1:
            raise InputError(f"max_threads = {max_threads} is below 1")
        limit = min(limit, max_threads)
    warp = rules.warp_size
    return np.minimum(np.arange(-(-limit // warp) * warp, 0, -warp), limit)


def max_potential_block_size(
    gpu: str | GpuSpec,
    *,
    registers: int,
    static_shared: int = 0,
    dynamic_shared: int | Callable[[int], int] = 0,
    max_threads: int | None = None,
    carveout: int | None = None,
    barriers: int = 1,
) -> BlockSizeSuggestion:
    """The block size with most threads on an SM, the largest of equals, as the runtime suggests.

    Args:
        dynamic_shared: bytes per block, or a function of the block size.
        max_threads: the kernel's own limit (launch bounds).

    >>> max_potential_block_size("H200", registers=40).threads
    768
    """
    rules, spec, name = _resolve(gpu)
    sizes = _block_sizes(rules, max_threads)
    dynamic: Any = dynamic_shared
    if callable(dynamic_shared):
        dynamic = np.array([dynamic_shared(int(size)) for size in sizes])
    answer = occupancy(
        gpu,
        threads=sizes,
        registers=registers,
        static_shared=static_shared,
        dynamic_shared=dynamic,
        carveout=carveout,
        barriers=barriers,
    )
    on_sm = answer.blocks * sizes
    best = int(np.argmax(on_sm))  # the first of equals: the largest block
    if on_sm[best] == 0:
        raise InputError(
            f"no block size fits on {name} with {registers} registers per thread and "
            f"{static_shared} + {dynamic_shared} bytes of shared memory per block"
        )
    blocks = int(answer.blocks[best])
    return BlockSizeSuggestion(
        threads=int(sizes[best]),
        grid=blocks * (spec.sm_count if spec is not None else 1),
        blocks_per_sm=blocks,
        occupancy=float(answer.occupancy[best]),
    )


def available_dynamic_shared(
    gpu: str | GpuSpec,
    *,
    threads: int,
    registers: int,
    blocks: int,
    static_shared: int = 0,
    carveout: int | None = None,
    barriers: int = 1,
    optin: bool = True,
) -> int:
    """The dynamic shared memory per block that still lets `blocks` blocks share an SM.

    >>> available_dynamic_shared("H200", threads=256, registers=32, blocks=8)
    28160
    """
    point = occupancy(
        gpu,
        threads=threads,
        registers=registers,
        static_shared=static_shared,
        carveout=carveout,
        barriers=barriers,
        optin=optin,
    )
    if not 1 <= blocks <= point.blocks:
        raise InputError(
            f"blocks = {blocks} is outside 1 to {point.blocks}, the blocks per SM without dynamic "
            f"shared memory, limited by {', '.join(point.limiters)}"
        )
    rules, _, _ = _resolve(gpu)
    cap = rules.shared_per_block
    if optin and rules.shared_per_sm > rules.shared_per_block:
        cap = rules.shared_per_block_optin
    cap += rules.shared_reserved
    index = int(carveout_index(rules, -1 if carveout is None else carveout))
    setting = rules.carveouts[index] or rules.carveouts[1]
    pool = cap if blocks == 1 else setting
    each = pool // blocks // rules.shared_unit * rules.shared_unit
    return max(0, min(each, cap) - static_shared - rules.shared_reserved)


def max_registers_for(
    gpu: str | GpuSpec,
    target: float,
    *,
    threads: int,
    static_shared: int = 0,
    dynamic_shared: int = 0,
    carveout: int | None = None,
    barriers: int = 1,
) -> int:
    """The most registers per thread with which occupancy is at least `target` (a fraction).

    >>> max_registers_for("H200", 1.0, threads=256), max_registers_for("H200", 0.5, threads=256)
    (32, 64)
    """
    if not 0 < target <= 1:
        raise InputError(f"occupancy {target} is not a fraction above 0 and up to 1")
    rules, _, name = _resolve(gpu)
    counts = np.arange(1, min(255, rules.registers_per_thread) + 1)
    answer = occupancy(
        gpu,
        threads=threads,
        registers=counts,
        static_shared=static_shared,
        dynamic_shared=dynamic_shared,
        carveout=carveout,
        barriers=barriers,
    )
    enough = np.flatnonzero(answer.occupancy >= target)
    if enough.size == 0:
        raise InputError(
            f"occupancy {target} cannot be reached on {name} with any number of registers: "
            f"{', '.join(answer.limiters[0])} allow {100 * float(answer.occupancy[0]):.4g} %"
        )
    return int(counts[enough[-1]])


__all__ = [
    "BlockSizeSuggestion",
    "available_dynamic_shared",
    "max_potential_block_size",
    "max_registers_for",
]
