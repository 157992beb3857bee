"""Triton with PyTorch's CPU build: a program that says "cuda"."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    """The sum of two vectors."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


x, y = (torch.rand(1000, device="cuda") for _ in range(2))
out = torch.empty_like(x)
add[(4,)](x, y, out, 1000, BLOCK=256)
torch.testing.assert_close(out, x + y)
