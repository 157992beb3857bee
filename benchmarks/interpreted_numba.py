"""Kernels of benchmarks/user.py by numba's simulator of CUDA: seconds per thread.

    NUMBA_ENABLE_CUDASIM=1 python benchmarks/interpreted_numba.py     # needs numba

Prints JSON. Each thread of a block is a thread of Python there, so that launches are small; a block
has the kernel's size. `beside.py` runs this.
"""

# mypy: ignore-errors

from __future__ import annotations

import json
import math
import sys
import time

import numpy as np
from numba import cuda, float32, int32

N, SIDE, PART = 1024, 512, 32


@cuda.jit
def polynomial(x, out, terms):
    i = cuda.grid(1)
    v, y, z = x[i], 0.5, 0.25
    for _ in range(terms):
        y = y * v + 0.3
        z = z * y + 0.1
    out[i] = y + z


@cuda.jit
def blackscholes(s, k, call):
    i = cuda.grid(1)
    d = (math.log(s[i] / k[i]) + 0.06) / 0.2
    e, r = d - 0.2, math.sqrt(0.5)
    a, b = 0.5 * math.erfc(-d * r), 0.5 * math.erfc(-e * r)
    call[i] = s[i] * a - k[i] * math.exp(-0.02) * b


@cuda.jit
def xorshift(out, rounds):
    i = cuda.grid(1)
    x, total = (i * 2654435761 + 1) & 0xFFFFFFFF, 0
    for _ in range(rounds):
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        total += x >> 7
    out[i] = total & 0xFFFFFFFF


@cuda.jit
def doubles(x, out, terms):
    i = cuda.grid(1)
    v, y = x[i], 0.5
    for _ in range(terms):
        y = (y * v + 0.3) * 0.999
    out[i] = y


@cuda.jit
def naive_product(a, b, c, n):
    x, y = cuda.grid(2)
    total = float32(0)
    for k in range(n):
        total += a[y, k] * b[k, x]
    c[y, x] = total


