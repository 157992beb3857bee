"""cuTile with PyTorch's CPU build: tiles of a sum."""

import cuda.tile as ct
import torch


@ct.kernel
def add(a, b, c, WIDTH: ct.Constant[int]):
    """The sum of two vectors."""
    i = ct.bid(0)
    left = ct.load(a, index=(i,), shape=(WIDTH,))
    right = ct.load(b, index=(i,), shape=(WIDTH,))
    ct.store(c, index=(i,), tile=left + right)


a, b = (torch.rand(1024, device="cuda") for _ in range(2))
c = torch.zeros_like(a)
ct.launch(torch.cuda.current_stream(), (8,), add, (a, b, c, 128))
torch.testing.assert_close(c, a + b)
