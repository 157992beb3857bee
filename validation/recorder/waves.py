"""Measures blocks that store a byte behind each barrier, waves of them to the same lines, and
additions of all threads to two words.

Times, states and counters, caches filled before each launch.
"""

from __future__ import annotations

from kind_cases import Case, case, zeros
from kinds import record
from session import Session

THREADS, ROUNDS = 128, 32
BLOCKS, PITCHES = (264, 2112, 4096), (1, 4, 32, 128)
APART = (8, 32, 256, 512, 1024, 2048, 4096, 6144)  # bytes from one word to the other
SHAPES = ((132, 256), (325, 256), (1056, 32))
FURTHER = ("lts__t_sectors_op_write.sum", "lts__t_requests_srcunit_tex_op_write.sum")


def cases() -> list[Case]:
    """Stores by blocks and pitch, and none; additions by how far the words lie apart."""
    stores = [
        case(f"store/{int(some)}/{pitch}/{blocks}", "store_each_round", (blocks,), (THREADS,),
             zeros("u8", blocks * THREADS * ROUNDS), zeros("u8", blocks * pitch), f"i32={pitch}",
             f"i32={ROUNDS}", f"i32={int(some)}")
        for blocks in BLOCKS
        for pitch, some in (*((pitch, True) for pitch in PITCHES), (PITCHES[0], False))
    ]  # fmt: skip
    return stores + [
        case(f"add/{apart}/{blocks}x{threads}", "add_to_two", (blocks,), (threads,),
             zeros("f64", 1024), f"i32={apart}", "i32=2")
        for apart in APART
        for blocks, threads in SHAPES
    ]  # fmt: skip


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "waves", cases(), further=FURTHER)