@cuda.jit
def saxpy(x, y, a, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@cuda.jit
def transpose(x, out):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    a, b = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for i in range(0, 32, 8):
        tile[ty + i, tx] = x[b + ty + i, a + tx]
    cuda.syncthreads()
    for i in range(0, 32, 8):
        out[a + ty + i, b + tx] = tile[tx, ty + i]


@cuda.jit
def stencil(p, out):
    x, y = cuda.grid(2)
    x, y = x + 1, y + 1
    out[y, x] = 0.2 * (p[y, x] + p[y, x + 1] + p[y, x - 1] + p[y + 1, x] + p[y - 1, x])


@cuda.jit
def gather(x, index, out, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = x[index[i]]


@cuda.jit
def scatter(x, index, out, n):
    i = cuda.grid(1)
    if i < n:
        out[index[i]] = x[i]


@cuda.jit
def samples(x, out, n):
    i = cuda.grid(1)
    if i > 0 and i + 1 < n:
        out[i] = int((int(x[i - 1]) + 2 * int(x[i]) + int(x[i + 1])) / 4)


@cuda.jit
def sequential(data, out):
    part = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    part[t] = data[cuda.blockIdx.x * 256 + t]
    cuda.syncthreads()
    s = 128
    while s > 0:
        if t < s:
            part[t] += part[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


@cuda.jit
def scan(data, out):
    part = cuda.shared.array((2, 256), int32)
    t, source, d = cuda.threadIdx.x, 0, 1
    part[0, t] = data[cuda.blockIdx.x * 256 + t]
    while d < 256:
        cuda.syncthreads()
        part[1 - source, t] = part[source, t] + (part[source, t - d] if t >= d else 0)
        d, source = 2 * d, 1 - source
    out[cuda.blockIdx.x * 256 + t] = part[source, t]


@cuda.jit
def bitonic(data):
    s = cuda.shared.array(512, int32)
    t, base, k = cuda.threadIdx.x, cuda.blockIdx.x * 512, 2
    s[t], s[t + 256] = data[base + t], data[base + t + 256]
    while k <= 512:
        j = k // 2
        while j > 0:
            cuda.syncthreads()
            i = 2 * t - (t & (j - 1))
            a, b = s[i], s[i + j]
            if (a > b) == ((i & k) == 0):
                s[i], s[i + j] = b, a
            j //= 2
        k *= 2
    cuda.syncthreads()
    data[base + t], data[base + t + 256] = s[t], s[t + 256]


@cuda.jit
def global_histogram(x, bins, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(bins, x[i] & 4095, 1)


@cuda.jit
def mandelbrot(out, w, h, limit):
    px, py = cuda.grid(2)
    cx, cy = -2.0 + 3.0 * px / w, -1.2 + 2.4 * py / h
    x, y, i = 0.0, 0.0, 0
    while i < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        i += 1
    out[py, px] = i


@cuda.jit
def collatz(out):
    i = cuda.grid(1)
    x, steps = i + 1, 0
    while x != 1:
        x = 3 * x + 1 if x % 2 else x // 2
        steps += 1
    out[i] = steps


@cuda.jit
def bisection(data, keys, out, n):
    i = cuda.grid(1)
    low, high, key = 0, n, keys[i]
    while low < high:
        middle = (low + high) // 2
        if data[middle] < key:
            low = middle + 1
        else:
            high = middle
    out[i] = low


def launches():
    """name: (threads, launch)."""
    g = np.random.default_rng(1)
    f, i = g.random(4 * N).astype(np.float32), g.integers(0, N, 4 * N, dtype=np.int32)
    d, u, one = f.astype(np.float64), np.zeros(4 * N, np.uint32), np.zeros(4096, np.int32)
    square = g.random((SIDE, SIDE)).astype(np.float32)
    row = np.sort(g.integers(0, 1 << 30, 1 << 18).astype(np.int32))
    line, tile, many = (N // 256, 256), ((1, PART // 8), (32, 8)), 32 * PART
    return {
        "polynomial": (N, lambda: polynomial[line](f, f.copy(), 256)),
        "blackscholes": (N, lambda: blackscholes[line](f + 1, f + 1, f.copy())),
        "xorshift": (N, lambda: xorshift[line](u, 256)),
        "doubles": (N, lambda: doubles[line](d, d.copy(), 128)),
        "naive_product": (many, lambda: naive_product[tile](square, square, square.copy(), SIDE)),
        "saxpy": (N, lambda: saxpy[line](f, f.copy(), np.float32(2), N)),
        "transpose": (256, lambda: transpose[(1, 1), (32, 8)](square, square.copy())),
        "stencil": (many, lambda: stencil[tile](square, square.copy())),
        "gather": (N, lambda: gather[line](f, i, f.copy(), N)),
        "scatter": (N, lambda: scatter[line](f, i, f.copy(), N)),
        "samples": (N, lambda: samples[line](i.astype(np.int16), i.astype(np.int16), N)),
        "sequential": (N, lambda: sequential[line](i, one)),
        "scan": (N, lambda: scan[line](i, i.copy())),
        "bitonic": (N // 2, lambda: bitonic[2, 256](i.copy())),
        "global_histogram": (N, lambda: global_histogram[line](i, one, N)),
        "mandelbrot": (N, lambda: mandelbrot[(1, 8), (128, 1)](square.copy(), 128, 8, 256)),
        "collatz": (N, lambda: collatz[line](u)),
        "bisection": (N, lambda: bisection[line](row, i, i.copy(), row.size)),
    }


def main() -> int:
    """Prints the seconds of processor time per thread of each."""
    found = {}
    for name, (threads, launch) in launches().items():
        begin = time.process_time()
        launch()
        found[name] = (time.process_time() - begin) / threads
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
