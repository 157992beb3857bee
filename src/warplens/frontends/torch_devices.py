"""PyTorch's functions for programs that say "cuda": on which side a result is.

A mode of PyTorch's sees each call. The call is made on the CPU; what it returns is on the GPU if
its device argument says so or, without one, if a tensor that it was given is there. Functions that
move tensors copy them, as between two memories.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warplens.driver.memory import PINNED
from warplens.frontends import torch_memory, torch_streams
from warplens.frontends.frontend import GiveDriver
from warplens.frontends.torch_memory import (
    GPU,
    LASTING,
    is_on_gpu,
    place,
    put_on_gpu,
    storage,
    tensors,
)
from warplens.frontends.torch_scaled import scaled_mm

Arguments = tuple[Any, ...]
Options = dict[str, Any]
Special = Callable[[Any, Arguments, Options], Any]

# Functions whose tensors PyTorch wants on one device; a CPU tensor of no dimensions may join those
# of the first group.
_POINTWISE = (
    "add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "pow", "eq", "ne", "lt",
    "le", "gt", "ge", "maximum", "minimum",
)  # fmt: skip
_WHOLE = (
    "matmul", "__matmul__", "mm", "bmm", "mv", "dot", "addmm", "baddbmm", "cat", "stack", "equal",
    "allclose", "isclose", "linear", "layer_norm",
)  # fmt: skip
_TYPES = {
    "bool": "|b1", "uint8": "|u1", "int8": "|i1", "uint16": "<u2", "int16": "<i2",
    "uint32": "<u4", "int32": "<i4", "uint64": "<u8", "int64": "<i8", "bfloat16": "<V2",
    "float16": "<f2", "float32": "<f4", "float64": "<f8", "complex64": "<c8",
    "complex128": "<c16",
}  # fmt: skip


def side(torch: Any, value: Any) -> bool | None:
    """Whether a device is the GPU; None if the value is no device of ours."""
    if isinstance(value, bool) or not isinstance(value, (str, int, torch.device)):
        return None
    if isinstance(value, str) and value.partition(":")[0] not in ("cuda", "cpu"):
        return None
    if isinstance(value, int):
        value = f"cuda:{value}"
    device = torch.device(value)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise RuntimeError("CUDA error: invalid device ordinal")
    return {"cuda": True, "cpu": False}.get(device.type)


class Sides:
    """What each of PyTorch's functions does about devices."""

    def __init__(self, torch: Any, give_driver: GiveDriver) -> None:
        self.torch, self._give_driver = torch, give_driver
        self._tensor = tensor = torch.Tensor
        self._gpu = torch.device("cuda", 0)
        self.special: dict[Any, Special] = {
            torch.device: lambda f, a, o: f(*a, **o),
            torch._C._nn._parse_to: lambda f, a, o: f(*a, **o),  # the arguments of Module.to
            tensor.device.__get__: self._device,
            tensor.is_cuda.__get__: lambda _, a, o: is_on_gpu(a[0]),
            tensor.is_cpu.__get__: lambda f, a, o: not is_on_gpu(a[0]) and f(*a),
            tensor.get_device: lambda f, a, o: 0 if is_on_gpu(a[0]) else f(*a),
            tensor.type: self._type,
            tensor.__repr__: self._text,
            tensor.__cuda_array_interface__.__get__: self._interface,
            tensor.to: self._to,
            tensor.cuda: lambda f, a, o: self.moved(a[0], True),
            tensor.cpu: lambda f, a, o: self.moved(a[0], False),
            tensor.numpy: self._numpy,
            tensor.__array__: self._array,
            tensor.pin_memory: lambda f, a, o: self._pinned(a[0]),
            tensor.is_pinned: lambda f, a, o: place(a[0]) == PINNED,
            torch.as_tensor: self._converted,
            torch.asarray: self._converted,
            torch._scaled_mm: self._scaled,
        }
        pointwise = (name + end for name in _POINTWISE for end in ("", "_"))
        self._mixes = dict.fromkeys(pointwise, 0) | dict.fromkeys(_WHOLE, -1)

    def call(self, function: Any, arguments: Arguments, options: Options) -> Any:
        """One call of PyTorch's, on the CPU."""
        special = self.special.get(function)
        if special is not None:
            return special(function, arguments, options)
        return self._plain(function, arguments, options)

    def moved(self, tensor: Any, to_gpu: bool) -> Any:
        """The tensor itself if it is on that side already, else a copy there."""
        if is_on_gpu(tensor) == to_gpu:
            return tensor
        copy = tensor.clone()
        return put_on_gpu(copy) if to_gpu else copy

    def _plain(self, function: Any, arguments: Arguments, options: Options) -> Any:
        wanted, is_pinned = None, bool(options.pop("pin_memory", False))
        for value in (*arguments, options.get("device")):
            if isinstance(value, (str, self.torch.device)):
                found = side(self.torch, value)
                wanted = wanted if found is None else found
        if isinstance(options.get("device"), int):
            wanted = side(self.torch, options["device"])
        if wanted:
            arguments = tuple(map(self._on_host, arguments))
            options = {name: self._on_host(of, name) for name, of in options.items()}
        given, name = None, getattr(function, "__name__", "")
        if not wanted and name in self._mixes:
            given = list(tensors(self._tensor, (arguments, options)))
            self._check_mixed(name, given)
        changes = name == "__setitem__" or name[-1:] == "_" != name[:1]
        if changes and any(map(is_on_gpu, tensors(self._tensor, arguments[:1]))):
            torch_streams.refuse_in_capture(name)
        result = function(*arguments, **options)
        if not isinstance(result, (self._tensor, tuple, list, dict)) or wanted is False:
            return self._pinned(result) if is_pinned else result
        if given is None:
            given = list(tensors(self._tensor, (arguments, options)))
        if wanted or any(map(is_on_gpu, given)):
            known = {id(storage(one)) for one in given}
            for one in tensors(self._tensor, result):
                if id(storage(one)) not in known:
                    torch_streams.refuse_in_capture(name)
                    put_on_gpu(one)
        return self._pinned(result) if is_pinned else result

    def _on_host(self, value: Any, name: str = "") -> Any:
        is_device = isinstance(value, (str, self.torch.device)) or name == "device"
        return "cpu" if is_device and side(self.torch, value) else value

    def _check_mixed(self, name: str, given: list[Any]) -> None:
        least = self._mixes[name]  # more dimensions than these count
        if len({is_on_gpu(one) for one in given if one.dim() > least or is_on_gpu(one)}) == 2:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                "cuda:0 and cpu!"
            )

    # --- what says or changes where a tensor is --------------------------------------------------

    def _device(self, function: Any, arguments: Arguments, _: Options) -> Any:
        return self._gpu if is_on_gpu(arguments[0]) else function(*arguments)

    def _type(self, function: Any, arguments: Arguments, options: Options) -> Any:
        result = self._plain(function, arguments, options)
        if isinstance(result, str) and is_on_gpu(arguments[0]):
            return result.replace("torch.", "torch.cuda.", 1)
        return result

    def _text(self, function: Any, arguments: Arguments, options: Options) -> str:
        text = str(function(*arguments, **options))
        if is_on_gpu(arguments[0]) and text.endswith(")"):
            return f"{text[:-1]}, device='{self._gpu}')"
        return text

    def _scaled(self, function: Any, arguments: Arguments, options: Options) -> Any:
        def product(*given: Any, **named: Any) -> Any:
            return scaled_mm(self.torch, function, given, named)

        return self._plain(product, arguments, options)

    def _to(self, function: Any, arguments: Arguments, options: Options) -> Any:
        tensor, *rest = arguments
        wanted = is_on_gpu(tensor)
        for name, value in [*zip([""] * len(rest), rest, strict=True), *options.items()]:
            if isinstance(value, self._tensor):
                wanted = is_on_gpu(value)
            elif name in ("", "device") and not (name == "" and isinstance(value, bool)):
                found = side(self.torch, value)
                wanted = wanted if found is None else found
        rest = ["cpu" if side(self.torch, one) is not None else one for one in rest]
        if "device" in options:
            options = options | {"device": "cpu"}
        result = function(tensor, *rest, **options)
        if storage(result) is storage(tensor):
            return self.moved(result, wanted)
        return put_on_gpu(result) if wanted else result

    def _converted(self, function: Any, arguments: Arguments, options: Options) -> Any:
        source = arguments[0] if arguments else options.get("data", options.get("obj"))
        given = options.get("device", arguments[2] if len(arguments) > 2 else None)
        is_tensor = isinstance(source, self._tensor)
        wanted = side(self.torch, given)
        if wanted is None:
            wanted = is_tensor and is_on_gpu(source)
        options = {name: self._on_host(value, name) for name, value in options.items()}
        result = function(*map(self._on_host, arguments), **options)
        if is_tensor and storage(result) is storage(source):
            return self.moved(result, wanted)
        return put_on_gpu(result.clone()) if wanted else result

    def _numpy(self, function: Any, arguments: Arguments, options: Options) -> Any:
        tensor = arguments[0]
        if options.get("force", any(arguments[1:])) and is_on_gpu(tensor):
            return function(tensor.detach().clone(), *arguments[1:], **options)
        return self._array(function, arguments, options)

    def _array(self, function: Any, arguments: Arguments, options: Options) -> Any:
        if is_on_gpu(arguments[0]):
            raise TypeError(
                f"can't convert {self._gpu} device type tensor to numpy. Use Tensor.cpu() to copy "
                "the tensor to host memory first."
            )
        return function(*arguments, **options)

    def _pinned(self, tensor: Any) -> Any:
        if is_on_gpu(tensor):
            raise RuntimeError("only dense CPU tensors can be pinned")
        if place(tensor) == PINNED:
            return tensor
        return torch_memory.pinned(self.torch, self._give_driver(), tensor)

    def _interface(self, function: Any, arguments: Arguments, _: Options) -> Any:
        tensor = arguments[0]
        if not is_on_gpu(tensor):
            return function(*arguments)  # which says that there is none
        if tensor.requires_grad:
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires grad. Use "
                "var.detach()."
            )
        size = int(tensor.element_size())
        address = LASTING.address(self._give_driver(), tensor) if tensor.numel() else 0
        return {
            "typestr": _TYPES[str(tensor.dtype).partition(".")[2]],
            "shape": tuple(tensor.shape), "data": (address, False), "version": 2,
            "strides": None if tensor.is_contiguous()
            else tuple(step * size for step in tensor.stride()),
        }  # fmt: skip


