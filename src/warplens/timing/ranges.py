"""Ranges of addresses, for those who keep account of what work has used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """Addresses from `start` to before `end`, and the share of their lines that L2 holds; `near`
    the SMs that will ask, where L2 has two parts."""

    start: int
    end: int
    share: float = 1.0
    near: bool = False

    @property
    def nbytes(self) -> int:
        """How many addresses."""
        return self.end - self.start
