"""One configuration on one GPU, and what is known of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from warplens.tune.space import Configuration, name_of

ALIKE = 0.01  # predicted times that differ by less are not told apart


@dataclass(kw_only=True)
class Row:
    """One configuration on one GPU.

    Attributes:
        status: unknown, pruned, compiled, estimated, predicted, confirmed, or failed.
        objective: what is minimised (ns unless another metric was asked for), by the timing model
            or a full run; None without one.
        estimate: the same by a surrogate that has learned from other configurations' predictions,
            of rows that are only estimated.
        time_ns: predicted duration, `confirmed_ns` that of the full run.
        code: the launch as CUDA C++, below the compiler's options as a comment.
        problem: why it is pruned or failed.
    """

    configuration: Configuration
    gpu: str
    launch: str
    code: str = ""
    status: str = "unknown"
    objective: float | None = None
    estimate: float | None = None
    time_ns: float | None = None
    confirmed_ns: float | None = None
    limiter: str = ""
    facts: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    problem: str = ""

    @property
    def name(self) -> str:
        """`BX=128 PER=4`."""
        return name_of(self.configuration)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """The best first; before others come, of those that the model cannot tell from the best, the
    ones whose code has the least to do: whatever the model misses hurts them least."""
    ranked = sorted(rows, key=lambda r: (r.objective, r.name))
    if not ranked or ranked[0].objective is None:
        return ranked
    limit = ranked[0].objective * (1.0 + ALIKE)
    alike = [r for r in ranked if r.objective is not None and r.objective <= limit]
    alike.sort(key=lambda r: (r.facts.get("work", 0.0), r.objective, r.name))
    return [*alike, *ranked[len(alike) :]]
