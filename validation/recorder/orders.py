"""Finds orders of a warp's parts under which random programs give the recorded answers.

`orders.py PROGRAMS RECORDED CARRIER OUT` needs no GPU. Which part of a diverged warp goes on next
is drawn wherever several may (`LaunchConfig.part_order`). A kernel of one program alone runs
thousands of blocks, each under other draws, and each warp's answers are compared with the recorded
ones. A program that differs under the usual order and gives the recorded bits under another one
depends on the order; one for which no order is found counts as a mismatch.

PROGRAMS is programs.npz of fuzz.py or pick.py, RECORDED what fuzz.py recorded of it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import assembler as a
import numpy as np
import pick
import slots
import words as w

import fuzz
import programs

BLOCKS = 4096
ROUNDS = 24
SECONDS = 60.0
_NOP = w.controlled(0x7918)
_MOST_PAIRS = 4_000_000
Answers = dict[bytes, tuple[int, int]]  # rows of one warp: the order and block that gave them


def alone(kernel: programs.Kernel, program: int) -> programs.Kernel:
    """The kernel with every block running one program."""
    first = pick.starts(kernel)[program]
    code = list(kernel.code)
    code[pick.PROLOGUE] = a.branch(first - pick.PROLOGUE - 1)
    code[pick.PROLOGUE + 1] = _NOP
    return programs.Kernel(code, kernel.targets, kernel.count)


def drawn(module: Any, order: int, inputs: np.ndarray, blocks: int) -> np.ndarray:
    """What each block leaves under the orders drawn from a number; a deadlock ends the launch."""
    from warplens.errors import Deadlock
    from warplens.session import configured

    out = np.full((blocks, programs.ROWS, programs.THREADS, 4), 0xEEEEEEEE, np.uint32)
    ordered = partial(configured.LaunchConfig, part_order=order)
    # of a launch that ends in a deadlock the blocks that have ended count
    with mock.patch.object(configured, "LaunchConfig", ordered), suppress(Deadlock):
        module[a.CARRIER][blocks, programs.THREADS](
            inputs.copy(), out, np.zeros(4, np.uint32), bytes(slots.constants_cell())
        )
    return out


def numbers() -> Iterator[int]:
    """What orders are drawn from: the usual one, mostly the usual one, and any part."""
    yield from (0, 3, -3)
    for n in range(5, 5 + 2 * ROUNDS, 2):
        yield from (-n, n)


def pair(warps: list[Answers], recorded: np.ndarray) -> list[tuple[int, int]] | None:
    """The orders of both warps that give the recorded digests of the rows, if there are such."""
    if len(warps[0]) * len(warps[1]) > _MOST_PAIRS:
        return None
    size = programs.THREADS // 2 * 16  # of a warp's part of a row
    want = [int(x) for x in recorded]
    rows = (4, 0, 1, 2, 3, 5, 6)  # the one with the path first
    for low, first in warps[0].items():
        for high, second in warps[1].items():
            if all(_digest(low[r * size : (r + 1) * size] + high[r * size : (r + 1) * size])
                   == want[r] for r in rows):  # fmt: skip
                return [first, second]
    return None


def _digest(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")


def found(kernel: programs.Kernel, program: int, recorded: np.ndarray, carrier: bytes,
          inputs: np.ndarray) -> tuple[list[tuple[int, int]] | None, list[int]]:  # fmt: skip
    """Orders (and blocks) that give what was recorded, and how many answers there are by warp."""
    import warplens as wl
    from warplens.api import LaunchOptions

    own = alone(kernel, program)
    cubin = a.carried(carrier, own.code, programs.REGISTER_COUNT, own.targets)
    options = LaunchOptions(timing=False, workers=1)
    module = wl.Device("H200", options=options).load(a.trimmed(cubin, len(own.code)))
    warps: list[Answers] = [{}, {}]
    end = time.monotonic() + SECONDS
    for order in numbers():
        out = drawn(module, order, inputs, BLOCKS if order else 1)
        before = [len(known) for known in warps]
        for block in range(len(out)):
            for half in (0, 1):
                rows = out[block, :, 32 * half : 32 * half + 32].tobytes()
                warps[half].setdefault(rows, (order, block))
        if before != [len(known) for known in warps]:
            match = pair(warps, recorded)
            if match:
                return match, [len(known) for known in warps]
        if time.monotonic() > end:
            break
    return None, [len(known) for known in warps]


def main() -> None:
    """Compares programs under the usual order, and searches orders for those that differ."""
    import replay

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("programs", "recorded", "carrier", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--part", default="0/1", help="I/N: every N-th kernel from the I-th on")
    given = parser.parse_args()
    with np.load(given.programs) as data:
        kernels = fuzz.as_kernels(data)
    with np.load(given.recorded) as data:
        recorded, listed = data["digests"], data["kernels"].tolist()
    carrier, inputs = given.carrier.read_bytes(), slots.pool()
    first, step = map(int, given.part.split("/"))
    rows: dict[str, Any] = {}
    compared = 0
    for n in range(first, len(listed), step):
        kernel = kernels[listed[n]]
        try:
            out, _ = replay.executed(kernel, carrier, inputs)
            own = fuzz.digests(out)
        except Exception as error:
            print("kernel", listed[n], str(error)[:200], flush=True)
            own = np.zeros_like(recorded[n])
        compared += kernel.count
        for program in np.flatnonzero((own != recorded[n]).any(axis=1)).tolist():
            match, sizes = found(kernel, program, recorded[n][program], carrier, inputs)
            rows[f"{listed[n]},{program}"] = {"orders": match, "answers": sizes}
            print(listed[n], program, match, sizes, flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / f"orders_{first}.json").write_text(json.dumps(rows, indent=0))
    lost = sum(row["orders"] is None for row in rows.values())
    print(compared, "programs;", len(rows), "differ under the usual order;", lost, "under all")


if __name__ == "__main__":
    main()
