"""128-bit integers, whose carries run through every form of addition, against Python's own."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.isa.edges import edge_lanes

SOURCE = """
typedef unsigned __int128 u128;
typedef __int128 s128;
typedef unsigned long long u64;
__device__ u128 load(const u64 *a, int i, int n) { return ((u128)a[n + i] << 64) | a[i]; }
#define STORE(k, v) { u128 t = v; u64 *o = out + 2 * k * n + i; o[0] = t; o[n] = t >> 64; }
extern "C" __global__ void wide(u64 *out, const u64 *a, const u64 *b) {
    int i = threadIdx.x, n = blockDim.x;
    u128 x = load(a, i, n), y = load(b, i, n);
    STORE(0, x + y) STORE(1, x - y) STORE(2, -x) STORE(3, x * y) STORE(4, x < y)
    STORE(5, (s128)x <= (s128)y) STORE(6, x >> (a[i] & 127)) STORE(7, (s128)x >> (b[i] & 127))
    STORE(8, x << (a[i] & 127)) STORE(9, x / (y | 1)) STORE(10, x % (y | 1))
    STORE(11, ~x + y - 1) STORE(12, x == y) STORE(13, (x >> 64) + (u64)y)
}
"""
N = 64
M64, M128 = (1 << 64) - 1, (1 << 128) - 1


def signed(n: int) -> int:
    """Two's-complement reading of 128 bits."""
    return n - (1 << 128) if n >> 127 else n


def expected(x: int, y: int) -> list[int]:
    """The kernel's results for one thread."""
    low_x, low_y = x & 127, y & 127
    results = [x + y, x - y, -x, x * y, x < y, signed(x) <= signed(y), x >> low_x,
               signed(x) >> low_y, x << low_x, x // (y | 1), x % (y | 1), ~x + y - 1, x == y,
               (x >> 64) + (y & M64)]  # fmt: skip
    return [int(result) & M128 for result in results]


@pytest.mark.parametrize("sm", one_in(3, [80, 100, 120], str, first=1))
def test_128_bit_arithmetic(sm: int) -> None:
    """Every result of every thread."""
    a, b = edge_lanes("u64", 1, 2 * N), edge_lanes("u64", 2, 2 * N)
    b[:N:5], b[N::5], b[N::3] = a[:N:5], a[N::5], 0
    out = np.zeros((14, 2, N), np.uint64)
    module = wl.Device(f"sm_{sm}").compile(SOURCE, options=("--device-int128",))
    module["wide"][1, N](out, a, b)
    for i in range(N):
        x, y = int(a[N + i]) << 64 | int(a[i]), int(b[N + i]) << 64 | int(b[i])
        actual = [int(out[k, 1, i]) << 64 | int(out[k, 0, i]) for k in range(14)]

        assert [hex(n) for n in actual] == [hex(n) for n in expected(x, y)]
