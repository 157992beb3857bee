"""T1, the input format of Kernel Tuner's benchmark hub: a tuning problem as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from warplens.errors import InputError
from warplens.tune.problem import Problem
from warplens.tune.space import Configuration, Space, expression, indexed, listing

_SCALARS: dict[str, type[np.generic[Any]]] = {
    "float": np.float32, "double": np.float64, "int32": np.int32, "int": np.int32,
}  # fmt: skip
_AXES = "XYZ"
_SEED = 0


def read_t1(path: Path) -> Problem:
    """The problem of a T1 file: a CUDA kernel, its parameters, conditions, sizes and arguments.

    Grids are counted as Kernel Tuner does: the problem's size divided by `GridDivX` and its
    neighbours, rounded up; without them, `GlobalSize` in blocks or (OpenCL) in threads.

    Raises:
        InputError: the file cannot be read, or what it describes is not understood.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return _problem(document, path.parent)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON ({error.msg})") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path}: no T1 problem: {type(error).__name__}: {error}") from error


def _problem(document: Mapping[str, Any], folder: Path) -> Problem:
    told, kernel = document["ConfigurationSpace"], document["KernelSpecification"]
    if kernel["Language"] != "CUDA":
        raise InputError(f"T1: the kernel's language is {kernel['Language']}, not CUDA")
    values = {one["Name"]: _values(one) for one in told["TuningParameters"]}
    rules = tuple(one["Expression"] for one in told.get("Conditions", ()))
    local = [kernel["LocalSize"].get(axis, "1") for axis in _AXES]
    return Problem(
        source=_source(kernel["KernelFile"], folder), kernel=kernel["KernelName"],
        space=Space(values, rules), grid=_grid(kernel), block=f"({', '.join(map(str, local))})",
        args=_arguments(kernel, values), shared=int(kernel.get("SharedMemory", 0)),
        options=tuple(map(str, kernel.get("CompilerOptions", ()))),
    )  # fmt: skip


def _values(parameter: Mapping[str, Any]) -> list[Any]:
    if parameter["Type"] not in ("int", "uint", "float", "bool", "string"):
        raise InputError(f"T1: {parameter['Name']} has the unknown type {parameter['Type']!r}")
    return listing(str(parameter["Values"]))


def _source(name: str, folder: Path) -> Path:
    """The kernel's file: beside the problem, or from the folder above."""
    for place in (folder / name, folder.parent / name):
        if place.is_file():
            return place
    raise InputError(f"T1: there is no {name} in {folder}")


def _grid(kernel: Mapping[str, Any]) -> Callable[[Configuration], tuple[int, ...]]:
    divisors = [kernel.get(f"GridDiv{axis}") or () for axis in _AXES]
    if any(divisors) and "ProblemSize" in kernel:
        size = [*_sizes(kernel["ProblemSize"]), 1, 1][:3]
        return lambda one: tuple(
            -(-int(n) // _product(by, one)) for n, by in zip(size, divisors, strict=True)
        )
    texts = [str(kernel["GlobalSize"].get(axis, "1")) for axis in _AXES]
    in_threads = kernel.get("GlobalSizeType", "CUDA") != "CUDA"
    local = [str(kernel["LocalSize"].get(axis, "1")) for axis in _AXES]

    def grid(one: Configuration) -> tuple[int, ...]:
        size = [int(expression(text)(one)) for text in texts]
        block = [int(expression(text)(one)) if in_threads else 1 for text in local]
        return tuple(-(-n // by) for n, by in zip(size, block, strict=True))

    return grid


def _sizes(value: Any) -> list[int]:
    return [int(n) for n in value] if isinstance(value, list) else [int(value)]


def _product(texts: Sequence[str], one: Configuration) -> int:
    product = 1
    for text in texts:
        product *= int(expression(str(text))(one))
    return product


def _arguments(kernel: Mapping[str, Any], values: Mapping[str, Sequence[Any]]) -> list[Any]:
    names = {**values, "ProblemSize": _sizes(kernel.get("ProblemSize", 0))}
    rng = np.random.default_rng(_SEED)
    return [_argument(one, names, rng) for one in kernel["Arguments"]]


def _argument(told: Mapping[str, Any], names: Mapping[str, Any], rng: np.random.Generator) -> Any:
    kind, fill = _SCALARS.get(told["Type"]), told.get("FillValue", 0)
    if kind is None:
        raise InputError(f"T1: argument {told['Name']} has the unknown type {told['Type']!r}")
    if told["MemoryType"] == "Scalar":
        return np.dtype(kind).type(fill)
    size = int(indexed(str(told["Size"]))(names))
    if told.get("FillType", "Constant") == "Constant":
        return np.full(size, fill, np.dtype(kind))
    if told["FillType"] != "Random":
        raise InputError(f"T1: argument {told['Name']} is filled by {told['FillType']!r}")
    return rng.standard_normal(size).astype(np.dtype(kind))
