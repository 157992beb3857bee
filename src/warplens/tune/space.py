"""The configurations of a kernel: every combination of values that the restrictions allow."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warplens.errors import InputError

Configuration = dict[str, Any]
Restriction = str | Callable[[Configuration], Any]

_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs, "int": int}
_NODES = (
    ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Call, ast.Name,
    ast.Load, ast.Constant, ast.Tuple, ast.List, ast.And, ast.Or, ast.Not, ast.USub, ast.UAdd,
    ast.Invert, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift,
    ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt,
    ast.GtE, ast.In, ast.NotIn,
)  # fmt: skip
_LISTS = (ast.ListComp, ast.comprehension, ast.Store)
_LISTING: dict[str, Callable[..., Any]] = {**_FUNCTIONS, "range": range, "list": list}
_MOST = 10_000_000  # combinations that are looked at


def listing(text: str) -> list[Any]:
    """The values that an expression such as `[2**i for i in range(6)]` lists.

    Raises:
        InputError: it is anything but arithmetic over lists, ranges and comprehensions.
    """
    found = _compiled(text, _NODES + _LISTS, _LISTING)({})
    if not isinstance(found, list | tuple):
        raise InputError(f"{text!r} lists nothing")
    return list(found)


def indexed(text: str) -> Callable[[Mapping[str, Any]], Any]:
    """An expression that may also take elements of lists, as in `ProblemSize[0] * max(WIDTH)`.

    Raises:
        InputError: as `expression`.
    """
    return _compiled(text, (*_NODES, ast.Subscript), _FUNCTIONS)


def expression(text: str) -> Callable[[Mapping[str, Any]], Any]:
    """A function of the parameters from an expression such as `BX * BY <= 1024`.

    Only arithmetic, comparisons, conditions, tuples, min, max, abs and int are understood; `/` of
    integers that divides without remainder is an integer.

    Raises:
        InputError: the text is anything else, or (when called) names what is no parameter.
    """
    return _compiled(text, _NODES, _FUNCTIONS)


def _compiled(
    text: str, nodes: tuple[type[ast.AST], ...], functions: Mapping[str, Callable[..., Any]]
) -> Callable[[Mapping[str, Any]], Any]:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise InputError(f"{text!r} is not an expression: {error.msg}") from error
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call)
        if not isinstance(node, nodes) or (is_call and not _is_known(node, functions)):
            raise InputError(
                f"{text!r}: {type(node).__name__} is not allowed in an expression",
                hint="Use parameters, numbers, + - * / // % **, comparisons, and/or/not, min, max.",
            )
    code = compile(tree, "<expression>", "eval")

    def value(configuration: Mapping[str, Any]) -> Any:
        try:
            found = eval(code, {"__builtins__": {}, **functions, **configuration})
        except NameError as error:
            known = ", ".join(configuration)
            raise InputError(f"{text!r}: {error}", hint=f"Parameters: {known}.") from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"{text!r}: {error} with {dict(configuration)}") from error
        return _whole(found)

    return value


def _is_known(node: ast.AST, functions: Mapping[str, Any]) -> bool:
    assert isinstance(node, ast.Call)
    return isinstance(node.func, ast.Name) and node.func.id in functions and not node.keywords


def _whole(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_whole(one) for one in value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class Space:
    """Parameters with their values, and what a combination must fulfil.

    Attributes:
        values: name -> the values it may take, in order.
        restrictions: expressions or functions of a configuration that must be true.
    """

    values: Mapping[str, Sequence[Any]]
    restrictions: Sequence[Restriction] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        if not self.values:
            raise InputError("the space has no parameters")
        for name, values in self.values.items():
            if not name.isidentifier():
                raise InputError(f"parameter {name!r} is not an identifier")
            if isinstance(values, str) or not list(values):
                raise InputError(f"parameter {name} needs a list of values")
            if len(set(map(repr, values))) != len(list(values)):
                raise InputError(f"parameter {name} names a value twice")

    def __iter__(self) -> Iterator[Configuration]:
        """Every allowed configuration, the last parameter changing fastest."""
        rules = [expression(r) if isinstance(r, str) else r for r in self.restrictions]
        names = list(self.values)
        for number, choice in enumerate(itertools.product(*self.values.values())):
            if number >= _MOST:
                raise InputError(f"the space has more than {_MOST:,} combinations")
            one = dict(zip(names, choice, strict=True))
            if all(rule(one) for rule in rules):
                yield one


def name_of(configuration: Mapping[str, Any]) -> str:
    """`BX=128 PER=4`."""
    return " ".join(f"{key}={value}" for key, value in configuration.items())
