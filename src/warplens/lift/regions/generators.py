"""The code generators of roles: what the table calls a role, one function gives its code."""

from __future__ import annotations

from collections.abc import Callable

from warplens.lift.decode.binding import Bound
from warplens.lift.regions.writer import RegionWriter

Role = Callable[[RegionWriter, Bound], None]
ROLES: dict[str, Role] = {}


def role(*names: str) -> Callable[[Role], Role]:
    """Registers the code generator of a role."""

    def register(function: Role) -> Role:
        for name in names:
            ROLES[name] = function
        return function

    return register
