"""Measures additions to words drawn by lot, by how many words there are and how many SMs add.

Times, states and counters, caches filled before each launch.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from session import Session

KERNELS = {"add_int": "u32", "add_float": "f32", "add_double": "f64", "most_int": "u32",
           "ask_int": "u32", "ask_float": "f32"}  # fmt: skip
SWAPS = {"swap_int": "u32", "swap_long": "u64", "take_int": "u32"}
LARGE = {"add_int": "u32", "ask_int": "u32", "swap_int": "u32"}
FEWER, MANY = (64, 1024, 16384, 65536, 262144, 4194304), (6 << 20, 8 << 20, 12 << 20, 24 << 20)
WORDS = (16, 64, 256, 1024, 2048, 4096, 8192, 16384, 65536, 262144, 4194304)
SHAPES = ((1, 32, 256), (1, 256, 128), (16, 256, 128), (132, 256, 64), (264, 1024, 16))


def cases() -> list[Case]:
    """Kernels by words, blocks, threads of each and rounds."""
    return [
        case(f"{kernel}/{words}/{blocks}x{threads}", kernel, (blocks,), (threads,),
             zeros(kind, words), zeros(kind, 32), f"i32={words}", f"i32={rounds}")
        for kernels, sizes, shapes in ((KERNELS, WORDS, SHAPES), (SWAPS, FEWER, SHAPES[2:]),
                                       (LARGE, MANY, SHAPES[3:]))
        for kernel, kind in kernels.items()
        for words in sizes
        for blocks, threads, rounds in shapes
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "scattered_adds", cases())
