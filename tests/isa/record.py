"""Inputs of the intrinsics test, and the recorder: `python -m tests.isa.record` on a GPU machine.

The recorder needs a driver and `intrinsics.cubin`, compiled for the GPU from `intrinsics.cu`; it
writes `data/intrinsics.npz`, which is committed and never edited.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

from tests.isa.edges import Array, edge_lanes

HERE = Path(__file__).parent
SOURCE = HERE / "intrinsics.cu"
RECORD = HERE / "data" / "intrinsics.npz"
N_BLOCKS, BLOCK = 4, 32
N_THREADS = N_BLOCKS * BLOCK
N_SLOTS = 80
FILL = 0xA5A5A5A5


def kernels() -> list[str]:
    """The kernels' names, in the file's order."""
    return re.findall(r"^KERNEL\((\w+)\)", SOURCE.read_text(), re.MULTILINE)


def inputs() -> tuple[Array, Array]:
    """Edge-biased words and double words: three for each thread."""
    words = [edge_lanes("u32", 1000 + n, N_THREADS) for n in range(3)]
    wide = [edge_lanes("u64", 2000 + n, N_THREADS) for n in range(3)]
    # Some equal operands and small shift amounts, which random numbers seldom give.
    words[1][::7] = words[0][::7]
    words[2][::3] = words[2][::3] % 70
    words[1][1::5] = words[1][1::5] % 70
    wide[1][::6] = wide[0][::6]
    return np.concatenate(words), np.concatenate(wide)


def outputs() -> tuple[Array, Array]:
    """Buffers filled with a pattern, so that an unwritten slot shows."""
    words = np.full(N_SLOTS * N_THREADS, FILL, np.uint32)
    return words, np.full(N_SLOTS * N_THREADS, FILL, np.uint64)


def main(cubin: str) -> None:
    """Runs every kernel on the GPU and stores its outputs."""
    from tests.hardware import Gpu

    gpu = Gpu()
    module = gpu.load(Path(cubin).read_bytes())
    recorded: dict[str, Array] = {"architecture": np.array(gpu.architecture)}
    for name in kernels():
        words, wide = outputs()
        in32, in64 = inputs()
        gpu.launch(module, name, (N_BLOCKS, BLOCK, 0), [words, wide, in32, in64])
        recorded[name], recorded[f"{name}_wide"] = words, wide
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else RECORD
    np.savez_compressed(target, **recorded)


if __name__ == "__main__":
    main(sys.argv[1])
