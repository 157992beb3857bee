"""Streams, events and graphs of `torch.cuda` with Triton's kernels."""

from __future__ import annotations

from typing import Any

import pytest

from warplens import WarplensError

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if torch.version.cuda is not None:
    pytest.skip("PyTorch's build for GPUs", allow_module_level=True)
pytestmark = pytest.mark.long


@pytest.fixture
def add(gpu: Any) -> Any:
    """A sum of 64 numbers."""
    from tests.frontends import triton_kernels

    return lambda x, y, out: triton_kernels.add[(1,)](x, y, out, 64, BLOCK=64)


def test_a_block_runs_in_its_stream(add: Any) -> None:
    """Kernels go to the current stream, whose events have a time apart from other streams'."""
    x, out = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
    stream = torch.cuda.Stream()
    begin, end, other = (torch.cuda.Event(enable_timing=True) for _ in range(3))
    stream.wait_stream(torch.cuda.current_stream())
    begin.record(stream)
    other.record()
    with torch.cuda.stream(stream):
        inside = torch.cuda.current_stream()
        add(x, x, out)
        end.record()
    torch.cuda.current_stream().wait_stream(stream)
    after = torch.cuda.current_stream().record_event(torch.cuda.Event(enable_timing=True))

    assert inside == stream != torch.cuda.current_stream()
    assert stream.cuda_stream != 0 == torch.cuda.current_stream().cuda_stream
    assert out.tolist() == [2] * 64
    assert begin.elapsed_time(end) > 0
    assert other.elapsed_time(after) >= begin.elapsed_time(end)


def test_a_graph_is_replayed(add: Any) -> None:
    """A capture runs nothing; replays run its kernels on what the tensors hold by then."""
    x, out, last = (torch.zeros(64, device="cuda") for _ in range(3))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        add(x, x, out)
        add(out, x, last)
    before = last.tolist()
    seen = []
    for _ in range(2):
        x += 1
        graph.replay()
        seen.append(last.tolist())

    assert before == [0] * 64
    assert seen == [[3] * 64, [6] * 64]


def test_a_graph_takes_no_work_of_pytorch(add: Any) -> None:
    """PyTorch's own operations, which replays would leave out, are refused in a capture."""
    x = torch.zeros(64, device="cuda")
    first, second = (torch.cuda.graph(torch.cuda.CUDAGraph()) for _ in range(2))
    with pytest.raises(WarplensError, match="mul in a CUDA graph"), first:
        add(x, 2 * x, x)
    with pytest.raises(WarplensError, match="add_"), second:
        x.add_(1)
    add(x, x, x)

    assert not x.any()
