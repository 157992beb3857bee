"""Triton kernels for the tests; Triton reads their source from this file."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    """out = x + y."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    """The softmax of each row."""
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    values = tl.load(x + row + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def matmul(a, b, c, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """c = a @ b."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    across = tl.program_id(1) * N + tl.arange(0, N)
    along = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        left = tl.load(a + rows[:, None] * depth + (k + along)[None, :])
        right = tl.load(b + (k + along)[:, None] * columns + across[None, :])
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * columns + across[None, :], total)
