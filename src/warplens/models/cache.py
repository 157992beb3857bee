"""Cache fit against occupancy: more warps hide latency until their data no longer fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec
from warplens.models.scalars import FloatLike, Numbers, numbers, plain


def l1_bytes(gpu: str | GpuSpec, shared_bytes: int = 0) -> int:
    """The L1 cache that remains beside a shared memory carve-out.

    Inputs: GPU; shared memory in use per SM in bytes (with what is reserved per block).
    Formula: unified size - smallest carve-out >= shared_bytes.
    Source: CUDA C++ Programming Guide, architecture sections; the carve-outs of the GPU file.

    >>> l1_bytes("H200") // 1024, l1_bytes("H200", 50_000) // 1024
    (256, 192)
    """
    spec = find_gpu(gpu)
    fits = [kb * 1024 for kb in spec.carveouts_kb if kb * 1024 >= shared_bytes]
    if shared_bytes < 0 or not fits:
        raise InputError(
            f"shared_bytes = {shared_bytes} is outside 0 to {spec.shared_per_sm_bytes}: the shared "
            f"memory of an SM of {spec.name}"
        )
    return spec.l1_shared_size_bytes - fits[0]


def hit_rate(cache_bytes: FloatLike, working_set_bytes: FloatLike) -> Numbers:
    """The hit rate of data that is reused in random order.

    Inputs: cache capacity and working set in bytes.
    Formula: min(1, capacity / working set).
    Source: a random resident fraction; cyclic order under LRU would be 0 once it does not fit.

    >>> hit_rate(128, [64, 128, 256]).tolist()
    [1.0, 1.0, 0.5]
    """
    need = numbers("working_set_bytes", working_set_bytes, 1e-9)
    return plain(np.minimum(1.0, numbers("cache_bytes", cache_bytes, 0) / need))


def mean_latency(hit: FloatLike, hit_cycles: FloatLike, miss_cycles: FloatLike) -> Numbers:
    """Mean cycles of a load.

    Inputs: hit rate; cycles of a hit; cycles of a miss.
    Formula: hit * hit_cycles + (1 - hit) * miss_cycles.
    Source: expectation.

    >>> mean_latency(0.5, 34, 265)
    149.5
    """
    share = numbers("hit", hit, 0, 1)
    waits = numbers("miss_cycles", miss_cycles, 0)
    return plain(share * numbers("hit_cycles", hit_cycles, 0) + (1.0 - share) * waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFit:
    """Throughput for every number of blocks per SM, and the best of them."""

    blocks: npt.NDArray[np.int64]
    hit_rate: npt.NDArray[np.float64]
    loads_per_cycle: npt.NDArray[np.float64]
    best_blocks: int


def cache_fit(
    gpu: str | GpuSpec,
    *,
    max_blocks: int,
    warps_per_block: int,
    working_set_bytes: float,
    shared_bytes_per_block: int = 0,
    issue_cycles: float = 4.0,
) -> CacheFit:
    """How many blocks per SM give most loads per cycle when each reuses its own data in L1.

    Inputs: GPU; blocks that occupancy allows; warps per block; bytes that one block reuses; shared
    memory per block (it takes from L1); cycles a warp issues per load.
    Formula: warps / (issue + mean latency) loads per cycle, at most 4 / issue; latency from the
    hit rate of blocks * working_set in what L1 is left.
    Source: Little's law with `hit_rate`; the GPU file's L1 and L2 latencies.

    >>> fit = cache_fit("H200", max_blocks=8, warps_per_block=8, working_set_bytes=65536)
    >>> fit.best_blocks, fit.hit_rate.tolist()[3], fit.hit_rate.tolist()[7]
    (4, 1.0, 0.5)
    """
    spec = find_gpu(gpu)
    if max_blocks < 1 or warps_per_block < 1:
        raise InputError(f"max_blocks = {max_blocks} and warps_per_block = {warps_per_block}: >= 1")
    blocks = np.arange(1, max_blocks + 1)
    caches = [l1_bytes(spec, int(count) * shared_bytes_per_block) for count in blocks]
    hits = np.asarray(hit_rate(caches, blocks * working_set_bytes))
    waits = mean_latency(hits, spec.value("latency.l1_hit"), spec.value("latency.l2_hit"))
    rate = blocks * warps_per_block / (issue_cycles + np.asarray(waits))
    rate = np.minimum(rate, spec.sub_partitions / issue_cycles)
    # Bandwidth of L1 misses: an SM's share of what L2 delivers, in 128-byte requests per cycle.
    l2 = spec.l2_read_bytes_per_cycle / spec.sm_count / 128
    rate = np.minimum(rate, l2 / np.maximum(1.0 - hits, 1e-12))
    return CacheFit(
        blocks=blocks,
        hit_rate=hits,
        loads_per_cycle=rate,
        best_blocks=int(blocks[int(np.argmax(rate))]),
    )
