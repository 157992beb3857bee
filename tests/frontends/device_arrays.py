"""Arrays on the simulated GPU, shown as `__cuda_array_interface__`."""

from __future__ import annotations

from typing import Any

import numpy as np
from cuda.bindings import driver


def _ok(answer: tuple[Any, ...]) -> Any:
    assert answer[0] == 0, answer
    return answer[1] if len(answer) > 1 else None


def make_current() -> None:
    """Makes the primary context of the first GPU this thread's."""
    _ok(driver.cuInit(0))
    _ok(driver.cuCtxSetCurrent(_ok(driver.cuDevicePrimaryCtxRetain(0))))


class Shown:
    """A NumPy array's copy on the device."""

    def __init__(self, array: np.ndarray) -> None:
        self.like = array
        self.address = int(_ok(driver.cuMemAlloc(array.nbytes)))
        _ok(driver.cuMemcpyHtoD(self.address, array.ctypes.data, array.nbytes))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.like.shape, "typestr": self.like.dtype.str, "version": 3,
                "data": (self.address, False), "strides": None}  # fmt: skip

    def read(self) -> np.ndarray:
        """What is there now."""
        found = np.empty_like(self.like)
        _ok(driver.cuMemcpyDtoH(found.ctypes.data, self.address, found.nbytes))
        return found
