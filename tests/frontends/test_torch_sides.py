"""PyTorch's CPU build says "cuda": tensors are on one side or the other, as with a GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warplens

torch = pytest.importorskip("torch")
if torch.version.cuda is not None:
    pytest.skip("PyTorch's build for GPUs", allow_module_level=True)
pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def in_place(gpu: Any) -> None:
    """The simulated GPU, for every test."""


def test_where_tensors_are() -> None:
    """A device argument decides, else the tensors that a function is given."""
    x, c = torch.ones(2, 3, device="cuda"), torch.ones(2, 3)
    on_gpu = [
        x, x.T, x[1], x + 1, torch.empty_like(x), x.new_zeros(3), x.max(dim=1).values, c.cuda(),
        c.to(0), c.to("cuda:0", torch.int32), c.to(x), torch.as_tensor(c, device=x.device),
        torch.tensor([1], device=torch.device("cuda")), torch.nn.Linear(3, 2).to("cuda").weight,
        x + torch.tensor(1.0), torch.empty(0, device="cuda"),
    ]  # fmt: skip
    on_host = [c, c.half(), x.cpu(), x.to("cpu"), x.to(c), torch.zeros_like(x, device="cpu"),
               torch.from_numpy(np.ones(3)), c.clone().copy_(x), c.pin_memory()]  # fmt: skip

    assert all(one.device == torch.device("cuda", 0) and one.is_cuda for one in on_gpu)
    assert all(one.device.type == "cpu" and not one.is_cuda for one in on_host)
    assert (x.get_device(), c.get_device()) == (0, -1)
    assert (x.type(), str(x[0])) == (
        "torch.cuda.FloatTensor", "tensor([1., 1., 1.], device='cuda:0')"
    )  # fmt: skip


def test_moving_copies() -> None:
    """What is changed on one side stays as it was on the other."""
    host, array = torch.zeros(3), np.zeros(3)
    moved = [host.cuda(), host.to("cuda"), torch.as_tensor(array, device="cuda")]
    for one in moved:
        one += 1
    back = moved[0].cpu()
    back += 1

    assert moved[0].tolist() == [1, 1, 1] == moved[2].tolist()
    assert not host.any() and not array.any()
    assert moved[0].cuda() is moved[0]


def test_addresses() -> None:
    """A CPU tensor's address is the host's own, that of one on "cuda" the GPU's in every thread."""
    host, x = torch.arange(6.0), torch.arange(6.0, device="cuda")
    pinned, found = host.pin_memory(), list[int]()
    thread = threading.Thread(target=lambda: found.append(x[1:].data_ptr()))
    thread.start()
    thread.join()

    assert host[2:].data_ptr() == host.numpy().ctypes.data + 8
    assert pinned.data_ptr() == pinned.numpy().ctypes.data
    assert pinned.is_pinned() and not host.is_pinned()
    assert found == [x.data_ptr() + 4]
    assert x.__cuda_array_interface__["data"] == (x.data_ptr(), False)
    assert not hasattr(host, "__cuda_array_interface__")
    kinds = [tuple(map(int, one.__dlpack_device__())) for one in (host, x, pinned)]
    assert kinds == [(1, 0), (2, 0), (3, 0)]
    assert np.from_dlpack(host).ctypes.data == host.data_ptr()


@pytest.mark.parametrize(
    ("kind", "words", "call"),
    [
        (TypeError, "Tensor.cpu", lambda x, c: x.numpy()),
        (TypeError, "Tensor.cpu", lambda x, c: np.asarray(x)),
        (RuntimeError, "same device", lambda x, c: x + c),
        (RuntimeError, "same device", lambda x, c: c @ x.T),
        (RuntimeError, "same device", lambda x, c: torch.cat([x, c])),
        (AssertionError, "device", lambda x, c: torch.testing.assert_close(x, c)),
        (RuntimeError, "ordinal", lambda x, c: c.to("cuda:7")),
    ],
)
def test_refused(kind: type[Exception], words: str, call: Callable[[Any, Any], Any]) -> None:
    """What PyTorch refuses between two devices is refused."""
    with pytest.raises(kind, match=words):
        call(torch.ones(2, 2, device="cuda"), torch.ones(2, 2))


def test_gradients_stay_on_the_gpu() -> None:
    """A program's own backward is given tensors of its forward's side."""
    seen = []

    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            context.save_for_backward(x)
            return 3 * x

        @staticmethod
        def backward(context: Any, above: Any) -> Any:
            (x,) = context.saved_tensors
            seen.extend([above, x, torch.empty_like(above), torch.ones(2, device=above.device)])
            return 3 * above

    for device in ("cuda", "cpu"):
        x = torch.ones(3, device=device, requires_grad=True)
        Tripled.apply(x).sum().backward()
        seen.append(x.grad)

        assert all(one.device.type == device for one in seen)
        assert x.grad.tolist() == [3, 3, 3]
        seen.clear()


def test_kernels_do_not_reach_the_host(gpu: Any) -> None:
    """Triton refuses a CPU tensor; a pinned one is used in place."""
    triton = pytest.importorskip("triton")
    from tests.frontends import triton_kernels

    x, host = torch.ones(64, device="cuda"), torch.zeros(64)
    pinned = host.pin_memory()
    triton_kernels.add[(1,)](x, x, pinned, 64, BLOCK=64)
    with pytest.raises(ValueError, match="cpu tensor"):
        triton_kernels.add[(1,)](x, x, host, 64, BLOCK=64)

    assert pinned.tolist() == [2] * 64
    assert triton.runtime.driver.active.get_active_torch_device() == x.device


