"""Triton kernels of the kinds that its tutorials teach, for programs with PyTorch's tensors."""

import triton
import triton.language as tl

CONFIGURATIONS = [
    triton.Config({"M": 32, "N": 32, "K": 32}, num_warps=2, num_stages=2),
    triton.Config({"M": 64, "N": 64, "K": 32}, num_warps=4, num_stages=3),
    triton.Config({"M": 128, "N": 64, "K": 64}, num_warps=8, num_stages=2),
]


@triton.autotune(configs=CONFIGURATIONS, key=["rows", "columns", "depth"])
@triton.jit
def matmul(a, b, c, rows, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """c = a @ b, by tiles in one dimension of programs."""
    across = tl.cdiv(columns, N)
    row = tl.program_id(0) // across * M + tl.arange(0, M)
    column = tl.program_id(0) % across * N + tl.arange(0, N)
    along = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        inside = k + along < depth
        left = tl.load(a + row[:, None] * depth + (k + along)[None, :],
                       mask=(row < rows)[:, None] & inside[None, :], other=0)
        right = tl.load(b + (k + along)[:, None] * columns + column[None, :],
                        mask=inside[:, None] & (column < columns)[None, :], other=0)
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * columns + column[None, :], total.to(c.dtype.element_ty),
             mask=(row < rows)[:, None] & (column < columns)[None, :])


@triton.jit
def dropout(x, out, n, share, seed, BLOCK: tl.constexpr):
    """Leaves a share out and scales the rest."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keeps = tl.rand(seed, at) > share
    values = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.where(keeps, values / (1 - share), 0.0), mask=at < n)


@triton.jit
def layer_norm(x, out, weight, bias, columns, eps, BLOCK: tl.constexpr):
    """Each row with mean 0 and variance 1, scaled and shifted."""
    row, at = tl.program_id(0) * columns, tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row + at, mask=inside, other=0).to(tl.float32)
    mean = tl.sum(values, axis=0) / columns
    apart = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, axis=0) / columns + eps)
    w, b = tl.load(weight + at, mask=inside), tl.load(bias + at, mask=inside)
    tl.store(out + row + at, apart * scale * w + b, mask=inside)


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """softmax(q k^T) v for one head after the other, in one pass."""
    head = tl.program_id(1) * length * D
    rows, depth, along = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D), tl.arange(0, N)
    queries = tl.load(q + head + rows[:, None] * D + depth[None, :])
    top = tl.full((M,), float("-inf"), tl.float32)
    below, total = tl.zeros((M,), tl.float32), tl.zeros((M, D), tl.float32)
    for start in range(0, length, N):
        keys = tl.load(k + head + (start + along)[None, :] * D + depth[:, None])
        scores = tl.dot(queries, keys) * scale
        new = tl.maximum(top, tl.max(scores, axis=1))
        powers, shrunk = tl.exp(scores - new[:, None]), tl.exp(top - new)
        values = tl.load(v + head + (start + along)[:, None] * D + depth[None, :])
        total = tl.dot(powers.to(values.dtype), values, total * shrunk[:, None])
        below, top = below * shrunk + tl.sum(powers, axis=1), new
    tl.store(out + head + rows[:, None] * D + depth[None, :], total / below[:, None])


@triton.jit
def grouped(a, b, c, sizes, n, TILE: tl.constexpr):
    """Products of square matrices of several sizes, found by pointers in memory."""
    for i in range(n):
        size = tl.load(sizes + i)
        left = tl.load(a + i).to(tl.pointer_type(tl.float16))
        right = tl.load(b + i).to(tl.pointer_type(tl.float16))
        result = tl.load(c + i).to(tl.pointer_type(tl.float16))
        tiles = size // TILE
        for tile in range(tl.program_id(0), tiles * tiles, tl.num_programs(0)):
            row = tile // tiles * TILE + tl.arange(0, TILE)
            column = tile % tiles * TILE + tl.arange(0, TILE)
            total = tl.zeros((TILE, TILE), tl.float32)
            for k in range(0, size, TILE):
                along = k + tl.arange(0, TILE)
                total = tl.dot(tl.load(left + row[:, None] * size + along[None, :]),
                               tl.load(right + along[:, None] * size + column[None, :]), total)
            tl.store(result + row[:, None] * size + column[None, :], total.to(tl.float16))


@triton.jit
def by_descriptors(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """c = a @ b^T through descriptors that the host made."""
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        total = tl.dot(a.load([row, k]), b.load([column, k]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def beyond(x, n, BLOCK: tl.constexpr):
    """Writes n elements too far."""
    at = tl.arange(0, BLOCK)
    tl.store(x + at + n, at)  # the line that must be named
