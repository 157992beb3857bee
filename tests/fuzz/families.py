"""The families of random programs, by name."""

from __future__ import annotations

from tests.fuzz import half, packed
from tests.fuzz.operation import Family
from tests.fuzz.operations import COLLECTIVES, NUMERIC, OPERATIONS

# From the numeric family: what gives values to test and to mix, and little code.
_COMMON = [
    op for op in OPERATIONS if op.weight >= 1 and set(op.arguments) <= {*op.result, "i", "u"}
]
HALF = Family(
    name="half",
    prelude=half.PRELUDE + packed.PRELUDE,
    types="hhbbHHBBuuifdlm",
    operations=[*half.OPERATIONS, *packed.OPERATIONS, *_COMMON],
    collectives=[*half.COLLECTIVES, *COLLECTIVES],
)
FAMILIES: dict[str, Family] = {family.name: family for family in (NUMERIC, HALF)}
