"""Requests, sectors, wavefronts and conflicts from addresses, by formulas that know no SASS.

Where arithmetic alone does not say what a counter counts, the rule is the H200's, see
validation/README.md: bytes are those distinct in a warp, lanes of an atomic that share an address
take turns, and each turn counts its sectors.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in

SOURCE = Path(__file__).with_name("access.cu")
ARCHITECTURES = ("sm_75", "sm_86", "sm_90", "sm_120")
TYPES = {1: "u8", 2: "u16", 4: "unsigned", 8: "uint2", 16: "uint4"}
NUMPY = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint32, 16: np.uint32}
STRIDES = (0, 1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 64)
MASKS = (0xFFFFFFFF, 0x1, 0x80000000, 0x0000FFFF, 0x55555555, 0xF00F0FF0, 0x00010000)


@cache
def module(architecture: str) -> Any:
    """The compiled patterns."""
    return wl.Device(architecture).compile(SOURCE)


def lanes_of(mask: int) -> list[int]:
    """Numbers of the active lanes."""
    return [lane for lane in range(32) if mask >> lane & 1]


def units(addresses: list[int], size: int, unit: int) -> int:
    """Distinct aligned units of memory that accesses of a size touch."""
    return len({byte // unit for a in addresses for byte in (a, a + size - 1)})


def expect(run: Any, **expected: float) -> None:
    """Compares metrics by their full names."""
    for name, number in expected.items():
        assert run.metric(name) == number, name


def turns(addresses: list[int]) -> list[list[int]]:
    """Lanes that share an address go one after the other, all others at once."""
    rank = [addresses[:i].count(a) for i, a in enumerate(addresses)]
    return [[a for a, r in zip(addresses, rank, strict=True) if r == k] for k in set(rank)]


def check_global(run: Any, op: str, size: int, warps: list[list[int]]) -> None:
    """Requests, sectors, bytes, lines and packed ideal of one instruction over several warps."""
    warps = [addresses for addresses in warps if addresses]
    name = f"pipe_lsu_mem_global_op_{op}"
    expect(run, **{
        f"l1tex__t_requests_{name}.sum": len(warps),
        f"l1tex__t_sectors_{name}.sum": sum(units(a, size, 32) for a in warps),
        f"smsp__sass_data_bytes_mem_global_op_{op}.sum": sum(len(set(a)) * size for a in warps),
        "memory_l1_tag_requests_global": sum(units(a, size, 128) for a in warps),
        "memory_l2_theoretical_sectors_global_ideal": sum(
            min(units(a, size, 32), -(-len(a) * size // 32)) for a in warps
        ),
    })  # fmt: skip


def patterns(size: int) -> list[tuple[int, int, int]]:
    """Strides, element offsets and lane masks."""
    found = [(stride, 0, MASKS[0]) for stride in STRIDES]
    found += [(1, offset, MASKS[0]) for offset in range(1, 34, 1 if size < 8 else 3)]
    found += [(stride, 3, mask) for stride in (1, 2, 9) for mask in MASKS]
    return [*found, (-1, 31, MASKS[0]), (-3, 120, MASKS[4]), (1, 0, 0)]


@pytest.mark.parametrize(("op", "architecture", "size"), one_in(
    12, list(product(("ld", "st"), ARCHITECTURES, TYPES)),
    lambda case: f"{case[0]}-{case[1]}-{case[2]}", several=True,
))
def test_global_patterns(op: str, architecture: str, size: int) -> None:
    """Strided, offset, reversed and masked accesses of every element size."""
    kind = {"ld": "global_load", "st": "global_store"}[op]
    kernel = module(architecture)[f"{kind}<{TYPES[size]}>"]
    threads = 70
    data = np.zeros((64 * threads + 200) * size, np.uint8).view(NUMPY[size])
    never = np.zeros(1, np.uint32)
    for stride, offset, mask in patterns(size):
        if stride < 0:
            offset += -stride * threads
        between = (never,) if op == "ld" else ()
        run = kernel[1, threads](data, *between, stride, offset, np.uint32(mask))
        places = [[offset + stride * t for t in range(w, min(w + 32, threads))
                   if mask >> (t & 31) & 1] for w in (0, 32, 64)]  # fmt: skip
        check_global(run, op, size, [[size * p for p in warp] for warp in places])


def passes(index: list[int], size: int) -> int:
    """Wavefronts: 8- and 16-byte accesses go by half and quarter warps, then one word per bank."""
    per_group = {8: 16, 16: 8}.get(size, 32)
    total = 0
    for first in range(0, 32, per_group):
        group = [a for a in index[first : first + per_group] if a >= 0]
        words = {(a * size + byte) // 4 for a in group for byte in range(0, size, min(size, 4))}
        banks = [word % 32 for word in words]
        total += max((banks.count(bank) for bank in banks), default=0)
    return total


def conflict_patterns(size: int) -> list[list[int]]:
    """Every conflict degree by stride, permutations, and broadcasts of narrow elements."""
    strides = [1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33] if size <= 4 else [1, 2, 3, 4, 5, 8, 16]
    found = [[lane * stride for lane in range(32)] for stride in strides]
    found += [[lane ^ flip for lane in range(32)] for flip in (1, 7, 21)]
    if size == 4:
        found += [[32 * min(lane, degree - 1) for lane in range(32)] for degree in range(1, 33)]
        found += [
            [0] * 32,
            [lane // 2 for lane in range(32)],
            [lane % 4 * 33 for lane in range(32)],
        ]
        found += [[lane % 2 * 32 for lane in range(32)], [lane * lane % 97 for lane in range(32)]]
    return found


@pytest.mark.parametrize("size", TYPES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_shared_loads(architecture: str, size: int) -> None:
    """Wavefronts and conflicts of shared loads of every size."""
    kernel = module(architecture)[f"shared_load_{size}"]
    for index in conflict_patterns(size):
        run = kernel[1, 32, 0, 32768](
            np.array(index, np.int32), np.uint32(2**32 - 1), np.zeros(1, np.uint32)
        )
        expected = passes(index, size)
        ideal = min(expected, -(-32 * size // 128))
        expect(run, **{
            "smsp__inst_executed_op_shared_ld.sum": 1,
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": expected,
            "memory_l1_wavefronts_shared": expected,
            "memory_l1_wavefronts_shared_ideal": ideal,
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": expected - ideal,
            "smsp__sass_data_bytes_mem_shared_op_ld.sum": len(set(index)) * size,
        })  # fmt: skip


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_shared_stores_of_some_lanes(architecture: str, mask: int) -> None:
    """Inactive lanes cause no conflicts and move no bytes."""
    for size in (4, 8, 16):
        kernel = module(architecture)[f"shared_store_{size}"]
        for stride in (1, 2, 8, 16):
            index = [lane * stride for lane in range(32)]
            run = kernel[1, 32, 0, 32768](
                np.array(index, np.int32), np.uint32(mask), np.zeros(1, np.uint32)
            )
            active = [a if mask >> lane & 1 else -1 for lane, a in enumerate(index)]
            expect(run, **{
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": passes(active, size),
                "smsp__sass_data_bytes_mem_shared_op_st.sum": len(lanes_of(mask)) * size,
            })  # fmt: skip


@pytest.mark.parametrize("share", [1, 2, 8, 32, 64])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_atomics(architecture: str, share: int) -> None:
    """Atomics on one and on many addresses: one request per warp, sectors by address."""
    threads, cells = 64, np.zeros(64, np.int32)
    warps = [[4 * (t // share) for t in range(w, w + 32)] for w in (0, 32)]
    sectors = sum(units(turn, 4, 32) for a in warps for turn in turns(a))
    run = module(architecture)["atomics"][1, threads](cells, np.zeros(64, np.int32), share)

    assert cells.sum() == threads
    assert run.metric("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum") == 2
    assert run.metric("l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum") == sectors


@pytest.mark.parametrize("share", [1, 32])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_atomics_without_result(architecture: str, share: int) -> None:
    """An atomic whose result is unused counts as a reduction, not as an atomic."""
    cells = np.zeros(64, np.int32)
    run = module(architecture)["reductions"][1, 64](cells, share)

    assert cells.sum() == 64
    assert run.metric("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum") == 2
    assert run.metric("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum") == 0


@pytest.mark.parametrize("turns", [0, 1, 7, 100])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_known_trip_counts(architecture: str, turns: int) -> None:
    """A loop's operations are counted per thread and per turn; partial warps count their lanes."""
    run = module(architecture)["counted_loop"][3, 40](np.zeros(40, np.float32), turns)
    ffma = run.metric("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")

    assert ffma == 3 * 40 * turns
    assert run.metric("smsp__warps_launched.sum") == 6
    assert run.metric("sm__ctas_launched.sum") == 3


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_double_operations(architecture: str) -> None:
    """Double-precision multiply-adds are a class of their own."""
    run = module(architecture)["doubles"][1, 33](np.zeros(33), 9)

    assert run.metric("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum") == 33 * 9
    assert run.metric("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum") == 0


