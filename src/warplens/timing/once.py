"""Properties that are worked out once, of objects that several threads may ask at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class once(Generic[Owner, Value]):
    """As `functools.cached_property`, without its lock: of Python 3.11, which has one for all
    objects of a class, so that two models could not be worked out side by side. Threads that ask an
    object at the same time both work it out, and get the same."""

    def __init__(self, make: Callable[[Owner], Value]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: Any) -> once[Owner, Value]: ...
    @overload
    def __get__(self, instance: Owner, owner: Any) -> Value: ...
    def __get__(self, instance: Owner | None, owner: Any) -> Any:
        if instance is None:
            return self
        found = vars(instance)[self._name] = self._make(instance)
        return found
