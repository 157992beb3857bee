"""A product of matrices and attention's forward pass in Triton, as its users write them."""

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           GROUP: tl.constexpr, TF32: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    row = first + pid % (GROUP * columns) % height
    column = pid % (GROUP * columns) // height
    m = (row * BM + tl.arange(0, BM)) % M
    n = (column * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    pa = a + m[:, None] * K + k[None, :]
    pb = b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=k[None, :] < K - step * BK, other=0.0)
        y = tl.load(pb, mask=k[:, None] < K - step * BK, other=0.0)
        total = tl.dot(x, y, total, input_precision="tf32")
        pa += BK
        pb += BK * N
    m = row * BM + tl.arange(0, BM)
    n = column * BN + tl.arange(0, BN)
    pc = c + m[:, None] * N + n[None, :]
    tl.store(pc, total.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def attention(q, k, v, o, scale, L, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
              CAUSAL: tl.constexpr):
    start, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * L * D
    m = start * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    n = tl.arange(0, BN)
    x = tl.load(q + base + m[:, None] * D + d[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.full((BM,), 1.0, tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = L
    if CAUSAL:
        end = (start + 1) * BM
    for j in range(0, end, BN):
        y = tl.load(k + base + (j + n)[None, :] * D + d[:, None])
        s = tl.dot(x, y) * scale
        if CAUSAL:
            s = tl.where(m[:, None] >= (j + n)[None, :], s, -1.0e6)
        top = tl.maximum(most, tl.max(s, 1))
        p = tl.math.exp2(s - top[:, None])
        less = tl.math.exp2(most - top)
        total = total * less + tl.sum(p, 1)
        acc = acc * less[:, None]
        z = tl.load(v + base + (j + n)[:, None] * D + d[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc)
        most = top
    acc = acc / total[:, None]
    tl.store(o + base + m[:, None] * D + d[None, :], acc.to(o.dtype.element_ty))
