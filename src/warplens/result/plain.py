"""Between the dataclasses of this package and JSON's types; every type is checked on the way in."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from warplens.result.values import Number, Value

_SIMPLE = frozenset({int, str, type(None)})

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Turns the dataclasses of this module into JSON's types; non-finite numbers become None."""
    if isinstance(value, Value):
        row = [to_plain(value.number), value.unit, value.basis]
        return [*row, to_plain(value.instances)] if value.instances else row
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        if _SIMPLE.issuperset(map(type, value)):  # columns of large kernels
            return list(value)
        return [to_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """Builds a dataclass of this module from JSON's types, checking every type on the way."""
    built = _build(kind, data)
    assert isinstance(built, kind)
    return built


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@cache
def _plain_types(kind: Any) -> frozenset[type]:
    """The JSON types that may stand for `kind` as they are."""
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    return frozenset(k for k in kinds if k in (int, float, str, type(None)))


def _build(kind: Any, data: Any) -> Any:
    if kind is Value:
        return _build_value(data)
    if dataclasses.is_dataclass(kind):
        return _build_dataclass(kind, data)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _build_union(arguments, data)
    if origin is tuple and isinstance(data, list):
        if arguments[1:] == (Ellipsis,) and set(map(type, data)) <= _plain_types(arguments[0]):
            return tuple(data)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_build(arguments[0], item) for item in data)
        if len(arguments) == len(data):
            return tuple(_build(k, item) for k, item in zip(arguments, data, strict=True))
    if origin is dict and isinstance(data, dict):
        return {key: _build(arguments[1], item) for key, item in data.items()}
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(kind, type) and isinstance(data, kind) and not isinstance(data, bool):
        return data
    raise ValueError(f"expected {kind}, found {type(data).__name__}")


def _build_value(data: Any) -> Value:
    if not isinstance(data, list) or len(data) not in (3, 4):
        raise ValueError("a metric value is malformed")
    instances = _build(tuple[tuple[str, int | float], ...], data[3]) if len(data) == 4 else ()
    return Value(_build(Number, data[0]), _build(str, data[1]), _build(str, data[2]), instances)


def _build_dataclass(kind: Any, data: Any) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"expected {kind.__name__}, found {type(data).__name__}")
    hints = _hints(kind)
    unknown = data.keys() - hints.keys()
    if unknown:
        raise ValueError(f"{kind.__name__} has no {sorted(unknown)[0]!r}")
    values = {name: _build(hints[name], item) for name, item in data.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"{kind.__name__} is incomplete") from error


def _build_union(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None and type(None) in kinds:
        return None
    # Plain types first and exactly, so that an int stays an int in `int | float`.
    for kind in kinds:
        if type(data) is kind:
            return data
    for kind in kinds:
        try:
            return _build(kind, data)
        except ValueError:
            continue
    raise ValueError(f"unexpected {type(data).__name__}")
