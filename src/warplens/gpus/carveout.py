"""The setting of the shared-memory carve-out that the driver picks where a kernel asks for none."""

from __future__ import annotations

from warplens.gpus.spec import GpuSpec

_MOST_THREADS = 1024
_LEAST_BLOCK = 4096  # bytes of a block without shared memory, where the driver leaves room


def driver_carveout_bytes(gpu: GpuSpec, blocks: int, threads: int, shared_bytes: int) -> int:
    """The carve-out in bytes of a kernel of which an SM holds so many blocks of `threads` threads
    with `shared_bytes` each, the driver's part not counted.

    In general the smallest setting that keeps the blocks; published reports (RTX 3070 Laptop: 1,152
    bytes a block, 6 blocks, 16 KB and not 8 KB) show that each block's memory counts in whole
    kilobytes. On Hopper there is room for twice the blocks, unless one alone fits or blocks are of
    1,024 threads, and as long as shared.room_bytes is enough (validation/data/
    carveouts_sm90.json).
    """
    blocks, each = max(1, blocks), shared_bytes + gpu.shared_reserved_bytes
    room = int(gpu.value("shared.room_bytes", 0))
    if not room:
        wanted = blocks * -(-each // 1024) * 1024
    elif blocks == 1 or threads == _MOST_THREADS:
        wanted = blocks * each
    elif shared_bytes:
        most = min(2 * blocks, gpu.max_blocks_per_sm)
        wanted = max(blocks * each, min(most * each, room))
    else:
        full = min(gpu.max_threads_per_sm // threads, gpu.max_blocks_per_sm // 4)
        wanted = full * _LEAST_BLOCK
    sizes = sorted(size * 1024 for size in gpu.carveouts_kb)
    return next((size for size in sizes if size >= wanted), sizes[-1])
