"""The families of random programs, by name."""

from __future__ import annotations

from tests.fuzz.operation import Family
from tests.fuzz.operations import NUMERIC

FAMILIES: dict[str, Family] = {family.name: family for family in (NUMERIC,)}
