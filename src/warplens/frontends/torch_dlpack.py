"""PyTorch's CPU tensors by DLPack: the simulated GPU sees their memory in place.

A capsule says that its memory is the GPU's, and gives the address at which kernels see it.
"""

from __future__ import annotations

import ctypes
from typing import Any

from warplens.frontends.frontend import GiveDriver
from warplens.frontends.triton_arguments import LASTING

_HOST, _CUDA = (1, 0), (2, 0)  # kDLCPU; kDLCUDA, the first GPU
_DATA = {b"dltensor": 0, b"dltensor_versioned": 32}  # where a capsule's structure has the address
_SHORTCUT = "__dlpack_c_exchange_api__"  # past the methods


def put_in_place(torch: Any, give_driver: GiveDriver) -> None:
    """Lets tensors be handed to frameworks that want a GPU's."""
    tensor, compiled = torch.Tensor, torch._C
    method, function = tensor.__dlpack__, compiled._to_dlpack

    def shown(tensor: Any, made: Any) -> Any:
        driver = give_driver()
        if not driver.stack:  # PyTorch's first use of a GPU makes its context current
            driver.stack.append(driver.primary(driver.gpus[0]))
        _show(made, LASTING.address(driver, tensor))
        return made

    def capsule(self: Any, *, dl_device: Any = None, **options: Any) -> Any:
        with compiled.DisableTorchFunction():
            if dl_device == _HOST:
                return function(self)
            options.pop("stream", None)
            return shown(self, method(self, **options))

    def of_compiled(tensor: Any, *rest: Any, **options: Any) -> Any:
        with compiled.DisableTorchFunction():
            return shown(tensor, function(tensor, *rest, **options))

    tensor.__dlpack__, tensor.__dlpack_device__ = capsule, lambda self: _CUDA
    compiled._to_dlpack = of_compiled  # cuTile calls it itself
    if _SHORTCUT in vars(tensor):
        delattr(tensor, _SHORTCUT)


def _show(capsule: Any, address: int) -> None:
    interface = ctypes.pythonapi
    interface.PyCapsule_GetName.restype = ctypes.c_char_p
    interface.PyCapsule_GetPointer.restype = ctypes.c_void_p
    name = interface.PyCapsule_GetName(ctypes.py_object(capsule))
    at = interface.PyCapsule_GetPointer(ctypes.py_object(capsule), ctypes.c_char_p(name))
    at += _DATA[name]
    ctypes.c_uint64.from_address(at).value = address
    (ctypes.c_int32 * 2).from_address(at + 8)[:] = list(_CUDA)
