"""Scalars in, scalars out; arrays in, arrays out: what all the formulas share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError

FloatLike = float | npt.ArrayLike
Numbers = Any  # a Python number for scalar input, an array otherwise


def numbers(name: str, value: FloatLike, low: float, high: float = np.inf) -> npt.NDArray[Any]:
    """`value` as a float array, checked to lie in [low, high]."""
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {value!r} is not a number or an array of numbers") from None
    if array.size == 0 or not bool(((array >= low) & (array <= high)).all()):
        raise InputError(f"{name} = {value!r} is outside {low:g} to {high:g}")
    return array


def integers(name: str, value: npt.ArrayLike, low: int | None = None) -> npt.NDArray[np.int64]:
    """`value` as an int64 array, checked to be whole numbers not below `low`."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or array.size == 0:
        raise InputError(f"{name} = {value!r} is not an integer or an array of integers")
    if low is not None and int(array.min()) < low:
        raise InputError(f"{name} = {value!r} is less than {low}")
    return array.astype(np.int64)


def plain(value: npt.NDArray[Any] | np.generic | float) -> Numbers:
    """A Python number for a 0-d result, the array otherwise."""
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array
