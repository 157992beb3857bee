"""Matrix products of a warpgroup (wgmma): operands in shared memory, asynchronous on hardware.

Four warps multiply 64 rows by N columns; warp w has rows 16 w to 16 w + 15, spread over its lanes
as D of mma.sync is. The lifter gives these roles their code (`lift/memory/wgmma_ops.py`).
"""

from __future__ import annotations

from typing import Any

from warplens.isa.lanes import Lanes, Value
from warplens.isa.table import Modifiers, op

_SIZES = range(8, 257, 8)


def _shapes(*depths: int) -> str:
    return " ".join(f"64x{n}x{k}" for n in _SIZES for k in depths)


_PRODUCT: dict[str, Any] = {
    "role": "warpgroup_product", "sig": "<-", "pipe": "tensor", "category": "misc",
    "latency": "hmma_16816",
}  # fmt: skip
_WAIT: dict[str, Any] = {
    "sig": "<-", "pipe": "cbu", "latency": "branch", "category": "misc",
}  # fmt: skip


@op("HGMMA", mods=f"SP F16 F32 BF16 TF32 {_shapes(8, 16, 32)}", **_PRODUCT)
def hgmma() -> None:
    """D = A * B + D in f32 or f16; 16 steps of k, 8 of TF32."""


@op("QGMMA", mods=f"SP F16 F32 E4M3 E5M2 {_shapes(32, 64)}", **_PRODUCT)
def qgmma() -> None:
    """D = A * B + D of 8-bit floats, in f32 or f16; 32 steps of k."""


@op("IGMMA", mods=f"SP S8 U8 SAT {_shapes(32, 64)}", **_PRODUCT)
def igmma() -> None:
    """D = A * B + D in 32-bit integers; 32 steps of k; SAT clamps the sum."""


@op("BGMMA", mods=f"AND POPC {_shapes(256)}", **_PRODUCT)
def bgmma() -> None:
    """D = D + number of ones in A and B; 256 bits of k."""


@op("WARPGROUP", role="nop", requires="ARRIVE", **_WAIT)
def warpgroup_arrive() -> None:
    """Order registers and shared memory before the products that follow (wgmma.fence)."""


@op("WARPGROUP", role="warpgroup_wait", requires="DEPBAR", mods="LE", **_WAIT)
def warpgroup_depbar() -> None:
    """Wait until at most n groups of products are under way, for all warps of the warpgroup."""


@op("USETMAXREG", sig="p? <- i", mods="TRY_ALLOC DEALLOC CTAPOOL ALLOC", pipe="cbu",
    latency="branch", category="misc")  # fmt: skip
def usetmaxreg(x: Lanes, m: Modifiers, count: int) -> Value:
    """Give registers back or ask for more (setmaxnreg): always granted, they are not short here."""
    return x.true()
