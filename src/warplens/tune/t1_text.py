"""Writes T1, the input format of Kernel Tuner's benchmark hub, from a problem."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from warplens.errors import InputError
from warplens.tune.problem import Problem, Shape

_TYPES = {"float32": "float", "float64": "double", "int32": "int32"}
_AXES = "XYZ"


def t1_text(problem: Problem, gpu: str = "") -> str:
    """The problem as a T1 document.

    Arrays are described, not written: those that hold one value as constant, others as random.

    Raises:
        InputError: T1 has no place for something, such as functions, variants of the source,
            template arguments, arguments that depend on the configuration, or clusters.
    """
    _check(problem)
    rules = [_rule(one, problem.constants, problem.space.values)
             for one in problem.space.restrictions]  # fmt: skip
    kernel = {
        "Language": "CUDA", "KernelName": problem.kernel, "KernelFile": str(problem.source),
        "CompilerOptions": list(problem.options), "GlobalSizeType": "CUDA",
        "GlobalSize": _axes("grid", problem.grid, problem.constants),
        "LocalSize": _axes("block", problem.block, problem.constants),
        "SharedMemory": problem.shared, "Device": {"Name": gpu},
        "Arguments": [_argument(i, one) for i, one in enumerate(problem.arguments({}))],
    }  # fmt: skip
    parameters = [_parameter(name, list(v)) for name, v in problem.space.values.items()]
    return json.dumps({
        "General": {"FormatVersion": 1},
        "ConfigurationSpace": {"TuningParameters": parameters, "Conditions": rules},
        "KernelSpecification": kernel,
    }, indent=1) + "\n"  # fmt: skip


def _check(problem: Problem) -> None:
    texts = (problem.kernel, *problem.options)
    refused = {
        "a source that is no file": not isinstance(problem.source, Path),
        "template arguments": any("{" in text or "<" in text for text in texts),
        "clusters": problem.cluster is not None,
        "arguments that depend on the configuration": callable(problem.args),
        "dynamic shared memory that depends on the configuration": not isinstance(
            problem.shared, int
        ),
    }  # fmt: skip
    for what, is_there in refused.items():
        if is_there:
            raise InputError(f"T1 has no place for {what}")


def _parameter(name: str, values: list[Any]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    kind = {bool: "bool", int: "int", float: "float"}.get(next(iter(kinds)), "string")
    if len(kinds) > 1:
        kind = "float" if kinds <= {int, float} else "string"
    return {"Name": name, "Type": kind, "Values": repr(values)}


def _rule(rule: Any, constants: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(rule, str):
        raise InputError("T1 has no place for restrictions that are functions")
    text = _text(ast.parse(rule.strip(), mode="eval").body, constants)
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return {"Parameters": [name for name in values if name in names], "Expression": text}


def _axes(what: str, shape: Shape, constants: Mapping[str, Any]) -> dict[str, str]:
    """A size, axis by axis."""
    if callable(shape):
        raise InputError(f"T1 has no place for a {what} that is a function")
    tree = ast.parse(shape.strip() if isinstance(shape, str) else repr(shape), mode="eval").body
    parts = tree.elts if isinstance(tree, ast.Tuple | ast.List) else [tree]
    texts = [_text(part, constants) for part in parts]
    return dict(zip(_AXES, [*texts, "1", "1"][: len(_AXES)], strict=True))


def _text(tree: ast.expr, constants: Mapping[str, Any]) -> str:
    """An expression with the values of constants in the place of their names."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:  # the visitor's own spelling
            known = node.id in constants
            return ast.Constant(constants[node.id]) if known else node

    return ast.unparse(Fill().visit(tree))


def _argument(number: int, value: Any) -> dict[str, Any]:
    array = np.asarray(value if isinstance(value, np.ndarray | np.generic) else np.int32(value))
    kind = _TYPES.get(array.dtype.name)
    if kind is None:
        raise InputError(f"T1 has no type for argument {number}, {array.dtype.name}")
    told: dict[str, Any] = {"Name": f"argument{number}", "Type": kind, "AccessType": "ReadWrite"}
    if array.ndim == 0:
        return told | {"MemoryType": "Scalar", "FillValue": array.item()}
    same = array.size > 0 and bool((array == array.flat[0]).all())
    fill = {"FillType": "Constant", "FillValue": array.flat[0].item()} if same else {
        "FillType": "Random", "FillValue": 1.0}  # fmt: skip
    return told | {"MemoryType": "Vector", "Size": str(array.size), **fill}
