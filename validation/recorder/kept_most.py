"""Measures loops that compare and exchange to keep the most of numbers drawn by lot, and additions
to few words of 4 and 8 bytes.

Times, states and counters, caches filled before each launch.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from session import Session

KEEPS = {"keep_float": "f32", "keep_double": "f64", "seek_float": "f32", "seek_double": "f64"}
ADDS = {"add_int": "u32", "add_float": "f32", "add_long": "u64", "add_double": "f64"}
WORDS, FEW = (1, 16, 256, 4096, 65536), (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 512)
# Blocks, threads and rounds: the most is known after a few of them
SHAPES = ((1, 32, 64), (1, 256, 64), (16, 256, 16), (132, 32, 16), (132, 256, 1), (132, 256, 16),
          (1056, 256, 1), (1056, 32, 1), (8192, 32, 1), (2048, 256, 2))  # fmt: skip
ADDING = ((1, 256, 128), (16, 256, 128), (132, 256, 64), (132, 1, 64), (1056, 1, 64),
          (1056, 32, 64))  # fmt: skip


def cases() -> list[Case]:
    """Kernels by words, blocks, threads of each and rounds."""
    return [
        case(f"{kernel}/{words}/{blocks}x{threads}/{rounds}", kernel, (blocks,), (threads,),
             zeros(kind, words), zeros(kind, 32), f"i32={words}", f"i32={rounds}")
        for kernels, sizes, shapes in ((KEEPS, WORDS, SHAPES), (ADDS, FEW, ADDING))
        for kernel, kind in kernels.items()
        for words in sizes
        for blocks, threads, rounds in shapes
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "kept_most", cases(), cubin="scattered_adds",
           again=True)  # fmt: skip
