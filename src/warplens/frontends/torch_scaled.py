"""Products of short floats with block scales, which PyTorch has on GPUs only (there cuBLAS's).

`torch._scaled_mm` multiplies 4-bit floats with a scale for each 16 (E4M3) or 32 of them (E8M0) and
8-bit floats with one for each 32, summed here in double precision and rounded once. Scales lie in
tiles of 128 rows by 4, in which rows 32 apart stand side by side.
"""

from __future__ import annotations

from typing import Any

from warplens.errors import Unsupported

_HALVES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)  # E2M1 without its sign


def scaled_mm(
    torch: Any, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """One product: by blocks here, other scalings as PyTorch's CPU computes them."""
    names = ("self", "mat2", "scale_a", "scale_b", "bias", "scale_result", "out_dtype")
    given: dict[str, Any] = dict(zip(names, arguments, strict=False)) | options
    a: Any = given.get("self", given.get("input"))
    b = given["mat2"]
    block = _block(torch, a, given["scale_a"])
    if not block or a.dtype != b.dtype:
        return function(*arguments, **options)
    if given.get("scale_result") is not None or given.get("out_dtype") is None:
        raise Unsupported("torch._scaled_mm by blocks with a scaled result or without out_dtype")
    left = _scaled(torch, a, given["scale_a"], block)
    right = _scaled(torch, b.T, given["scale_b"], block)
    total = left @ right.T
    if given.get("bias") is not None:
        total += given["bias"].double()
    return total.to(given["out_dtype"])


def _block(torch: Any, tensor: Any, scale: Any) -> int:
    """How many numbers share a scale, or 0."""
    is_short = tensor.dtype == torch.float4_e2m1fn_x2
    if scale.dtype == torch.float8_e8m0fnu:
        return 32
    return 16 if is_short and scale.dtype == torch.float8_e4m3fn else 0


def _scaled(torch: Any, tensor: Any, scale: Any, block: int) -> Any:
    """Rows of doubles, each times its scale."""
    numbers = _numbers(torch, tensor)
    rows, columns = numbers.shape
    high, wide = -(-rows // 128), -(-columns // block // 4)
    if scale.numel() != 512 * high * wide:
        raise ValueError(
            f"Invalid scaling configuration: {512 * high * wide} scales are needed for {rows} rows "
            f"of {columns}, got {scale.numel()}"
        )
    tiles = scale.reshape(high, wide, 32, 4, 4).permute(0, 3, 2, 1, 4)
    spread = tiles.reshape(128 * high, 4 * wide)[:rows].to(torch.float32).double()
    return numbers * spread.repeat_interleave(block, dim=1)[:, :columns]


def _numbers(torch: Any, tensor: Any) -> Any:
    if tensor.dtype != torch.float4_e2m1fn_x2:
        return tensor.to(torch.float32).double()
    table = torch.tensor([*_HALVES, *(-x for x in _HALVES)], dtype=torch.float64)
    packed = tensor.view(torch.uint8).int()
    pairs = torch.stack((packed & 15, packed >> 4), dim=-1)  # the lower half comes first
    return table[pairs.flatten(-2)]
