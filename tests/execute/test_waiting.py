"""Warps and blocks that wait for each other cost little, have a time, and name their deadlocks."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.in_turn import one_in

import warplens as wl
from warplens.errors import Deadlock

SOURCE = Path(__file__).with_name("waiting.cu")


@pytest.fixture(scope="module")
def module() -> wl.Module:
    return wl.Device("H100").compile(SOURCE.read_text())


def executed(launch: wl.Launch) -> int:
    return int(launch.metric("smsp__inst_executed.sum"))


def ints(n: int) -> np.ndarray:
    return np.zeros(n, np.int32)


def test_mbarriers_cost_what_barriers_cost(module):
    blocks, rounds, half = 2, 40, 64
    data = np.random.default_rng(3).integers(0, 99, (blocks, rounds, half)).astype(np.float32)
    wanted = data.sum(1)[:, np.arange(half) ^ 1].reshape(-1)
    counts = []
    for name in ("pipeline", "pipeline_sibling"):
        out = np.zeros(blocks * half, np.float32)
        launch = module[name][blocks, 2 * half](data, out, np.int32(rounds))
        assert (out == wanted).all()
        assert launch.metric("gpu__time_duration.sum") > 0
        counts.append(executed(launch))
    # Each of 4 warps executes some 32 instructions in a round; a look more for each would be 3.
    assert counts[0] < blocks * 4 * (36 * rounds + 100)
    assert counts[0] < 2 * counts[1]


def test_an_mbarrier_nobody_completes(module):
    with pytest.raises(Deadlock, match="warp 1 lanes 0xffffffff wait at an mbarrier"):
        module["arrival_missing"][1, 64](ints(64))


def test_flags_in_shared_memory(module):
    out, rounds, warps = ints(2), 6, 8
    launch = module["turns"][2, 32 * warps](out, np.int32(rounds))
    value = 0
    for _ in range(rounds):
        for warp in reversed(range(warps)):
            value = (value * 3 + warp) & 0xFFFFFFFF
    assert (out.view(np.uint32) == value).all()
    # A turn takes some 20 instructions; while it lasts seven others look once, in 5.
    assert executed(launch) < 2 * (rounds * warps * (25 + 7 * 6) + warps * 60)
    assert launch.metric("gpu__time_duration.sum") > 0


@pytest.mark.parametrize(("gpu", "lanes"), one_in(
    8, list(product(("A100", "RTX 4090", "H100", "B200"), (1, 3, 32))),
    lambda case: f"{case[0]}-{case[1]}", first=2, several=True,
))
def test_parts_of_warps_that_wait_for_each_other(gpu, lanes):
    out, rounds, warps = ints(4), 3, 4
    module = wl.Device(gpu).compile(SOURCE.read_text())
    launch = module["lanes_in_turn"][1, 32 * warps](out, np.int32(rounds), np.int32(lanes))
    value, own = 0, warps * lanes
    for _ in range(rounds):
        for turn in reversed(range(own)):
            value = (value * 3 + turn) & 0xFFFFFFFF
    assert (out.view(np.uint32) == value).all()
    assert executed(launch) < rounds * own * (60 + 20 * own) + 100 * warps


def test_a_flag_nobody_sets(module):
    with pytest.raises(Deadlock, match="looks at memory nobody writes"):
        module["flag_never_set"][2, 64](ints(1), ints(64))


def test_locks(module):
    taken, count, rounds = ints(1), ints(1), 5
    launch = module["lock"][4, 128](taken, count, np.int32(rounds))
    assert (taken[0], count[0]) == (0, 4 * 4 * rounds)
    assert executed(launch) < 4 * 4 * (rounds * 60 + 40)


def test_blocks_that_wait_for_later_blocks(module):
    tiles = 24
    data, out = np.arange(1, tiles + 1, dtype=np.int32), ints(tiles)
    launch = module["look_back"][tiles, 32](data, out, ints(tiles))
    assert (out == np.cumsum(data)).all()
    # Every block looks once when it comes; later some of them look once more in each round.
    assert executed(launch) < tiles * 60 + 6 * tiles * tiles
    assert launch.metric("gpu__time_duration.sum") > 0


def test_grid_barriers_one_launch_after_another(module):
    blocks, threads, rounds = 8, 64, 6
    for _ in range(2):
        a, b = np.zeros((2, blocks * threads), np.float32)
        launch = module["grid_rounds"][blocks, threads](
            a, b, np.zeros(1, np.uint32), np.int32(rounds)
        )
        assert (a == rounds).all()
        assert executed(launch) < blocks * 2 * (rounds * 60 + 80)
        assert launch.metric("gpu__time_duration.sum") > 0


def test_atomics_made_of_compare_and_swap_do_not_wait():
    source = """extern "C" __global__ void k(float* out) {
        __shared__ float s;
        if (threadIdx.x == 0) s = 0;
        __syncthreads();
        atomicAdd(&s, 1.0f);
        __syncthreads();
        if (threadIdx.x == 0) *out = s;
    }"""
    kernel = wl.Device("H100").compile(source)["k"]
    out = np.zeros(1, np.float32)
    kernel[1, 64](out)
    assert out[0] == 64
    assert not kernel.code.program.lifted.layout.waiting.bodies
