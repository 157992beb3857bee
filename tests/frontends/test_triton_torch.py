"""Triton programs with PyTorch's tensors, written for "cuda", beside PyTorch's own results."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import warplens

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def kernels(gpu: Any) -> Any:
    """The kernels, imported when the GPU is in place."""
    from tests.frontends import triton_programs

    return triton_programs


@pytest.fixture(autouse=True)
def seeded() -> None:
    """The same numbers in every run."""
    torch.manual_seed(1)


def small(*shape: int) -> Any:
    """Small integers in half precision: sums of products are exact."""
    return torch.randint(-3, 4, shape, device="cuda").to(torch.float16)


def test_autotuned_matmul(kernels: Any) -> None:
    """The fastest of three configurations by modelled time is kept; the product is exact."""
    a, b = small(100, 72), small(72, 136)
    c = torch.empty((100, 136), device="cuda", dtype=torch.float16)
    grid = lambda m: (-(-100 // m["M"]) * -(-136 // m["N"]),)  # noqa: E731
    kernels.matmul[grid](a, b, c, 100, 136, 72)
    times = {config.num_warps: found for config, found in kernels.matmul.configs_timings.items()}
    best = kernels.matmul.best_config

    assert torch.equal(c, (a.float() @ b.float()).half())
    assert len({found[0] for found in times.values()}) == 3
    assert times[best.num_warps][0] == min(found[0] for found in times.values())


def test_layer_norm(kernels: Any) -> None:
    """Rows that do not fill the block equal PyTorch's layer norm."""
    x, out = torch.randn(9, 200, device="cuda"), torch.empty(9, 200, device="cuda")
    weight, bias = torch.rand(200, device="cuda"), torch.rand(200, device="cuda")
    kernels.layer_norm[(9,)](x, out, weight, bias, 200, 1e-5, BLOCK=256)

    torch.testing.assert_close(out, torch.nn.functional.layer_norm(x, (200,), weight, bias))


def test_dropout(kernels: Any) -> None:
    """About the share is left out, the same elements for the same seed."""
    x, outs = torch.ones(2000, device="cuda"), torch.empty(2, 2000, device="cuda")
    for out in outs:
        kernels.dropout[(2,)](x, out, 2000, 0.25, 7, BLOCK=1024)

    assert torch.equal(outs[0], outs[1])
    assert sorted(set(outs[0].tolist())) == pytest.approx([0, 4 / 3])
    assert 0.2 < float((outs[0] == 0).float().mean()) < 0.3


