"""Measures sums by loops that compare and exchange, by how many lanes add to a word.

Times, states and counters, caches filled before each launch.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from session import Session

KERNELS = {"sum_float": "f32", "sum_double": "f64"}
# Words, and of how many lanes one adds
PLACES = ((1, 1), (1, 4), (1, 32), (1, 256), (64, 4), (64, 32), (4096, 1))
SHAPES = ((1, 32), (1, 256), (4, 256), (16, 256), (64, 256), (132, 256), (1056, 256), (4096, 256),
          (132, 32), (1056, 32))  # fmt: skip
MOST = 34000  # lanes that add to a word: four times as many take sixteen times as long


def cases() -> list[Case]:
    """Kernels by words, lanes that add, blocks and threads of each."""
    return [
        case(f"{kernel}/{words}/{apart}/{blocks}x{threads}", kernel, (blocks,), (threads,),
             zeros(kind, words), zeros(kind, 32), f"i32={words}", f"i32={apart}")
        for kernel, kind in KERNELS.items()
        for words, apart in PLACES
        for blocks, threads in SHAPES
        if blocks * threads // apart // words <= MOST and blocks * threads // apart <= 1 << 18
        if kernel == "sum_float" or words == 1
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "summed_in_loops", cases(), cubin="scattered_adds",
           again=True)  # fmt: skip
