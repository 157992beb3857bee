"""Measures loads and reductions by how a warp's lanes and all warps lie to each other.

Loads whose lanes use a sector each, and float reductions of all lanes on one word that walk through
words which all warps use: times and counters, caches filled before each launch.
"""

from __future__ import annotations

import itertools

from kind_cases import Case, case, drawn, zeros
from kinds import record
from session import Session

FEW = ((8, 32), (32, 32), (132, 32))  # blocks, threads


def loads() -> list[Case]:
    """A lane's number in a row of its own."""
    found = []
    for kernel, kind in (("column", "f32"), ("column_halves", "u16")):
        for rows, pitch, grid, block in (
            (8192, 768, 768, 256), (8192, 768, 768, 512), (8192, 768, 132, 1024),
            (4096, 1024, 1024, 256), (16384, 256, 256, 256), (16384, 2048, 1024, 256),
            (8192, 784, 528, 256),
        ):  # fmt: skip
            found.append(case(
                f"{kernel}/{rows}/{pitch}/{grid}/{block}", kernel, (grid,), (block,),
                drawn(kind, rows * pitch), zeros("f32", grid), f"i32={rows}", f"i32={pitch}",
            ))  # fmt: skip
    for rows, width, block in ((32768, 256, 256), (8192, 768, 32), (135168, 64, 256)):
        found.append(case(
            f"row/{rows}/{width}/{block}", "row", (rows // block,), (block,),
            drawn("f32", rows * width), zeros("f32", rows), f"i32={rows}", f"i32={width}",
        ))  # fmt: skip
    for rows, width, block, columns in ((1024, 256, 256, 64), (1024, 256, 1024, 64),
                                        (4096, 64, 256, 64), (512, 100, 512, 528)):  # fmt: skip
        found.append(case(
            f"row_product/{rows}/{width}/{block}/{columns}", "row_product",
            (rows // block, columns), (block,), drawn("f32", rows * width),
            drawn("f32", columns * width), zeros("f32", columns * rows), f"i32={rows}",
            f"i32={width}",
        ))  # fmt: skip
    return found


def sweeps() -> list[Case]:
    """Reductions that walk."""
    found = []
    for (words, rounds), (grid, block) in itertools.product(
        ((32, 24), (128, 6), (512, 2), (768, 1), (4096, 1)), FEW
    ):
        name, numbers = f"{words}/{grid}/{block}", (f"i32={words}", f"i32={rounds}")
        one = zeros("f32", words)
        found.append(case(f"sweep/{name}", "sweep", (grid,), (block,), one, *numbers))
        if words in (128, 768):
            found.append(
                case(f"sweep_two/{name}", "sweep_two", (grid,), (block,), one, one, *numbers)
            )
            found.append(case(f"sweep_apart/{name}", "sweep_apart", (grid,), (block,), one,
                              numbers[0]))  # fmt: skip
            rows = zeros("f32", grid * block * words)
            found.append(case(f"sweep_rows/{name}", "sweep_rows", (grid,), (block,), one, one,
                              rows, rows, numbers[0]))  # fmt: skip
    for (words, rounds), (grid, block) in itertools.product(
        ((32, 64), (1024, 8)), ((32, 32), (132, 256))
    ):
        found.append(case(f"sweep_lines/{words}/{grid}/{block}", "sweep_lines", (grid,), (block,),
                          zeros("f32", words), f"i32={words}", f"i32={rounds}"))  # fmt: skip
    return found


if __name__ == "__main__":
    record(Session.of_command_line(__doc__), "lanes", [*loads(), *sweeps()])