@pytest.mark.parametrize("warps", [4, 8])
def test_attention(kernels: Any, warps: int) -> None:
    """One pass over keys and values equals PyTorch's attention within half precision."""
    q, k, v = (torch.randn(2, 128, 64, device="cuda").half() for _ in range(3))
    out = torch.empty(2, 128, 64, device="cuda")
    kernels.attention[(128 // 64, 2)](q, k, v, out, 128, 0.125, M=64, N=64, D=64, num_warps=warps)
    expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float())

    torch.testing.assert_close(out, expected, rtol=2e-3, atol=2e-3)


def test_pointers_in_tensors(kernels: Any) -> None:
    """Addresses that `data_ptr` gives lead kernels to the tensors, also from memory."""
    sizes = [32, 64, 32]
    groups = [(small(n, n), small(n, n), torch.empty(n, n, device="cuda").half()) for n in sizes]
    tables = [torch.tensor([one[i].data_ptr() for one in groups], device="cuda") for i in range(3)]
    numbers = torch.tensor(sizes, dtype=torch.int32, device="cuda")
    kernels.grouped[(3,)](*tables, numbers, 3, TILE=32)

    for a, b, c in groups:
        assert torch.equal(c, (a.float() @ b.float()).half())


def test_descriptors_of_the_host(kernels: Any, gpu: Any) -> None:
    """Tensor maps made by the host feed TMA copies and wgmma."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    if "H200" not in gpu.name:
        pytest.skip("needs compute capability 9.0")
    a, b = small(128, 128), small(64, 128)
    c = torch.empty((128, 64), device="cuda", dtype=torch.float16)
    described = (
        TensorDescriptor.from_tensor(tensor, list(box))
        for tensor, box in ((a, (64, 64)), (b, (64, 64)), (c, (64, 64)))
    )
    with gpu:
        kernels.by_descriptors[(2, 1)](*described, 128, M=64, N=64, K=64)
        opcodes = {i.opcode for i in gpu.launches[-1].execution.kernel.instructions}

    assert torch.equal(c, (a.float() @ b.float().T).half())
    assert {"UTMALDG", "UTMASTG", "HGMMA"} <= opcodes


def test_a_fault_names_line_and_tensor(kernels: Any, gpu: Any) -> None:
    """An access out of bounds raises with the Python line and the argument's name."""
    x = torch.zeros(64, dtype=torch.int32, device="cuda")
    lines, first = inspect.getsourcelines(kernels.beyond.fn)
    line = first + next(i for i, text in enumerate(lines) if "must be named" in text)
    with pytest.raises(warplens.MemoryFault) as caught:
        kernels.beyond[(1,)](x, 64, BLOCK=64)

    assert f"triton_programs.py:{line}" in str(caught.value)
    assert "tensor x (256 bytes" in str(caught.value)
    kernels.beyond[(1,)](x, 0, BLOCK=64)
    assert x.tolist() == list(range(64))


def test_several_blocks_of_a_cluster(kernels: Any) -> None:
    """A kernel compiled for clusters of two blocks gives the same product."""
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("needs compute capability 9.0")
    a, b = small(128, 64), small(64, 128)
    c = torch.empty((128, 128), device="cuda", dtype=torch.float16)
    kernels.matmul.fn[(1,)](a, b, c, 128, 128, 64, M=128, N=128, K=32, num_ctas=2)

    assert torch.equal(c, (a.float() @ b.float()).half())


def test_table_of_configurations(kernels: Any, tmp_path: Any) -> None:
    """Configurations on two GPUs, each with time, occupancy and limiter; two are compared."""
    from warplens.cli.main import main
    from warplens.frontends.triton_configurations import configurations

    a, b = small(128, 128), small(128, 128)
    c = torch.zeros((128, 128), device="cuda", dtype=torch.float16)
    grid = lambda m: (-(-128 // m["M"]) * -(-128 // m["N"]),)  # noqa: E731
    found = configurations(
        kernels.matmul, a, b, c, 128, 128, 128, grid=grid, gpus=["RTX 4090", "A100"]
    )
    rows = {(row.gpu, row.configuration): row for row in found.rows}
    best, worst = found.best("RTX 4090"), found.rows[2]
    for name, row in (("best", best), ("worst", worst)):
        assert row.launch is not None
        row.launch.save(str(tmp_path / name))

    assert len(rows) == 6
    assert all(row.nanoseconds > 0 and row.registers > 0 and row.limiter for row in found.rows)
    assert best.nanoseconds == min(row.nanoseconds for row in found.rows[:3])
    assert "num_warps: 8" in str(found)
    assert not c.any()
    names = [str(next(tmp_path.glob(f"{name}*"))) for name in ("best", "worst")]
    assert main(["compare", *names]) == 0


def test_tensors_leave_the_gpu_with_their_memory(kernels: Any) -> None:
    """A tensor whose storage is gone is no longer mapped."""
    from warplens.frontends.triton_arguments import LASTING

    before = len(LASTING.addresses)
    tensors = [torch.zeros(64, device="cuda") for _ in range(5)]
    for tensor in tensors:
        tensor.data_ptr()
    during = len(LASTING.addresses)
    del tensor
    tensors.clear()

    assert during == before + 5
    assert len(LASTING.addresses) == before
