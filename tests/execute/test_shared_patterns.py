"""Fast code for shared memory in every pattern of addresses, and registers across barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.in_turn import one_in

import warplens as wl

SOURCE = """
template <class T> __device__ void read(const int* where, T* out, int rounds) {
    __shared__ T data[256];
    int lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < 256 * sizeof(T) / 4; i += blockDim.x) ((int*)data)[i] = 7 * i;
    __syncthreads();
    for (int k = 0; k < rounds; ++k) {
        int at = where[k * 32 + lane];
        if (at < 0) continue;
        out[(2 * k) * 32 + lane] = data[at];
        out[(2 * k + 1) * 32 + lane] = data[at + 3];
    }
}
extern "C" __global__ void words(const int* where, int* out, int rounds) { read(where, out, rounds); }
extern "C" __global__ void pairs(const int* where, int2* out, int rounds) { read(where, out, rounds); }
extern "C" __global__ void quads(const int* where, int4* out, int rounds) { read(where, out, rounds); }

extern "C" __global__ void scatter(const int* where, int* out, int rounds) {
    __shared__ int data[256];
    for (int i = threadIdx.x; i < 256; i += 32) data[i] = -1;
    __syncthreads();
    for (int k = 0; k < rounds; ++k) {
        int at = where[k * 32 + threadIdx.x];
        if (at >= 0) data[at] = k * 32 + threadIdx.x;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = data[i];
}

extern "C" __global__ void chosen(const int* where, const int* takes, int* out, int rounds) {
    extern __shared__ int few[];
    for (int i = threadIdx.x; i < 96; i += 32) few[i] = -1;
    __syncthreads();
    for (int k = 0; k < rounds; ++k) {
        int at = where[k * 32 + threadIdx.x];
        if (takes[k * 32 + threadIdx.x]) few[at] = k * 32 + threadIdx.x;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 96; i += 32) out[i] = few[i];
}

extern "C" __global__ void guarded(const int* at, int wanted, int other, int* out) {
    __shared__ int data[256];
    for (int i = threadIdx.x; i < 256; i += 32) data[i] = 7 * i;
    __syncthreads();
    int lane = threadIdx.x, found = -1;
    int place = lane == wanted ? 4 * at[lane] : other;
    asm volatile("{ .reg .pred p; setp.eq.s32 p, %1, %2; @p ld.shared.u32 %0, [%3 + 12]; }"
                 : "+r"(found) : "r"(lane), "r"(wanted), "r"((int)__cvta_generic_to_shared(data) + place));
    out[lane] = found;
}

extern "C" __global__ void last_words(const int* lanes, int* out, int rounds, int words) {
    extern __shared__ int few[];
    int lane = threadIdx.x;
    if (lane < words) few[lane] = 7 * lane;
    __syncthreads();
    for (int k = 0; k < rounds; ++k)
        if (lane < lanes[2 * k]) {
            few[lane + lanes[2 * k + 1]] += 1;
            out[32 * k + lane] = few[lane + lanes[2 * k + 1]];
        }
}

extern "C" __global__ void across(int* out, int rounds) {
    __shared__ int data[64];
    int t = threadIdx.x, a = 3 * t, b = t ^ 5, kept = 11 * t;
    data[t] = t;
    for (int i = 0; i < rounds; ++i) {
        __syncthreads();
        if ((t + i) % 3 == 0) a += data[(t + 7) % 64];
        __syncthreads();
        data[t] = a;
        if (i % 4 == 1) b ^= a;
    }
    out[t] = a;
    out[64 + t] = b;
    out[128 + t] = kept + rounds;
}
"""  # noqa: E501
LANE = np.arange(32)


def patterns() -> npt.NDArray[np.int32]:
    """Elements that the lanes of a warp read, one row per round; -1: the lane takes no part."""
    rng = np.random.default_rng(3)
    some = [LANE * 0 + 5, LANE, LANE[::-1], LANE % 8, LANE // 8, LANE % 8 * 2, LANE % 4 * 4 + 1,
            LANE // 2, LANE * 2, LANE * 7 % 32, 63 - LANE, rng.integers(0, 200, 32)]  # fmt: skip
    rows = [row + base for row in some for base in (0, 0, 16, 33)]
    rows += [np.where(LANE % 3 == 1, -1, row) for row in rows]
    rows += [row for pair in zip(rows[:20], rows[20:40], strict=True) for row in pair]
    rows += [np.where(LANE == 9, row, -1) for row in some]
    return np.array(rows, np.int32)


def both(kernel: Any, shape: tuple[int, ...], *arguments: Any) -> Any:
    """Launches in compact and in fast code; the counters must agree. Returns the last argument
    that is an array."""
    counts, results = [], []
    for is_fast in (False, True):
        if is_fast:
            kernel.code.program.make_fast()
        own = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)
        counts.append(kernel[shape](*own).execution.columns)
        results.append(next(a for a in reversed(own) if isinstance(a, np.ndarray)))
    for name, column in counts[0].items():
        np.testing.assert_array_equal(counts[1][name], column, err_msg=name)
    np.testing.assert_array_equal(results[0], results[1])
    return results[1]


@pytest.fixture(scope="module", params=one_in(2, ["sm_75", "sm_90"], str, first=1))
def module(request: pytest.FixtureRequest) -> Any:
    """The kernels above."""
    return wl.Device(request.param).compile(SOURCE)


@pytest.mark.parametrize(("name", "words"), [("words", 1), ("pairs", 2), ("quads", 4)])
def test_loads(module: Any, name: str, words: int) -> None:
    """Every lane gets its element, whatever the others read."""
    where = patterns()
    out = np.full((len(where), 2, 32, words), -1, np.int32)

    got = both(module[name], (1, 32), where, out, len(where))

    for step in (0, 3):
        index = (where + step)[..., None] * words + np.arange(words)
        expected = np.where(where[..., None] >= 0, 7 * index, -1)
        np.testing.assert_array_equal(got[:, step // 3], expected)


def test_stores_leave_the_lowest_lane_of_a_place(module: Any) -> None:
    """Of lanes that store to one place the lowest wins, as recorded on an H200."""
    where = patterns()
    expected = np.full(256, -1, np.int32)
    for k, row in enumerate(where):
        for lane in reversed(range(32)):
            if row[lane] >= 0:
                expected[row[lane]] = 32 * k + lane

    got = both(module["scatter"], (1, 32), where, np.zeros(256, np.int32), len(where))

    np.testing.assert_array_equal(got, expected)


def test_stores_of_chosen_lanes_to_places_that_come_again(module: Any) -> None:
    """Exchanges: the places are those of the rounds before, data choose which lanes store."""
    rng = np.random.default_rng(5)
    some = [LANE * 2, LANE * 2 - (LANE & 3), LANE * 2 - (LANE & 15) + 16, LANE[::-1] * 2,
            LANE // 2, LANE * 0, LANE * 7 % 64, LANE + 63, LANE * 3,
            rng.permutation(64)[:32]]  # fmt: skip
    where = np.array([row + base for row in some for base in (0, 1) for _ in range(7)]) % 96
    where = np.vstack([where, where[::5], where[::-3]]).astype(np.int32)
    takes = (rng.random(where.shape) < rng.random((len(where), 1))).astype(np.int32)
    expected = np.full(96, -1, np.int32)
    for k, row in enumerate(where):
        for lane in reversed(range(32)):
            if takes[k, lane]:
                expected[row[lane]] = 32 * k + lane

    shape = 1, 32, 0, 4 * 96
    got = both(module["chosen"], shape, where, takes, np.zeros(96, np.int32), len(where))

    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["words", "quads"])
def test_beyond_the_end(module: Any, name: str) -> None:
    """A remembered pattern that has moved out of shared memory is a fault of the first lane out."""
    where = np.tile(LANE % 8 * 2, (8, 1)).astype(np.int32)
    where[-1] += 241
    kernel = module[name]
    words = 4 if name == "quads" else 1
    for is_fast in (False, True):
        if is_fast:
            kernel.code.program.make_fast()
        with pytest.raises(wl.ExecutionFault, match=r"thread \(6,0,0\)"):
            kernel[1, 32](where, np.zeros(8 * 2 * 32 * words, np.int32), len(where))


def test_some_lanes_reach_the_end(module: Any) -> None:
    """Rows of fewer lanes than a warp's that end with the last word, as small blocks have them."""
    words = 12
    lanes = np.array([(n, first) for n in (12, 4, 1, 5) for first in (0, 12 - n)], np.int32)
    held = 7 * np.arange(words)
    expected = np.full((len(lanes), 32), -1, np.int32)
    for row, (n, first) in zip(expected, lanes, strict=True):
        held[first : first + n] += 1
        row[:n] = held[first : first + n]

    shape = 1, 32, 0, 4 * words
    out = np.full((len(lanes), 32), -1, np.int32)
    got = both(module["last_words"], shape, lanes.ravel(), out, len(lanes), words)
    np.testing.assert_array_equal(got, expected)

    beyond = np.array([4, 8, 5, 8], np.int32)  # the fifth lane of the second round is outside
    with pytest.raises(wl.ExecutionFault, match=r"thread \(4,0,0\)"):
        module["last_words"][shape](beyond, np.zeros(64, np.int32), 2, words)


def test_registers_live_across_barriers(module: Any) -> None:
    """Registers set before a loop, in some of its rounds and never again come out right."""
    rounds, t = 23, np.arange(64)
    a, b, data = 3 * t, t ^ 5, t.copy()
    for i in range(rounds):
        a = np.where((t + i) % 3 == 0, a + data[(t + 7) % 64], a).astype(np.int32)
        data = a.copy()
        b = b ^ a if i % 4 == 1 else b

    got = both(module["across"], (1, 64), np.zeros(192, np.int32), rounds)

    np.testing.assert_array_equal(got, np.concatenate([a, b, 11 * t + rounds]))


@pytest.mark.parametrize("other", [-1, 1, -11, 1 << 30])
def test_lanes_that_do_not_load_may_have_any_address(module: Any, other: int) -> None:
    """One lane loads; the others, lane 0 among them, hold addresses that nobody may load from."""
    at = np.arange(32, dtype=np.int32)
    for wanted in (1, 9, 31):
        out = np.zeros(32, np.int32)
        got = both(module["guarded"], (1, 32), at, wanted, other, out)
        expected = np.full(32, -1, np.int32)
        expected[wanted] = 7 * (wanted + 3)

        np.testing.assert_array_equal(got, expected)
