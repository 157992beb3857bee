"""Triton's kernels run unmodified on NumPy arrays; times and lines come with them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def kernels(gpu: Any) -> Any:
    """The kernels of a file of their own, imported when the GPU is in place."""
    from tests.frontends import triton_kernels

    return triton_kernels


def test_vector_add(kernels: Any) -> None:
    """A masked addition equals NumPy's; its lines are the Python file's."""
    from warplens.frontends.triton import array

    x = np.random.default_rng(1).random(10_000).astype(np.float32)
    y, out = x[::-1].copy(), np.zeros_like(x)
    with warplens.cuda() as gpu:
        kernels.add[(10,)](array(x), array(y), array(out), 10_000, BLOCK=1024)
        lines = gpu.launches[-1].per_line("smsp__inst_executed.sum")

    assert np.array_equal(out, x + y)
    assert {file for file, _ in lines} == {kernels.__file__}
    text, first = inspect.getsourcelines(kernels.add.fn)
    assert {line for _, line in lines} <= set(range(first, first + len(text)))


def test_softmax(kernels: Any) -> None:
    """Row by row, within four units in the last place of double precision rounded."""
    from warplens.frontends.triton import array

    x = np.random.default_rng(2).standard_normal((17, 200)).astype(np.float32)
    out = np.zeros_like(x)
    with warplens.cuda() as gpu:
        kernels.softmax[(17,)](array(x), array(out), 200, BLOCK=256)
        source = gpu.launches[-1].result().source
    shifted = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))

    np.testing.assert_allclose(out, shifted / shifted.sum(axis=1, keepdims=True), rtol=2e-6)
    library = {calls[-1] for file, calls in zip(source.files, source.callers, strict=True)
               if file and file.endswith("standard.py")}  # fmt: skip
    lines = Path(kernels.__file__).read_text().splitlines()
    assert {file for file, _ in library} == {kernels.__file__}
    assert all("tl.max" in lines[at - 1] or "tl.sum" in lines[at - 1] for _, at in library)
    assert library


def test_matmul(kernels: Any) -> None:
    """A product on tensor cores; small integers make it exact."""
    from warplens.frontends.triton import array

    random = np.random.default_rng(3)
    a = random.integers(-4, 5, (128, 64)).astype(np.float16)
    b = random.integers(-4, 5, (64, 128)).astype(np.float16)
    c = np.zeros((128, 128), np.float32)
    kernels.matmul[(2, 2)](array(a), array(b), array(c), 128, 64, M=64, N=64, K=32)

    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_do_bench_is_modelled(kernels: Any) -> None:
    """A benchmark gives the launch's modelled time."""
    import triton

    from warplens.frontends.triton import array

    x = np.ones(4096, np.float32)
    y = array(x)
    with warplens.cuda() as gpu:
        milliseconds = triton.testing.do_bench(
            lambda: kernels.add[(4,)](y, y, y, 4096, BLOCK=1024)
        )
        nanoseconds = gpu.launches[-1].metric("gpu__time_duration.sum")

    assert milliseconds == pytest.approx(nanoseconds / 1e6)


def test_autotune_takes_the_quickest_by_modelled_time(kernels: Any) -> None:
    """Each configuration's time is that of its launch; the one with the least is kept and run."""
    import triton

    from warplens.frontends.triton import array
    from warplens.frontends.triton_configurations import configurations

    configs = [
        triton.Config({"M": m, "N": n, "K": 32}, num_warps=warps)
        for m, n, warps in ((16, 16, 1), (64, 64, 4), (128, 64, 8))
    ]
    tuned = triton.autotune(configs=configs, key=["columns", "depth"])(kernels.matmul)
    random = np.random.default_rng(4)
    a, b = (random.integers(-4, 5, (256, 256)).astype(np.float16) for _ in range(2))
    c, grid = np.zeros((256, 256), np.float32), lambda m: (256 // m["M"], 256 // m["N"])
    arguments = (array(a), array(b), array(c), 256, 256)
    tuned[grid](*arguments)
    found = {str(config): 1e6 * times[0] for config, times in tuned.configs_timings.items()}
    launched = {}
    for config in configs:
        with warplens.cuda() as gpu:
            kernels.matmul[grid(config.kwargs)](*arguments, **config.all_kwargs())
            launched[str(config)] = gpu.launches[-1].metric("gpu__time_duration.sum")

    assert found == pytest.approx(launched, rel=0.02)
    assert str(tuned.best_config) == min(launched, key=launched.__getitem__)
    assert max(launched.values()) > 1.3 * min(launched.values())
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    table = configurations(tuned, *arguments, grid=grid, gpus=["H200", "T4"])
    assert {row.gpu for row in table.rows} == {"H200 SXM", "T4"}
    assert len(table.rows) == 6