def test_a_compiled_host_function(gpu: Any) -> None:
    """CuTe DSL's host functions read and write CPU tensors; a kernel that does so is named."""
    pytest.importorskip("cutlass")
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack, make_ptr

    from tests.frontends import cute_kernels

    def pointers(*tensors: Any) -> list[Any]:
        return [make_ptr(cutlass.Float32, one.data_ptr(), cute.AddressSpace.gmem, assumed_align=16)
                for one in tensors]  # fmt: skip

    host, x = torch.arange(1024.0), torch.ones(1024, device="cuda")
    pinned = host.pin_memory()
    cute_kernels.doubled(from_dlpack(host), 1024)
    add = cute.compile(cute_kernels.add, *pointers(x, x, x))
    with pytest.raises(warplens.MemoryFault, match=r"memory of the host that is not pinned"), gpu:
        add(*pointers(x, x, host))
    add(*pointers(x, pinned, x))

    assert torch.equal(host, 2 * torch.arange(1024.0))
    assert torch.equal(x.cpu(), pinned + 1)


def test_scales_laid_out_on_the_host(gpu: Any) -> None:
    """A compiled host function reads and writes CPU tensors by their addresses, byte by byte."""
    pytest.importorskip("cutlass")
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_ptr

    from tests.frontends import cute_kernels

    rows, tiles = torch.randint(1, 9, (256, 8)).to(torch.float8_e4m3fn), torch.zeros(2048)
    tiles = tiles.to(torch.float8_e4m3fn)
    cute_kernels.tiled(
        *(make_ptr(cutlass.Float8E4M3FN, one.data_ptr(), cute.AddressSpace.gmem, assumed_align=32)
          for one in (rows, tiles)), 2, 2,
    )  # fmt: skip
    found = tiles.view(torch.uint8).reshape(2, 2, 32, 4, 4).permute(0, 3, 2, 1, 4)

    assert torch.equal(found.reshape(256, 8), rows.view(torch.uint8))


def test_programs_for_tvm_ffi(gpu: Any) -> None:
    """CuTe DSL's programs for TVM FFI take PyTorch's tensors on "cuda"; faults are raised."""
    pytest.importorskip("tvm_ffi")
    pytest.importorskip("cutlass")
    import cutlass.cute as cute
    from cutlass.cute.runtime import from_dlpack

    from tests.frontends import cute_kernels

    x, out = torch.arange(1024.0, device="cuda"), torch.zeros(1024, device="cuda")
    shown = (from_dlpack(one, enable_tvm_ffi=True) for one in (x, out))
    more = cute.compile(cute_kernels.more, *shown, 8, options="--enable-tvm-ffi")
    more(x, out, 8)
    with pytest.raises(ValueError, match="device_type=cuda"):
        more(x, torch.zeros(1024), 8)
    with pytest.raises(warplens.MemoryFault, match="after the nearest allocation"), gpu:
        more(x, out, 1 << 20)

    assert torch.equal(out, x + 1)


def test_memory_of_other_frameworks() -> None:
    """CuPy and PyTorch see each other's arrays in place."""
    cupy = pytest.importorskip("cupy")
    x = torch.zeros(4, device="cuda")
    seen, given = cupy.asarray(x), cupy.arange(4)
    seen += 1
    taken, capsule = torch.from_dlpack(given), torch.from_dlpack(given.toDlpack())
    taken += capsule

    assert x.tolist() == [1, 1, 1, 1]
    assert given.get().tolist() == [0, 2, 4, 6]
    assert (taken.device, taken.data_ptr()) == (x.device, given.data.ptr)


def test_products_of_block_scaled_floats() -> None:
    """`torch._scaled_mm` of 4-bit floats with scales of 8 bits, as NumPy computes them."""
    random = np.random.default_rng(5)
    m, n, k = 128, 256, 128
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    packed = [random.integers(0, 256, (rows, k // 2), np.uint8) for rows in (m, n)]
    numbers = [table[np.stack([one & 15, one >> 4], -1).reshape(len(one), k)] for one in packed]
    for kind, block in ((torch.float8_e4m3fn, 16), (torch.float8_e8m0fnu, 32)):
        scales = [2.0 ** random.integers(-2, 3, (rows, k // block)) for rows in (m, n)]
        a, b = (x * by.repeat(block, 1) for x, by in zip(numbers, scales, strict=True))
        exact, given = a @ b.T, []
        for one in scales:
            tiled = np.zeros((len(one) // 128, -(-one.shape[1] // 4), 32, 4, 4), np.float32)
            for (row, column), value in np.ndenumerate(one):
                at = row // 128, column // 4, row % 32, row % 128 // 32, column % 4
                tiled[at] = value
            given.append(torch.from_numpy(tiled.ravel()).to(kind).cuda())
        left, right = (torch.from_numpy(x).cuda().view(torch.float4_e2m1fn_x2) for x in packed)
        found = torch._scaled_mm(left, right.t(), *given, out_dtype=torch.float32)

        assert found.is_cuda
        assert np.array_equal(found.cpu().numpy(), exact.astype(np.float32))