@pytest.mark.parametrize("spread", [1, 2, 8, 32])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_divergent_trip_counts(architecture: str, spread: int) -> None:
    """Threads leave a loop one by one: thread counts add up over their own turns."""
    run = module(architecture)["divergent_loop"][1, 64](np.zeros(64, np.float32), spread)
    turns = sum(t % spread for t in range(64))

    assert run.metric("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum") == turns
    executed = run.metric("smsp__inst_executed.sum")
    assert run.metric("smsp__thread_inst_executed.sum") <= 32 * executed


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_local_memory(architecture: str) -> None:
    """A local word of all lanes lies in 4 sectors of 32 bytes."""
    run = module(architecture)["local_cells"][1, 32](np.zeros(32, np.int32), 10)
    for op in ("ld", "st"):
        assert run.metric(f"l1tex__t_requests_pipe_lsu_mem_local_op_{op}.sum") == 10
        assert run.metric(f"l1tex__t_sectors_pipe_lsu_mem_local_op_{op}.sum") == 40


@pytest.mark.parametrize(("limit", "ways"), [(0, 1), (32, 1), (1, 2), (16, 2)])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_branch_efficiency(architecture: str, limit: int, ways: int) -> None:
    """Branches are divergent exactly where the lanes of a warp part."""
    out = np.zeros(2, np.int32)
    run = module(architecture)["branches"][1, 64](out, limit)

    assert out.tolist() == [3 * 2 * limit, 5 * 2 * (32 - limit)]
    assert (run.metric("smsp__sass_branch_targets_threads_divergent.sum") > 0) == (ways == 2)
    efficiency = run.metric("smsp__sass_average_branch_targets_threads_uniform.pct")
    assert (efficiency == 100) == (ways == 1)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_sums_over_blocks(architecture: str) -> None:
    """Counts of identical blocks add up."""
    kernel = module(architecture)["counted_loop"]
    one = kernel[1, 40](np.zeros(40, np.float32), 5)
    many = kernel[17, 40](np.zeros(40, np.float32), 5)
    for name in ("smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
                 "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"):  # fmt: skip
        assert many.metric(name) == 17 * one.metric(name)
