"""Products by `tl.dot` of every type on one GPU, beside NumPy's in double precision.

    warplens run --gpu T4 triton_products.py [TYPE ...]

prints one line of JSON for each type and tile: the largest difference as a share of the element's
terms, what the type's rounding allows, and the instructions of the tensor cores.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import triton
import triton.language as tl

import warplens
from warplens.frontends.triton import array

# Rows and columns of a block's tile, its depth in bytes, and its warps.
TILES = ((16, 16, 64, 1), (64, 128, 128, 4), (128, 128, 128, 8))
# What an element of c may differ by, in parts of its terms' magnitudes together. Operands are
# exact, but for tf32's 10 bits; tensor cores cut sums, Hopper's those of 8-bit floats to 14 bits.
ROUNDING = {
    "float16": 2.0**-20, "bfloat16": 2.0**-20, "tf32": 2.0**-10, "ieee": 2.0**-20, "int8": 0.0,
    "float8e5": 2.0**-11, "float8e4nv": 2.0**-11, "float64": 2.0**-49,
}  # fmt: skip


@triton.jit
def product(
    a, b, c, columns, depth, T: tl.constexpr, S: tl.constexpr, PRECISION: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """c = a @ b; a and b hold the bits of type T."""
    a = a.to(tl.pointer_type(T), bitcast=True)
    b = b.to(tl.pointer_type(T), bitcast=True)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    across = tl.program_id(1) * N + tl.arange(0, N)
    along = tl.arange(0, K)
    total = tl.zeros((M, N), S)
    for k in range(0, depth, K):
        left = tl.load(a + rows[:, None] * depth + (k + along)[None, :])
        right = tl.load(b + (k + along)[:, None] * columns + across[None, :])
        total = tl.dot(left, right, total, input_precision=PRECISION, out_dtype=S)
    tl.store(c + rows[:, None] * columns + across[None, :], total)


def operand(name: str, random: np.random.Generator, *shape: int) -> tuple[Any, Any]:
    """Random values of a type: their bits, and the values in double precision."""
    if name == "int8":
        bits = random.integers(-128, 128, shape).astype(np.int8)
        return bits, bits.astype(np.float64)
    values = random.standard_normal(shape)
    if name.startswith("float8"):
        bits = np.arange(0x7C if name == "float8e5" else 0x7F, dtype=np.uint16)  # finite ones
        if name == "float8e5":  # the upper half of a float16
            known = (bits << 8).view(np.float16).astype(np.float64)
        else:  # a float16's exponent is 8 larger
            known = 256 * (bits << 7).view(np.float16).astype(np.float64)
        at = np.searchsorted(known, np.abs(values))
        return (at + 128 * (values < 0)).astype(np.uint8), np.copysign(known[at], values)
    if name == "bfloat16":  # the upper half of a float32
        halves = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return halves, (halves.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    stored = values.astype({"float16": np.float16, "float64": np.float64}.get(name, np.float32))
    return stored, stored.astype(np.float64)


def compared(gpu: Any, name: str, tile: tuple[int, int, int, int]) -> dict[str, Any]:
    """A product of two by two tiles, three tiles deep."""
    m, n, depth_bytes, warps = tile
    element = tl.float32 if name in ("tf32", "ieee") else getattr(tl, name)
    k = 8 * depth_bytes // element.primitive_bitwidth
    random = np.random.default_rng(5)
    (a, left), (b, right) = (operand(name, random, *s) for s in ((2 * m, 3 * k), (3 * k, 2 * n)))
    total, kind = {"int8": (tl.int32, np.int32), "float64": (tl.float64, np.float64)}.get(
        name, (tl.float32, np.float32)
    )
    c = np.zeros((2 * m, 2 * n), kind)
    with gpu:
        product[(2, 2)](
            array(a), array(b), array(c), 2 * n, 3 * k, T=element, S=total,
            PRECISION="tf32" if name == "tf32" else "ieee", M=m, N=n, K=k, num_warps=warps,
        )  # fmt: skip
        opcodes = {one.opcode for one in gpu.launches[-1].execution.kernel.instructions}
    off, terms = np.abs(c - left @ right), np.abs(left) @ np.abs(right)
    return {
        "share": float((off / terms).max()), "allowed": ROUNDING[name],
        "opcodes": sorted(one for one in opcodes if "MMA" in one),
    }  # fmt: skip


def main() -> None:
    """The named types, else every type, on every tile."""
    gpu = warplens.cuda()
    for name in sys.argv[1:] or ROUNDING:
        for tile in TILES:
            found = compared(gpu, name, tile)
            print(json.dumps({"type": name, "tile": tile} | found), flush=True)


if __name__ == "__main__":
    main()
