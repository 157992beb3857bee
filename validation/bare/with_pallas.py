"""JAX's CPU build: a Pallas kernel that JAX lowers to Triton's IR."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton


def add(x, y, out):
    """The sum of two blocks."""
    out[...] = x[...] + y[...]


x = jnp.arange(1024, dtype=jnp.float32)
block = pl.BlockSpec((128,), lambda i: (i,))
call = pl.pallas_call(
    add, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(8,), in_specs=[block] * 2,
    out_specs=block, compiler_params=triton.CompilerParams(num_warps=4),
)  # fmt: skip
assert (call(x, x) == 2 * x).all()
