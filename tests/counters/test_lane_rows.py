"""Lanes that read rows of their own, word by word: results and counters against the addresses."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.counters.test_access import units
from tests.in_turn import one_in
from warplens.errors import MemoryFault
from warplens.execute import program

SOURCE = Path(__file__).with_name("lane_rows.cu")
STEPS = 4
BLOCKS = 3
MASKS = (0xFFFFFFFF, 0x0FF0F33F, 0x80000001, 0x00000100)
Array = np.ndarray[Any, Any]


@cache
def module(architecture: str) -> Any:
    """The compiled kernels."""
    return wl.Device(architecture).compile(SOURCE)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """All launches run fast code from the start."""
    monkeypatch.setattr("warplens.execute.grid._FAST_FROM_WARPS", 0)
    make = program.Program.make_fast
    monkeypatch.setattr(program.Program, "make_fast", lambda self, wait: make(self, wait=True))


def starts(words: int) -> dict[str, Array]:
    """First words of the lanes of all blocks."""
    rng, n, row = np.random.default_rng(words), 32 * BLOCKS, STEPS * words
    return {
        "neighbours": np.arange(n),
        "own rows": np.arange(n) * row,
        "gaps": np.cumsum(rng.integers(0, 3 * row, n)),
        "pairs": np.arange(n) // 2 * row,
        "one": np.full(n, 5),
        "falling": np.arange(n)[::-1] * row,
        "anywhere": rng.integers(0, n * row, n),
        "lines": np.arange(n) * 32,
    }


def folded(data: Array, first: int, words: int) -> int:
    """What a lane computes."""
    total = 7
    for value in data[first : first + STEPS * words].tolist():
        total = (total * 31 + value) & 0xFFFFFFFF
    return total


@pytest.mark.parametrize(("architecture", "words"), one_in(
    2, [("sm_75", 16), ("sm_90", 3), ("sm_90", 4), ("sm_90", 8), ("sm_90", 16), ("sm_120", 7)],
    lambda case: "-".join(map(str, case)), several=True,
))
def test_rows(architecture: str, words: int) -> None:
    kernel = module(architecture)[f"rows{words}"][BLOCKS, 32]
    for name, first in starts(words).items():
        # the last lane reads up to the very end
        data = np.random.default_rng(1).integers(
            0, 1 << 32, int(first.max()) + STEPS * words, dtype=np.uint32
        )
        for mask in MASKS:
            out = np.zeros(32 * BLOCKS, np.uint32)
            run = kernel(data, first.astype(np.int32), out, mask, STEPS)

            on = [mask >> lane & 1 for lane in range(32)] * BLOCKS
            wanted = [
                folded(data, f, words) if o else 0 for f, o in zip(first, on, strict=True)
            ]
            assert out.tolist() == wanted, (name, mask)
            _check_counts(run, first, on, words)


def _check_counts(run: Any, first: Array, on: list[int], words: int) -> None:
    # the compiler loads `start` behind the test of the mask
    warps = [[4 * lane for lane in range(32) if on[lane]]] * BLOCKS
    for block in range(BLOCKS):
        lanes = range(32 * block, 32 * block + 32)
        for word in range(STEPS * words):
            warps.append([4 * (int(first[i]) + word) for i in lanes if on[i]])
    stem = "pipe_lsu_mem_global_op_ld"
    expected = {
        f"l1tex__t_requests_{stem}.sum": len(warps),
        f"l1tex__t_sectors_{stem}.sum": sum(units(a, 4, 32) for a in warps),
        "smsp__sass_data_bytes_mem_global_op_ld.sum": sum(4 * len(set(a)) for a in warps),
    }
    assert {name: run.metric(name) for name in expected} == expected
    read = run.counters.sum("global_lines", opcode="LDG")
    assert int(read) == sum(units(a, 4, 128) for a in warps)


def test_a_row_beyond_the_end_is_a_fault() -> None:
    kernel = module("sm_90")["rows16"][1, 32]
    first, out = np.arange(32, dtype=np.int32) * 64, np.zeros(32, np.uint32)
    data = np.zeros(32 * 64, np.uint32)
    kernel(data, first, out, 0xFFFFFFFF, STEPS)
    with pytest.raises(MemoryFault, match="read of size 4 bytes"):
        kernel(data[:-1], first, out, 0xFFFFFFFF, STEPS)
