"""The code generators of roles: what the table calls a role, one function gives its code; and
what is counted beside an opcode's own code."""

from __future__ import annotations

from collections.abc import Callable

from warplens.lift.decode.binding import Bound
from warplens.lift.regions.writer import RegionWriter
from warplens.sass.model import Instruction

Role = Callable[[RegionWriter, Bound], None]
Count = Callable[[RegionWriter, Instruction], None]
ROLES: dict[str, Role] = {}
COUNTS: dict[str, Count] = {}  # by opcode


def role(*names: str) -> Callable[[Role], Role]:
    """Registers the code generator of a role."""

    def register(function: Role) -> Role:
        for name in names:
            ROLES[name] = function
        return function

    return register


def counted_with(opcode: str) -> Callable[[Count], Count]:
    """Registers what a GPU counts beside an opcode that only computes values."""

    def register(function: Count) -> Count:
        COUNTS[opcode] = function
        return function

    return register
