"""References of ladder.cu, whose kernels are templates on the block size."""

from __future__ import annotations

import numpy as np

from tests.kernels.model import Problem, case

# Kernel -> ints per thread.
STEPS = {
    "interleaved_divergent": 1,
    "interleaved_strided": 1,
    "sequential": 1,
    "add_during_load": 2,
    "unrolled_last_warp": 2,
    "warp_shuffle": 2,
    "vector_shared": 4,
    "vector_registers": 4,
    "vector_shuffle": 4,
}
SHUFFLING = ("warp_shuffle", "vector_shuffle")


def _declare(step: str, per_thread: int, block: int, n: int) -> None:
    blocks = -(-n // (block * per_thread))

    def make(rng: np.random.Generator) -> Problem:
        data = rng.integers(-(2**31), 2**31, n, dtype=np.int32)
        return (data, np.zeros(1, np.int32), n), {1: data.sum(dtype=np.int32)[None]}

    make.__name__ = f"ladder_{step}_{block}"
    case("ladder.cu", kernel=f"{step}<{block}>", grid=blocks, block=block, options=())(make)


for _step, _per_thread in STEPS.items():
    for _block in (8, 32, 128, 256):
        if _block >= 32 or _step not in SHUFFLING:
            _declare(_step, _per_thread, _block, 2053)