def mode(torch: Any, base: Any, sides: Sides) -> Any:
    """The mode that sees PyTorch's calls."""

    class CudaIsHost(base):  # type: ignore[misc]
        """Functions make and take tensors of both sides."""

        def __torch_function__(
            self, function: Any, types: Any, arguments: Any = (), options: Any = None
        ) -> Any:
            """One call of PyTorch's."""
            return sides.call(function, arguments, dict(options or {}))

    made = CudaIsHost()
    _keep_in_backward(torch, made)
    return made


def _keep_in_backward(torch: Any, made: Any) -> None:
    """Programs' own gradients see the mode as well: PyTorch calls them with modes switched off."""
    graph, autograd = torch.autograd.graph, torch.autograd
    engine, node = graph._engine_run_backward, torch.autograd.function.BackwardCFunction
    backward, forward = node.apply, autograd.Function.apply.__func__

    def run(*arguments: Any, **options: Any) -> Any:
        with made:
            return engine(*arguments, **options)

    def apply(cls: Any, *arguments: Any, **options: Any) -> Any:
        result = forward(cls, *arguments, **options)
        for one in tensors(torch.Tensor, result):
            if isinstance(one.grad_fn, node) and is_on_gpu(one):
                one.grad_fn.warplens_place = GPU
        return result

    def gradient(self: Any, *arguments: Any) -> Any:
        if getattr(self, "warplens_place", "") == GPU:
            for one in tensors(torch.Tensor, arguments):
                put_on_gpu(one)
        return backward(self, *arguments)

    graph._engine_run_backward = autograd._engine_run_backward = run
    autograd.Function.apply = classmethod(apply)
    node.apply = gradient
