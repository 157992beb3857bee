"""cuTile, CuTe DSL and tinygrad on the simulated driver, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warplens

pytestmark = pytest.mark.long


def test_tensors_of_pytorch(gpu: Any) -> None:
    """PyTorch's CPU build says "cuda": cuTile and CuTe DSL see its tensors' memory by DLPack."""
    torch, ct = pytest.importorskip("torch"), pytest.importorskip("cuda.tile")
    if torch.version.cuda is not None:
        pytest.skip("PyTorch's build for GPUs")

    from tests.frontends import tile_kernels

    x = torch.arange(1024, dtype=torch.float32, device="cuda")
    total = torch.zeros_like(x)
    view = total[512:]  # of the same storage
    ct.launch(torch.cuda.current_stream(), (8,), tile_kernels.add, (x, 2 * x, total, 128))

    assert torch.cuda.default_stream() is torch.cuda.current_stream()
    assert torch.equal(total, 3 * x)
    assert torch.equal(view, total[512:])
    assert x.__dlpack_device__() == (2, 0)
    assert np.array_equal(torch.utils.dlpack.from_dlpack(_OfHost(x)).numpy(), np.arange(1024))


class _OfHost:
    """A tensor that is asked for the host's memory, as NumPy may ask."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        return self._tensor.__dlpack__(dl_device=(1, 0))

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize(("tile", "blocks"), [(32, 1), (128, 1), (128, 2)])
def test_cutile(gpu: Any, tile: int, blocks: int) -> None:
    """A sum; a product of matrices, from compute capability 9.0 on with tensor maps and clusters,
    of which the grid counts as many as there are tiles."""
    pytest.importorskip("cuda.tile")
    import cuda.tile as ct

    from tests.frontends import tile_kernels
    from tests.frontends.device_arrays import Shown, make_current

    make_current()
    x = np.arange(1024, dtype=np.float32)
    a, b, c = Shown(x), Shown(2 * x), Shown(0 * x)
    ct.launch(0, (8,), tile_kernels.add, (a, b, c, 128))
    random = np.random.default_rng(1)
    size = 2 * tile
    left, right = (random.integers(-3, 4, (size, size)).astype(np.float16) for _ in range(2))
    product = Shown(np.zeros((size, size), np.float32))
    arguments = (Shown(left), Shown(right), product, tile, tile, tile)

    assert np.array_equal(c.read(), 3 * x)
    ct.launch(0, (2, 2), tile_kernels.matmul.replace_hints(num_ctas=blocks), arguments)
    assert np.array_equal(product.read(), left.astype(np.float32) @ right.astype(np.float32))


def test_cute_dsl(gpu: Any) -> None:
    """An elementwise sum through a compiled host function; its line is the Python file's."""
    pytest.importorskip("cutlass")
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_ptr

    from tests.frontends import cute_kernels
    from tests.frontends.device_arrays import Shown, make_current

    make_current()
    x = np.arange(1024, dtype=np.float32)
    arrays = [Shown(x), Shown(2 * x), Shown(0 * x)]
    space = cute.AddressSpace.gmem
    pointers = [make_ptr(cutlass.Float32, one.address, space, assumed_align=16) for one in arrays]
    with gpu:
        cute.compile(cute_kernels.add, *pointers)(*pointers)
        launch = gpu.launches[-1]

    assert np.array_equal(arrays[2].read(), 3 * x)
    assert (launch.grid, launch.block) == ((8, 1, 1), (128, 1, 1))


def test_cute_dsl_fault(gpu: Any) -> None:
    """A store beyond its tensor raises with the Python file's line; the GPU stays usable."""
    pytest.importorskip("cutlass")
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_ptr

    from tests.frontends import cute_kernels
    from tests.frontends.device_arrays import Shown, make_current

    make_current()
    x = np.arange(1024, dtype=np.float32)
    arrays = [Shown(x), Shown(x), Shown(x[:16])]
    space = cute.AddressSpace.gmem
    pointers = [make_ptr(cutlass.Float32, one.address, space, assumed_align=16) for one in arrays]
    add = cute.compile(cute_kernels.add, *pointers)
    with pytest.raises(warplens.MemoryFault, match=r"argument 2 \((?s:.)*cute_kernels\.py:12"), gpu:
        add(*pointers)
    add(pointers[0], pointers[1], pointers[1])

    assert np.array_equal(arrays[1].read(), 2 * x)


