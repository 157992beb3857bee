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
def halves(x, out, terms):
    i = cuda.grid(1)
    a, b = x[2 * i], x[2 * i + 1]
    y, z = a, b
    for _ in range(terms):
        y, z = y * a + a * a, z * b + b * b
    out[2 * i], out[2 * i + 1] = y, z


@cuda.jit
def sgemm(a, b, c, n):
    left, right = cuda.shared.array((8, 64), float32), cuda.shared.array((8, 64), float32)
    t, x0, y0 = cuda.threadIdx.x, cuda.blockIdx.x * 64, cuda.blockIdx.y * 64
    tx, ty, total = t % 8, t // 8, cuda.local.array((8, 8), float32)
    for r in range(8):
        for s in range(8):
            total[r, s] = 0
    for k in range(0, n, 8):
        for i in range(t, 512, 64):
            left[i % 8, i // 8] = a[y0 + i // 8, k + i % 8]
            right[i // 64, i % 64] = b[k + i // 64, x0 + i % 64]
        cuda.syncthreads()
        for i in range(8):
            for r in range(8):
                for s in range(8):
                    total[r, s] += left[i, ty * 8 + r] * right[i, tx * 8 + s]
        cuda.syncthreads()
    for r in range(8):
        for s in range(8):
            c[y0 + ty * 8 + r, x0 + tx * 8 + s] = total[r, s]


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
def copy_wide(x, out, n):
    for i in range(cuda.grid(1), n, cuda.gridDim.x * cuda.blockDim.x):
        for k in range(4):
            out[4 * i + k] = x[4 * i + k]


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
def spmv(start, column, value, x, y, rows):
    r = cuda.grid(1)
    if r < rows:
        total = float32(0)
        for i in range(start[r], start[r + 1]):
            total += value[i] * x[column[i]]
        y[r] = total


@cuda.jit
def grey(x, out, n):
    i = cuda.grid(1)
    if i < n:
        red, green, blue = int(x[3 * i]), int(x[3 * i + 1]), int(x[3 * i + 2])
        out[i] = (red * 77 + green * 150 + blue * 29) >> 8


@cuda.jit
def search(text, word, length, n, found):
    i, k = cuda.grid(1), 0
    if i + length > n:
        return
    while k < length and text[i + k] == word[k]:
        k += 1
    if k == length:
        cuda.atomic.add(found, 0, 1)


@cuda.jit
def convolution(x, weights, out):
    part = cuda.shared.array(272, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x[i]
    if t < 16:
        part[256 + t] = x[i + 256]
    cuda.syncthreads()
    total = float32(0)
    for k in range(17):
        total += weights[k] * part[t + k]
    out[i] = total


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
def histogram(x, bins, n):
    local = cuda.shared.array(256, int32)
    local[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridDim.x * 256):
        cuda.atomic.add(local, x[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, cuda.threadIdx.x, local[cuda.threadIdx.x])


@cuda.jit
def hashing(keys, table, mask, n):
    i = cuda.grid(1)
    if i >= n:
        return
    key = slot = int(keys[i])
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        slot = ((slot ^ slot >> shift) * factor) & 0xFFFFFFFF
    slot &= mask
    while True:
        old = cuda.atomic.cas(table, slot, 0, key)
        if old == 0 or old == key:
            return
        slot = (slot + 1) & mask


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
    few = g.random((64, 64)).astype(np.float32)
    half, byte = f.astype(np.float16), (i & 255).astype(np.uint8)
    start = np.concatenate([[0], np.cumsum(g.integers(16, 112, N))])  # as in user.py
    column, value = g.integers(0, N, start[-1]), g.random(start[-1]).astype(np.float32)
    text, word = g.integers(97, 101, 2 * N, dtype=np.uint8), np.array([*b"abcabcab"], np.uint8)
    keys, table = g.integers(1, 1 << 32, N, dtype=np.uint32), np.zeros(2 * N, np.uint32)
    line, tile, many = (N // 256, 256), ((1, PART // 8), (32, 8)), 32 * PART
    return {
        "polynomial": (N, lambda: polynomial[line](f, f.copy(), 256)),
        "blackscholes": (N, lambda: blackscholes[line](f + 1, f + 1, f.copy())),
        "xorshift": (N, lambda: xorshift[line](u, 256)),
        "doubles": (N, lambda: doubles[line](d, d.copy(), 128)),
        "halves": (N, lambda: halves[line](half, half.copy(), 128)),
        "sgemm": (64 * 64 / SIDE, lambda: sgemm[1, 64](few, few, few.copy(), 64)),
        "naive_product": (many, lambda: naive_product[tile](square, square, square.copy(), SIDE)),
        "saxpy": (N, lambda: saxpy[line](f, f.copy(), np.float32(2), N)),
        "copy_wide": (N / 64, lambda: copy_wide[1, 256](f, f.copy(), N)),
        "transpose": (256, lambda: transpose[(1, 1), (32, 8)](square, square.copy())),
        "stencil": (many, lambda: stencil[tile](square, square.copy())),
        "gather": (N, lambda: gather[line](f, i, f.copy(), N)),
        "scatter": (N, lambda: scatter[line](f, i, f.copy(), N)),
        "spmv": (N, lambda: spmv[N // 128, 128](start, column, value, f, f.copy(), N)),
        "grey": (N, lambda: grey[line](byte, byte.copy(), N)),
        "search": (N, lambda: search[line](text, word, 8, 2 * N, one)),
        "convolution": (N, lambda: convolution[line](f, f, f.copy())),
        "samples": (N, lambda: samples[line](i.astype(np.int16), i.astype(np.int16), N)),
        "sequential": (N, lambda: sequential[line](i, one)),
        "scan": (N, lambda: scan[line](i, i.copy())),
        "bitonic": (N // 2, lambda: bitonic[2, 256](i.copy())),
        "histogram": (256, lambda: histogram[1, 256](np.tile(byte, 8), one, 32 * N)),
        "hashing": (N, lambda: hashing[N // 128, 128](keys, table, 2 * N - 1, N)),
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
