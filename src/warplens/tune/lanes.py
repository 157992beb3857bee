"""The NumPy engine as a walk needs it: fast rather than exact to the last bit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.lift.engines.numpy_lanes import NumpyLanes, NumpyValue

Doubles = npt.NDArray[np.float64]


class Lanes(NumpyLanes):
    """Remembers constants: the same ones come again and again. Singles are computed by way of
    doubles, not of fractions, which take ten thousand times as long; a multiply-add may be off by
    its last bit."""

    def __init__(self, active: npt.NDArray[np.bool_]) -> None:
        super().__init__(active)
        self._words: dict[int, NumpyValue] = {}

    def u32(self, n: int) -> NumpyValue:
        found = self._words.get(n)
        if found is None:
            found = self._words[n] = super().u32(n)
        return found

    def fadd(self, a: NumpyValue, b: NumpyValue, rounding: str = "RN") -> NumpyValue:
        if (a.type, b.type, rounding) != ("f32", "f32", "RN"):
            return super().fadd(a, b, rounding)
        return _single(_double(a) + _double(b))

    def fmul(self, a: NumpyValue, b: NumpyValue, rounding: str = "RN") -> NumpyValue:
        if (a.type, b.type, rounding) != ("f32", "f32", "RN"):
            return super().fmul(a, b, rounding)
        return _single(_double(a) * _double(b))

    def ffma(self, a: NumpyValue, b: NumpyValue, c: NumpyValue, rounding: str = "RN") -> NumpyValue:
        if (a.type, b.type, c.type, rounding) != ("f32", "f32", "f32", "RN"):
            return super().ffma(a, b, c, rounding)
        return _single(_double(a) * _double(b) + _double(c))


def _double(a: NumpyValue) -> Doubles:
    with np.errstate(all="ignore"):
        found: Doubles = a.array.astype(np.float64)
    return found


def _single(values: Doubles) -> NumpyValue:
    with np.errstate(all="ignore"):
        return NumpyValue("f32", values.astype(np.float32))