def test_tinygrad(gpu: Any) -> None:
    """Reductions, products, indexing and a convolution, as NumPy has them."""
    pytest.importorskip("tinygrad")
    from tinygrad import Device, Tensor

    random = np.random.default_rng(2)
    a = random.integers(-3, 4, (24, 16)).astype(np.float32)
    b = random.integers(-3, 4, (16, 40)).astype(np.float32)
    image, kernel = a.reshape(1, 1, 24, 16), np.ones((1, 1, 3, 3), np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(a, (3, 3)).sum(axis=(2, 3))
    with gpu:
        found = {
            "matmul": (Tensor(a) @ Tensor(b)).numpy(),
            "halves": (Tensor(a).half() @ Tensor(b).half()).float().numpy(),  # wants CUDA's headers
            "sum": Tensor(a).sum(axis=1).numpy(),
            "max": Tensor(a).max(axis=0).numpy(),
            "index": Tensor(a)[Tensor([3, 1, 20])].numpy(),
            "where": (Tensor(a) > 0).where(Tensor(a), 0).numpy(),
            "cumsum": Tensor(a).cumsum(axis=0).numpy(),
            "convolution": Tensor(image).conv2d(Tensor(kernel)).numpy()[0, 0],
        }
        launches = len(gpu.launches)
    expected = {
        "matmul": a @ b, "halves": a @ b, "sum": a.sum(axis=1), "max": a.max(axis=0),
        "index": a[[3, 1, 20]],
        "where": np.maximum(a, 0), "cumsum": a.cumsum(axis=0), "convolution": windows,
    }  # fmt: skip

    assert Device.DEFAULT == "CUDA"
    assert launches >= len(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_tinygrad_operations(gpu: Any) -> None:
    """Elementwise, reducing and moving operations and gradients, beside NumPy in doubles."""
    pytest.importorskip("tinygrad")
    from tinygrad import Tensor

    random = np.random.default_rng(3)
    a, b = (random.uniform(0.5, 2, (12, 20)).astype(np.float32) for _ in range(2))
    x, y, wide = Tensor(a).realize(), Tensor(b).realize(), a.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    found = {
        "exp": (x.exp(), np.exp(wide)), "log": (x.log(), np.log(wide)),
        "sqrt": (x.sqrt(), np.sqrt(wide)), "sin": (x.sin(), np.sin(wide)),
        "pow": (x**y, wide**b), "divide": (x / y, wide / b), "tanh": (x.tanh(), np.tanh(wide)),
        "maximum": (x.maximum(y), np.maximum(a, b)), "compare": (x < y, a < b),
        "softmax": (x.softmax(axis=1), powers / powers.sum(axis=1, keepdims=True)),
        "mean": (x.mean(axis=0), wide.mean(axis=0)),
        "var": (x.var(axis=1), wide.var(axis=1, ddof=1)),
        "prod": (x.prod(axis=1), wide.prod(axis=1)), "argmax": (x.argmax(axis=1), a.argmax(axis=1)),
        "transpose": (x.T.contiguous(), a.T), "flip": (x.flip(0), a[::-1]),
        "pad": (x.pad(((1, 2), (0, 3))), np.pad(a, ((1, 2), (0, 3)))),
        "stack": (Tensor.stack(x, y, dim=1), np.stack([a, b], axis=1)),
        "slice": (x[2:9:3, 4:], a[2:9:3, 4:]), "triu": (x.triu(), np.triu(a)),
        "einsum": (Tensor.einsum("ij,kj->ik", x, y), wide @ b.T),
        "pool": (x.reshape(1, 1, 12, 20).max_pool2d(2)[0, 0],
                 a.reshape(6, 2, 10, 2).max(axis=(1, 3))),
    }  # fmt: skip
    (gradient,) = (x * x * y).sum().gradient(x)
    found["gradient"] = gradient, 2 * wide * b

    for name, (value, expected) in found.items():
        np.testing.assert_allclose(value.numpy(), expected, rtol=2e-5, err_msg=name)
