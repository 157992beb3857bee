"""PyTorch's tensors by DLPack: the simulated GPU sees the memory of those on "cuda" in place.

Their capsules say that the memory is the GPU's, and give the address at which kernels see it; those
of other tensors are PyTorch's own. Memory of the simulated GPU that another framework hands over
becomes a tensor on "cuda".
"""

from __future__ import annotations

import ctypes
import importlib
import os
from typing import Any

from warplens.driver.memory import PINNED
from warplens.frontends.frontend import GiveDriver
from warplens.frontends.torch_memory import LASTING, is_on_gpu, place, put_on_gpu

_HOST, _CUDA, _PINNED = (1, 0), (2, 0), (3, 0)  # kDLCPU; kDLCUDA, the first GPU; kDLCUDAHost
_DATA = {b"dltensor": 0, b"dltensor_versioned": 32}  # where a capsule's structure has the address
_SHORTCUT = "__dlpack_c_exchange_api__"  # past the methods


def put_in_place(torch: Any, give_driver: GiveDriver) -> None:
    """Lets tensors be handed to frameworks that want a GPU's, and taken from them."""
    # TVM FFI would build a shortcut of its own past the methods.
    os.environ.setdefault("TVM_FFI_DISABLE_TORCH_C_DLPACK", "1")
    tensor, compiled = torch.Tensor, torch._C
    method, taking = tensor.__dlpack__, torch.from_dlpack

    def capsule(self: Any, *, dl_device: Any = None, copy: Any = None, **options: Any) -> Any:
        wanted = is_on_gpu(self) if dl_device is None else tuple(dl_device) == _CUDA
        if wanted != is_on_gpu(self) and copy is False:
            raise ValueError("cannot move a tensor to another device without a copy")
        options.pop("stream", None)
        with compiled.DisableTorchFunction():
            source = self.clone() if wanted != is_on_gpu(self) or copy else self
            return method(put_on_gpu(source) if wanted else source, **options)

    def device(self: Any) -> tuple[int, int]:
        return {PINNED: _PINNED, "": _HOST}.get(place(self), _CUDA)

    def shown(name: str) -> Any:
        function = getattr(compiled, name)

        def made(tensor: Any, *rest: Any, **options: Any) -> Any:
            with compiled.DisableTorchFunction():
                capsule = function(tensor, *rest, **options)
                if is_on_gpu(tensor):
                    driver = give_driver()
                    if not driver.stack:  # PyTorch's first use of a GPU makes its context current
                        driver.stack.append(driver.primary(driver.gpus[0]))
                    _show(capsule, LASTING.address(driver, tensor), _CUDA)
            return capsule

        return made

    def taken(source: Any, **options: Any) -> Any:
        if isinstance(source, tensor) and is_on_gpu(source) and not options:
            return source.detach()
        is_capsule = type(source).__name__ == "PyCapsule"
        kind = _fields(source)[1] if is_capsule else getattr(source, "__dlpack_device__", tuple)()
        if tuple(kind)[:1] != _CUDA[:1]:
            return taking(source, **options)
        given = source if is_capsule else source.__dlpack__()
        return put_on_gpu(taking(_on_host(give_driver(), given), **options))

    tensor.__dlpack__, tensor.__dlpack_device__ = capsule, device
    for name in ("_to_dlpack", "_to_dlpack_versioned"):
        if hasattr(compiled, name):
            setattr(compiled, name, shown(name))  # cuTile calls one itself
    module: Any = importlib.import_module("torch.utils.dlpack")
    torch.to_dlpack = module.to_dlpack = compiled._to_dlpack
    torch.from_dlpack = module.from_dlpack = taken
    if _SHORTCUT in vars(tensor):
        delattr(tensor, _SHORTCUT)


def _fields(capsule: Any) -> Any:
    """Where the address and the device stand in a capsule."""
    interface = ctypes.pythonapi
    interface.PyCapsule_GetName.restype = ctypes.c_char_p
    interface.PyCapsule_GetPointer.restype = ctypes.c_void_p
    name = interface.PyCapsule_GetName(ctypes.py_object(capsule))
    at = interface.PyCapsule_GetPointer(ctypes.py_object(capsule), ctypes.c_char_p(name))
    at += _DATA[name]
    return ctypes.c_uint64.from_address(at), (ctypes.c_int32 * 2).from_address(at + 8)


def _show(capsule: Any, address: int, device: tuple[int, int]) -> None:
    data, kind = _fields(capsule)
    data.value = address
    kind[:] = list(device)


def _on_host(driver: Any, capsule: Any) -> Any:
    """A capsule of the GPU's memory that gives the host's address of the same bytes."""
    data, _ = _fields(capsule)
    segment = driver.memory.find(data.value) if data.value else None
    address = data.value if segment is None else segment.host + data.value - segment.base
    _show(capsule, address, _HOST)
    return capsule
