"""cuTile's kernels for the tests."""

import cuda.tile as ct


@ct.kernel
def add(a, b, c, WIDTH: ct.Constant[int]):
    """c = a + b."""
    i = ct.bid(0)
    left = ct.load(a, index=(i,), shape=(WIDTH,))
    right = ct.load(b, index=(i,), shape=(WIDTH,))
    ct.store(c, index=(i,), tile=left + right)


@ct.kernel
def matmul(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    """c = a @ b by tiles."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.full((M, N), 0, dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], K)):
        left = ct.load(a, index=(row, k), shape=(M, K))
        right = ct.load(b, index=(k, column), shape=(K, N))
        total = ct.mma(left, right, total)
    ct.store(c, index=(row, column), tile=total)
