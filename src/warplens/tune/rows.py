"""One configuration on one GPU, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from warplens.tune.space import Configuration, name_of


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
        problem: why it is pruned or failed.
    """

    configuration: Configuration
    gpu: str
    launch: str
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
