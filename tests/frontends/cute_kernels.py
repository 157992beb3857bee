"""CuTe DSL's kernels for the tests."""

import cutlass.cute as cute


@cute.kernel
def _add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    threads, _, _ = cute.arch.block_dim()
    i = block * threads + thread
    c[i] = a[i] + b[i]


@cute.jit
def add(a: cute.Pointer, b: cute.Pointer, c: cute.Pointer):
    """c = a + b over 1,024 elements."""
    layout = cute.make_layout(1024)
    x, y, z = (cute.make_tensor(one, layout) for one in (a, b, c))
    _add(x, y, z).launch(grid=(8, 1, 1), block=(128, 1, 1))


@cute.jit
def doubled(a: cute.Tensor, n: int):
    """Doubles n elements on the host."""
    for i in range(n):
        a[i] = a[i] * 2


@cute.jit
def tiled(rows: cute.Pointer, tiles: cute.Pointer, high: int, wide: int):
    """Lays out scales on the host as tensor cores read them: tiles of 128 rows by 4."""
    shape = ((32, 4, high), (4, wide))
    to = cute.make_tensor(tiles, cute.make_layout(shape, stride=((16, 4, 512 * wide), (1, 512))))
    source = cute.make_tensor(rows, cute.make_layout((128 * high, 4 * wide), stride=(4 * wide, 1)))
    for i in range(512 * high * wide):
        at = source.layout.get_hier_coord(i)
        to[at] = source[at]


@cute.kernel
def _more(a: cute.Tensor, b: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = 128 * block + thread
    b[i] = a[i] + 1


@cute.jit
def more(a: cute.Tensor, b: cute.Tensor, blocks: int):
    """b = a + 1, in so many blocks of 128 threads."""
    _more(a, b).launch(grid=(blocks, 1, 1), block=(128, 1, 1))
