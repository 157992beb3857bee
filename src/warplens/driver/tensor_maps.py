"""Tensor maps as programs ask the driver for them; what comes out is `session.tensor_map`'s."""

from __future__ import annotations

from collections.abc import Sequence

from warplens.driver.status import DriverError, Status
from warplens.lift.layout import MAP_TYPES
from warplens.session.tensor_map import map_bytes

_ELEMENT_BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2)  # of MAP_TYPES, whose order is the driver's
_PITCHES = (0, 32, 64, 128)
_FLOATS = frozenset({"f16", "f32", "f64", "bf16"})


def encoded(
    *, kind: int, address: int, sizes: Sequence[int], strides: Sequence[int], box: Sequence[int],
    steps: Sequence[int], interleave: int, swizzle: int, fill: int,
) -> bytes:  # fmt: skip
    """The map's 128 bytes, the innermost dimension first.

    Raises:
        DriverError: what the driver refuses too, or a layout that is not served.
    """
    if kind >= len(MAP_TYPES) or interleave or swizzle >= len(_PITCHES):
        raise DriverError(
            Status.CUDA_ERROR_NOT_SUPPORTED,
            f"tensor maps of element type {kind}, interleave {interleave}, swizzle {swizzle}",
        )
    element, pitch, name = _ELEMENT_BYTES[kind], _PITCHES[swizzle], MAP_TYPES[kind]
    rules = {
        f"rank {len(sizes)}": 1 <= len(sizes) <= 5,
        f"address {address:#x}": address % 16 == 0,
        f"sizes {sizes}": all(1 <= size <= 1 << 31 for size in sizes),
        f"strides {strides}": all(not n % 16 and n < 1 << 40 for n in strides),
        f"box {box}": all(1 <= size <= 256 for size in box),
        f"steps {steps}": all(1 <= step <= 8 for step in steps),
        f"{box[0] * element} bytes along the innermost axis": box[0] * element % 16 == 0,
        f"swizzle {pitch} of {box[0] * element} bytes": not pitch or box[0] * element <= pitch,
        f"fill {fill} of {name}": fill == 0 or (fill == 1 and name in _FLOATS),
    }
    for words, is_kept in rules.items():
        if not is_kept:
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"a tensor map with {words}")
    return map_bytes(
        kind=name, element=element, address=address,
        sizes=sizes, strides=strides, box=box, steps=steps,
        pitch=pitch, fills_nan=bool(fill),
    )  # fmt: skip
