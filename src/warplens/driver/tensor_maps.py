"""Tensor maps as programs ask the driver for them; what comes out is `session.tensor_map`'s."""

from __future__ import annotations

from collections.abc import Sequence

from warplens.driver.status import DriverError, Status
from warplens.lift.layout import MAP_IM2COL, MAP_TYPES
from warplens.session.tensor_map import map_bytes

# of MAP_TYPES, whose order is the driver's
_ELEMENT_BITS = (8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4)
_PITCHES = (0, 32, 64, 128)
_FLOATS = frozenset({"f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz"})


def _rules(
    *, name: str, bits: int, address: int, sizes: Sequence[int], strides: Sequence[int],
    steps: Sequence[int], inner: int, pitch: int, fill: int, interleave: int,
) -> dict[str, bool]:  # fmt: skip
    """What must hold of every map, by the words that name it."""
    unit, inner_bytes = 16 * max(1, interleave), inner * bits / 8
    return {
        f"rank {len(sizes)}": (3 if interleave else 1) <= len(sizes) <= 5,
        f"interleave {interleave}": interleave <= 2,
        f"address {address:#x}": address % unit == 0,
        f"sizes {sizes}": all(1 <= size <= 1 << 31 for size in sizes),
        f"strides {strides}": all(not n % unit and n < 1 << 40 for n in strides),
        f"steps {steps}": all(1 <= step <= 8 for step in steps),
        f"{sizes[0]} elements of {bits} bits": sizes[0] * bits % 8 == 0,
        f"{inner_bytes:g} bytes along the innermost axis": inner_bytes % 16 == 0,
        f"swizzle {pitch} of {inner_bytes:g} bytes": (
            not pitch or interleave > 0 or inner_bytes <= pitch
        ),
        f"fill {fill} of {name}": fill == 0 or (fill == 1 and name in _FLOATS),
    }


def _kind(kind: int, swizzle: int) -> tuple[str, int, int]:
    """Name and bits of an element type, and what a swizzle spans."""
    if kind >= len(MAP_TYPES) or swizzle >= len(_PITCHES):
        raise DriverError(
            Status.CUDA_ERROR_NOT_SUPPORTED,
            f"tensor maps of element type {kind}, swizzle {swizzle}",
        )
    return MAP_TYPES[kind], _ELEMENT_BITS[kind], _PITCHES[swizzle]


def _check(rules: dict[str, bool]) -> None:
    for words, is_kept in rules.items():
        if not is_kept:
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"a tensor map with {words}")


def encoded(
    *, kind: int, address: int, sizes: Sequence[int], strides: Sequence[int], box: Sequence[int],
    steps: Sequence[int], interleave: int, swizzle: int, fill: int,
) -> bytes:  # fmt: skip
    """The map's 128 bytes, the innermost dimension first.

    Raises:
        DriverError: what the driver refuses too, or a layout that is not served.
    """
    name, bits, pitch = _kind(kind, swizzle)
    _check(_rules(
        name=name, bits=bits, address=address, sizes=sizes, strides=strides, steps=steps,
        inner=box[0], pitch=pitch, fill=fill, interleave=interleave,
    ) | {f"box {box}": all(1 <= size <= 256 for size in box)})  # fmt: skip
    return map_bytes(
        kind=name, element=bits // 8, address=address,
        sizes=sizes, strides=strides, box=box, steps=steps,
        pitch=pitch, fills_nan=bool(fill), slices=16 * interleave,
    )  # fmt: skip


_CORNERS = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}  # how far a corner may lie off, by rank


def encoded_im2col(
    *, kind: int, address: int, sizes: Sequence[int], strides: Sequence[int],
    lower: Sequence[int], upper: Sequence[int], channels: int, pixels: int, steps: Sequence[int],
    interleave: int, swizzle: int, fill: int,
) -> bytes:  # fmt: skip
    """As `encoded`, for copies of the channels of pixels; corners are of W, H and D."""
    name, bits, pitch = _kind(kind, swizzle)
    most = _CORNERS.get(len(sizes), 0)
    _check({f"rank {len(sizes)} by im2col": most > 0, f"{name} by im2col": bits >= 8})
    spatial = sizes[:-2] if interleave else sizes[1:-1]
    _check(_rules(
        name=name, bits=bits, address=address, sizes=sizes, strides=strides, steps=steps,
        inner=channels, pitch=pitch, fill=fill, interleave=interleave,
    ) | {
        f"corners {lower}, {upper}": all(-most <= n < most for n in (*lower, *upper)) and all(
            n + u > low for n, low, u in zip(spatial, lower, upper, strict=True)
        ),
        f"{channels} channels": 1 <= channels <= 256,
        f"{pixels} pixels": 1 <= pixels <= 1024,
    })  # fmt: skip
    corners = [(low & 0xFFFF) | (up & 0xFFFF) << 16 for low, up in zip(lower, upper, strict=True)]
    return map_bytes(
        kind=name, element=bits // 8, address=address, sizes=sizes, strides=strides,
        box=(channels, pixels, *corners), steps=steps, pitch=pitch, fills_nan=bool(fill),
        mode=MAP_IM2COL, slices=16 * interleave,
    )  # fmt: skip
