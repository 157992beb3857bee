"""What cuBLASLt does with a product before it is stored: bias, ReLU, GELU and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warplens.programs.libraries.arrays import DATA_TYPES, Array, itemsize, loaded, stored, written
from warplens.programs.libraries.table import NotServed
from warplens.programs.libraries.work import Call

RELU, BIAS, D_RELU, B_GRADIENT, GELU, D_GELU, AUX, A_SUMS, B_SUMS = (1 << n for n in range(1, 10))
_KNOWN = RELU | BIAS | D_RELU | B_GRADIENT | GELU | D_GELU | AUX | A_SUMS | B_SUMS
_HALF, _FLOAT, _BYTES, _BF16 = 2, 0, 3, 14
_TANH_SCALE, _CUBE = np.float32(0.7978845608), np.float32(0.044715)


def gelu(x: Array) -> Array:
    """GELU by its tanh form."""
    found: Array = 0.5 * x * (1 + np.tanh(_TANH_SCALE * (x + _CUBE * x**3)))
    return found


def d_gelu(x: Array) -> Array:
    """Its derivative."""
    t = np.tanh(_TANH_SCALE * (x + _CUBE * x**3))
    slope = 0.5 * x * (1 - t * t) * _TANH_SCALE * (1 + 3 * _CUBE * x * x)
    found: Array = 0.5 * (1 + t) + slope
    return found


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What is done, and with which arrays of which types."""

    fields: dict[str, int]
    bias_type: int
    aux_type: int

    @classmethod
    def of(cls, fields: dict[str, int], c_type: int, d_type: int, *, is_float8: bool) -> Epilogue:
        """By the fields of a product's description."""
        bias = d_type
        if is_float8 and d_type not in (_HALF, _BF16):
            bias = _HALF if c_type == _HALF else _BF16
        elif d_type == _BYTES:
            bias = _FLOAT
        bias = bias if fields["bias_type"] < 0 else fields["bias_type"]
        aux = d_type if fields["aux_type"] < 0 else fields["aux_type"]
        return cls(fields, bias, aux)

    def has(self, *flags: int) -> bool:
        """Whether one of these is done."""
        return any(self.fields["epilogue"] & flag for flag in flags)

    def check(self) -> None:
        """Refuses what is not served."""
        if self.fields["epilogue"] & ~(_KNOWN | 1):
            raise NotServed(f"epilogue {self.fields['epilogue']}")
        uses_aux = self.has(GELU, D_GELU) and self.has(AUX)
        if uses_aux and (self.aux_type not in DATA_TYPES or self.fields["aux_scale"]):
            raise NotServed(f"an auxiliary matrix of type {self.aux_type}")
        if self.has(BIAS, B_GRADIENT, A_SUMS, B_SUMS) and self.bias_type not in DATA_TYPES:
            raise NotServed(f"a bias of type {self.bias_type}")

    def after(self, call: Call, index: int, x: Array, sides: tuple[Array, Array]) -> Array:
        """What becomes of a product; `sides` are what was multiplied."""
        if self.has(BIAS):
            x = x + self._bias(call, index, x.shape[0])[:, None]
        if self.has(D_RELU):
            x = np.where(self._bits(call, index, x.shape) != 0, x, 0)
        if self.has(D_GELU):
            x = x * d_gelu(self._aux(call, index, x.shape))
        if self.has(AUX) and self.has(RELU):
            self._set_bits(call, index, x > 0)
        if self.has(AUX) and self.has(GELU):
            self._set_aux(call, index, x)
        if self.has(RELU):
            x = np.maximum(x, 0)
        if self.has(GELU):
            x = gelu(x)
        for flag, values in ((B_GRADIENT, x), (A_SUMS, sides[0]), (B_SUMS, sides[1].T)):
            if self.has(flag):
                self._set_bias(call, index, values.sum(axis=1, dtype=np.float32))
        return x

    # --- the arrays ------------------------------------------------------------------------------

    def _bias_at(self, index: int) -> tuple[int, Any]:
        dtype = DATA_TYPES[self.bias_type]
        step = self.fields["bias_stride"] * itemsize(dtype)
        return self.fields["bias"] + index * step, dtype

    def _bias(self, call: Call, index: int, n: int) -> Array:
        at, dtype = self._bias_at(index)
        return loaded(call.elements(at, n, dtype), dtype)

    def _set_bias(self, call: Call, index: int, values: Array) -> None:
        at, dtype = self._bias_at(index)
        call.elements(at, len(values), dtype)[:] = stored(values, dtype)
        written(call.program, at, len(values), dtype)

    def _aux_place(self, call: Call, index: int, shape: tuple[int, ...]) -> tuple[int, Array, Any]:
        dtype, leading = DATA_TYPES[self.aux_type], self.fields["aux_leading"]
        at = self.fields["aux"] + index * self.fields["aux_stride"] * itemsize(dtype)
        return at, call.matrix(at, shape[0], shape[1], leading, dtype), dtype

    def _aux(self, call: Call, index: int, shape: tuple[int, ...]) -> Array:
        _, place, dtype = self._aux_place(call, index, shape)
        return loaded(place, dtype)

    def _set_aux(self, call: Call, index: int, x: Array) -> None:
        at, place, dtype = self._aux_place(call, index, x.shape)
        place[:] = stored(x, dtype)
        written(call.program, at, self.fields["aux_leading"] * (x.shape[1] - 1) + x.shape[0], dtype)

    def _bit_place(self, call: Call, index: int, columns: int) -> tuple[int, Array]:
        leading = self.fields["aux_leading"] // 8
        at = self.fields["aux"] + index * self.fields["aux_stride"] // 8
        return at, call.matrix(at, leading, columns, leading, np.dtype(np.uint8))

    def _bits(self, call: Call, index: int, shape: tuple[int, ...]) -> Array:
        _, place = self._bit_place(call, index, shape[1])
        return np.unpackbits(place, axis=0, count=shape[0], bitorder="little")

    def _set_bits(self, call: Call, index: int, values: Array) -> None:
        at, place = self._bit_place(call, index, values.shape[1])
        packed = np.packbits(values, axis=0, bitorder="little")
        place[: packed.shape[0]] = packed
        written(call.program, at, place.size, np.dtype(np.uint8))
