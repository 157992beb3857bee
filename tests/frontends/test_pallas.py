"""Pallas kernels of JAX's CPU build, through Triton, beside what JAX computes itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def jax(gpu: Any) -> Any:
    """JAX, imported when the GPU is in place."""
    pytest.importorskip("triton")
    return pytest.importorskip("jax")


@pytest.fixture(scope="module")
def pl(jax: Any) -> Any:
    """Pallas."""
    return pytest.importorskip("jax.experimental.pallas")


def _call(jax: Any, pl: Any, kernel: Any, out: Any, **options: Any) -> Any:
    triton = pytest.importorskip("jax.experimental.pallas.triton")
    parameters = triton.CompilerParams(num_warps=4, num_stages=2)
    return pl.pallas_call(kernel, out_shape=out, compiler_params=parameters, **options)


def add(x: Any, y: Any, o: Any) -> None:
    """The sum of two blocks."""
    o[...] = x[...] + y[...]


def test_blocks_under_jit_and_vmap(jax: Any, pl: Any, gpu: Any) -> None:
    """A grid of blocks; the launch is reported with the kernel's name and line."""
    block = pl.BlockSpec((128,), lambda i: (i,))
    out = jax.ShapeDtypeStruct((1024,), np.float32)
    both = jax.jit(_call(jax, pl, add, out, grid=(8,), in_specs=[block] * 2, out_specs=block))
    x = np.arange(1024, dtype=np.float32)
    with gpu:
        found = np.asarray(both(x, 2 * x))
        launched = gpu.launches[-1]
        files = {file for file, _ in launched.per_line("smsp__inst_executed.sum")}
    many = jax.vmap(both)(np.stack([x, x + 1]), np.stack([x, x]))

    assert np.array_equal(found, 3 * x)
    assert (launched.function_name, launched.grid[0]) == ("add", 8)
    assert __file__ in files
    assert np.array_equal(np.asarray(many), np.stack([2 * x, 2 * x + 1]))


def test_products_and_reductions(jax: Any, pl: Any) -> None:
    """A product of halves on tensor cores, and a softmax."""
    rows, columns = pl.BlockSpec((32, 64), lambda i, j: (i, 0)), pl.BlockSpec(
        (64, 32), lambda i, j: (0, j)
    )
    out = pl.BlockSpec((32, 32), lambda i, j: (i, j))
    a, b = (np.random.default_rng(i).standard_normal((64, 64)).astype(np.float16) for i in (0, 1))

    def product(x: Any, y: Any, o: Any) -> None:
        o[...] = jax.numpy.dot(x[...], y[...], preferred_element_type=np.float32)

    def softmax(x: Any, o: Any) -> None:
        e = jax.numpy.exp(x[...] - jax.numpy.max(x[...], axis=-1, keepdims=True))
        o[...] = e / jax.numpy.sum(e, axis=-1, keepdims=True)

    found = _call(jax, pl, product, jax.ShapeDtypeStruct((64, 64), np.float32), grid=(2, 2),
                  in_specs=[rows, columns], out_specs=out)(a, b)  # fmt: skip
    row = pl.BlockSpec((1, 64), lambda i: (i, 0))
    soft = _call(jax, pl, softmax, jax.ShapeDtypeStruct((64, 64), np.float32), grid=(64,),
                 in_specs=[row], out_specs=row)(a.astype(np.float32))  # fmt: skip

    expected = a.astype(np.float32) @ b.astype(np.float32)
    assert np.allclose(np.asarray(found), expected, rtol=1e-3, atol=1e-3)
    assert np.allclose(soft, jax.nn.softmax(a.astype(np.float32)), rtol=1e-5)


def test_a_fault_names_the_line(jax: Any, pl: Any) -> None:
    """An access beyond the array is JAX's error, with the Python line in it."""
    triton = pytest.importorskip("jax.experimental.pallas.triton")

    def beyond(x: Any, o: Any) -> None:
        i = jax.numpy.arange(1024)
        o[...] = triton.load(x.at[i + 4096])  # must be named

    text = Path(__file__).read_text().splitlines()
    line = next(i for i, one in enumerate(text, 1) if "# must be " + "named" in one)
    with pytest.raises(Exception, match=rf"test_pallas\.py:{line}"):
        call = _call(jax, pl, beyond, jax.ShapeDtypeStruct((1024,), np.float32))
        jax.block_until_ready(call(np.zeros(1024, np.float32)))


def test_other_ways_are_refused(jax: Any, pl: Any) -> None:
    """Interpreted kernels stay JAX's own; what asks for another compiler says so."""
    out = jax.ShapeDtypeStruct((8,), np.float32)
    x = np.arange(8, dtype=np.float32)
    assert np.array_equal(pl.pallas_call(add, out_shape=out, interpret=True)(x, x), 2 * x)
    tpu = pytest.importorskip("jax.experimental.pallas.tpu")
    with pytest.raises(Exception, match=r"CompilerParams(?s:.)*Kernels run through Triton"):
        pl.pallas_call(add, out_shape=out, compiler_params=tpu.CompilerParams())(x, x)
