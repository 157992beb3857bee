"""Cases as in tests/kernels, with the architectures that have the feature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.kernels.model import ARCHITECTURES, Case, Dims, Make

FOLDER = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A case and the first and the last architecture that runs it."""

    case: Case
    first: int
    last: int

    @property
    def architectures(self) -> tuple[str, ...]:
        """Where it runs."""
        return tuple(a for a in ARCHITECTURES if self.first <= int(a[3:]) <= self.last)


FEATURES: list[Feature] = []


def feature(source: str, *, grid: Dims = 1, block: Dims = 32, shared: int = 0, ulp: int = 0,
            first: int = 75, last: int = 999, kernel: str | None = None,
            name: str | None = None) -> Callable[[Make], Make]:  # fmt: skip
    """Declares a case; `source` is relative to tests/, without the suffix."""

    def register(make: Make) -> Make:
        called = kernel or make.__name__
        case = Case(
            name=name or called, source=f"{source}.cu", kernel=called, grid=grid, block=block,
            shared=shared, ulp=ulp, options=("-fmad=false",), make=make,
        )  # fmt: skip
        FEATURES.append(Feature(case=case, first=first, last=last))
        return make

    return register
