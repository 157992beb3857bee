"""Host arrays that count as not written until somebody writes them: what `cudaMalloc` gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_WRITERS = frozenset({np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal})


class UnwrittenArray(np.ndarray[Any, np.dtype[Any]]):
    """A NumPy array that remembers which of its bytes have been written, its views included.

    Assignments, `fill`, operations with `out=` and kernels under initcheck write; what else reaches
    the bytes (`memoryview`, other libraries) does not count.
    """

    _root: tuple[int, npt.NDArray[np.uint8]] | None

    def __array_finalize__(self, obj: Any) -> None:
        self._root = getattr(obj, "_root", None)

    def _flags(self) -> npt.NDArray[np.uint8] | None:
        """One flag per byte of this view, in the last dimension; None for arrays of their own."""
        root = getattr(self, "_root", None)
        if root is None or self.size == 0:
            return None
        first, flags = root
        offset = self.__array_interface__["data"][0] - first
        if not 0 <= offset < len(flags):
            self._root = None  # a copy
            return None
        size = self.dtype.itemsize
        return np.ndarray(
            (*self.shape, size), np.uint8, flags.data, offset, (*self.strides, 1)
        )  # fmt: skip

    def _note(self, key: Any) -> None:
        flags = self._flags()
        if flags is not None:
            flags[key] = 1

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._note(key)

    def fill(self, value: Any) -> None:
        """Writes one value everywhere."""
        super().fill(value)
        self._note(...)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [_plain(one) for one in inputs]
        outputs = kwargs.get("out", ())
        if outputs:
            kwargs["out"] = tuple(_plain(one) for one in outputs)
        result = getattr(ufunc, method)(*plain, **kwargs)
        for one in (*outputs, *(inputs[:1] if method == "at" else ())):
            if isinstance(one, UnwrittenArray):
                one._note(...)
        return outputs[0] if len(outputs) == 1 else result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__array_function__(func, types, args, kwargs)
        if func in _WRITERS and isinstance(args[0], UnwrittenArray):
            args[0]._note(...)
        return result

    def flat_flags(self) -> npt.NDArray[np.uint8] | None:
        """The flags byte by byte, in place, of a contiguous array."""
        flags = self._flags()
        if flags is None or not (self.flags.c_contiguous or self.flags.f_contiguous):
            return None
        assert self._root is not None
        offset = self.__array_interface__["data"][0] - self._root[0]
        return self._root[1][offset : offset + self.nbytes]


def _plain(array: Any) -> Any:
    return array.view(np.ndarray) if isinstance(array, UnwrittenArray) else array


def uninitialized(
    shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32
) -> UnwrittenArray:
    """A host array that initcheck takes as not written, as memory from `cudaMalloc` is.

    What the script assigns counts as written, and after a launch under initcheck what the kernel
    has written. Its bytes are zero, on which nothing should rely.

    >>> a = uninitialized(4, np.int32)
    >>> a[:2] = 7
    >>> a.flat_flags().tolist()
    [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    """
    array = np.zeros(shape, dtype).view(UnwrittenArray)
    array._root = (array.__array_interface__["data"][0], np.zeros(array.nbytes, np.uint8))
    return array
