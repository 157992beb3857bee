"""Resources of a program that graphs hold: the last reference gone calls the program's function."""

from __future__ import annotations

from dataclasses import dataclass

from warplens.driver.cells import HOST_FUNCTION, called
from warplens.driver.status import DriverError, Status


@dataclass(slots=True, eq=False)
class UserObject:
    """A resource: the function that ends it, what that function is given, and its references."""

    destroy: int
    data: int
    references: int
    number: int = 0

    def release(self, count: int) -> bool:
        """Fewer references; whether that was the last, with which the resource ends."""
        if not 0 < count <= self.references:
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"{count} references")
        self.references -= count
        if self.references == 0:
            called(HOST_FUNCTION, self.destroy, self.data)
        return self.references == 0


class Held:
    """The references that one graph has."""

    def __init__(self) -> None:
        self._counts: dict[UserObject, int] = {}

    def retain(self, held: UserObject, count: int, *, is_moved: bool = False) -> None:
        """More of them; moved ones were the program's."""
        if not is_moved:
            held.references += count
        self._counts[held] = self._counts.get(held, 0) + count

    def release(self, held: UserObject, count: int) -> bool:
        """Fewer of them."""
        if count > self._counts.get(held, 0):
            raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, "more than the graph has")
        self._counts[held] -= count
        return held.release(count)

    def copy(self) -> Held:
        """The same references once more, for a copy of the graph."""
        made = Held()
        for held, count in self._counts.items():
            if count:
                made.retain(held, count)
        return made

    def leave(self) -> list[UserObject]:
        """Gives all back; the resources that end with it."""
        counts, self._counts = self._counts, {}
        return [held for held, count in counts.items() if count and held.release(count)]
