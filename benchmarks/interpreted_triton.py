"""Kernels of benchmarks/user.py in Triton, by its interpreter: seconds per CUDA thread's work.

    TRITON_INTERPRET=1 python benchmarks/interpreted_triton.py     # needs torch and triton

Prints JSON. Programs have 1,024 elements, products tiles of 64 x 64: both larger than a CUDA block,
which suits the interpreter, whose cost is that of NumPy's calls. `beside.py` runs this.
"""

# mypy: ignore-errors

from __future__ import annotations

import json
import sys
import time

import torch
import triton
import triton.language as tl

B, TILE, SIDE = 1024, 64, 512


@triton.jit
def polynomial(x, out, terms: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    y, z = v * 0 + 0.5, v * 0 + 0.25
    for _ in range(terms):
        y = y * v + 0.3
        z = z * y + 0.1
    tl.store(out + i, y + z)


@triton.jit
def xorshift(out, rounds: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = (i * 40503 + 1).to(tl.uint32)
    total = x * 0
    for _ in range(rounds):
        x ^= x << 13
        x ^= x >> 17
        x ^= x << 5
        total += x >> 7
    tl.store(out + i, total)


@triton.jit
def repeated(x, out, terms: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    y = v
    for _ in range(terms):
        y = y * v + v * v
    tl.store(out + i, y)


@triton.jit
def saxpy(x, y, a, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, a * tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def copy(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit
def gather(x, index, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + tl.load(index + i, i < n), i < n), i < n)


@triton.jit
def scatter(x, index, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + tl.load(index + i, i < n), tl.load(x + i, i < n), i < n)


@triton.jit
def stencil(x, out, w, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B) + w + 1
    p = x + i
    v = tl.load(p) + tl.load(p + 1) + tl.load(p - 1) + tl.load(p + w) + tl.load(p - w)
    tl.store(out + i, 0.2 * v)


@triton.jit
def grey(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    r, g, b = tl.load(x + 3 * i), tl.load(x + 3 * i + 1), tl.load(x + 3 * i + 2)
    v = r.to(tl.int32) * 77 + g.to(tl.int32) * 150 + b.to(tl.int32) * 29
    tl.store(out + i, (v >> 8).to(tl.uint8))


@triton.jit
def samples(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = (i > 0) & (i + 1 < n)
    v = tl.load(x + i - 1, m).to(tl.int32) + 2 * tl.load(x + i, m) + tl.load(x + i + 1, m)
    tl.store(out + i, (v // 4).to(tl.int16), m)


@triton.jit
def convolution(x, weights, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in range(17):
        total += tl.load(weights + k) * tl.load(x + i + k)
    tl.store(out + i, total)


@triton.jit
def transpose(x, out, n, T: tl.constexpr):
    a = tl.program_id(1) * T + tl.arange(0, T)
    b = tl.program_id(0) * T + tl.arange(0, T)
    tl.store(out + b[:, None] * n + a[None, :], tl.trans(tl.load(x + a[:, None] * n + b[None, :])))


@triton.jit
def total(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i)))


@triton.jit
def scan(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def global_histogram(x, bins, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(bins + (tl.load(x + i) & 4095), 1)


@triton.jit
def mandelbrot(out, side, limit: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    cx, cy = -2.0 + 3.0 * (i % side) / side, -1.2 + 2.4 * (i // side) / side
    x, y, n = cx * 0, cy * 0, i * 0
    for _ in range(limit):
        go = x * x + y * y <= 4.0
        t = x * x - y * y + cx
        y = tl.where(go, 2.0 * x * y + cy, y)
        x = tl.where(go, t, x)
        n += go.to(tl.int32)
    tl.store(out + i, n)


@triton.jit
def product(a, b, c, n: tl.constexpr, T: tl.constexpr):
    y, x = tl.program_id(1) * T + tl.arange(0, T), tl.program_id(0) * T + tl.arange(0, T)
    total = tl.zeros((T, T), tl.float32)
    for k in range(0, n, T):
        j = k + tl.arange(0, T)
        p = tl.load(a + y[:, None] * n + j[None, :])
        q = tl.load(b + j[:, None] * n + x[None, :])
        total += tl.dot(p, q)
    tl.store(c + y[:, None] * n + x[None, :], total)


def launches():
    """name: (threads of the CUDA kernel that do as much, launch)."""
    n, g, grid = 16 * B, torch.Generator().manual_seed(1), (16,)
    f = torch.rand(16 * n, generator=g)
    d, h = f.double(), f.half()
    i = torch.randint(0, n, (n,), generator=g, dtype=torch.int32)
    p = torch.randperm(n, generator=g).to(torch.int32)
    u8, i16 = (f * 255).to(torch.uint8), (f * 1000).to(torch.int16)
    o, one = torch.zeros(16 * n), torch.zeros(4096, dtype=torch.int32)
    a, c, half = f[: SIDE**2], torch.zeros(SIDE**2), h[: SIDE**2]
    u32, tiles = torch.zeros(n, dtype=torch.int32), (SIDE // TILE, SIDE // TILE)
    warps_of_tiles = SIDE**2 // 256 * 32  # threads of tensor_product: a warp for 16 x 16
    return {
        "polynomial": (n, lambda: polynomial[grid](f, o, 256, B=B)),
        "xorshift": (n, lambda: xorshift[grid](u32, 256, B=B)),
        "doubles": (n, lambda: repeated[grid](d, d.clone(), 128, B=B)),
        "halves": (n // 2, lambda: repeated[grid](h, h.clone(), 128, B=B)),
        "sgemm": (SIDE**2 / 64, lambda: product[tiles](a, a, c, SIDE, T=TILE)),
        "naive_product": (SIDE**2, lambda: product[tiles](a, a, c, SIDE, T=TILE)),
        "tensor_product": (warps_of_tiles, lambda: product[tiles](half, half, c, SIDE, T=TILE)),
        "saxpy": (n, lambda: saxpy[grid](f, o, 2.5, n, B=B)),
        "copy_wide": (n / 256, lambda: copy[grid](f, o, n, B=B)),
        "transpose": (SIDE**2 / 4, lambda: transpose[tiles](a, c, SIDE, T=TILE)),
        "stencil": (n, lambda: stencil[grid](f, o, 128, B=B)),
        "gather": (n, lambda: gather[grid](f, i, o, n, B=B)),
        "scatter": (n, lambda: scatter[grid](f, p, o, n, B=B)),
        "grey": (n, lambda: grey[grid](u8, u8.clone(), n, B=B)),
        "samples": (n, lambda: samples[grid](i16, i16.clone(), n, B=B)),
        "convolution": (n, lambda: convolution[grid](f, f[:17].clone(), o, B=B)),
        "ladder": (n / 4, lambda: total[grid](i, one, B=B)),
        "sequential": (n, lambda: total[grid](i, one, B=B)),
        "scan": (n, lambda: scan[grid](i, i.clone(), B=B)),
        "global_histogram": (n, lambda: global_histogram[grid](i, one, n, B=B)),
        "mandelbrot": (n, lambda: mandelbrot[grid](u32, 128, 256, B=B)),
    }  # fmt: skip


def main() -> int:
    """Prints the seconds of processor time per thread of each."""
    torch.set_num_threads(1)
    found = {}
    for name, (threads, launch) in launches().items():
        try:
            launch()
            begin = time.process_time()
            launch()
            found[name] = (time.process_time() - begin) / threads
        except Exception as error:  # one kernel must not hide the others
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
