"""What a formula reads: an execution's counts, the GPU, the occupancy and, once made, the timing.

Formulas hold no `if`: they add up columns over classes of instructions and divide with `ratio`.
So the same formula gives the total of a launch, a value per instruction or per source line (a
`Counters` folded that way), and run on a `Recorder` it tells which columns it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from warplens.execute.execution import COLUMNS, Counts, Execution
from warplens.gpus.spec import GpuSpec
from warplens.metrics.classes import Classes, Mask

Array = npt.NDArray[Any]
Quantity = Any  # an int or float of a whole launch, or an array per instruction or line
Choice = str | int | bool | tuple[str | int | bool, ...] | None


class Timing(Protocol):
    """The timing model's answers under ncu's full names, in base units."""

    def value(self, name: str) -> float | None:
        """The value of a metric that needs time, such as `sm__cycles_active.avg`."""
        ...

    def samples(self, name: str) -> tuple[tuple[str, float], ...]:
        """(ns since the launch, value) of a `pmsampling:` metric at every sample."""
        ...


class OccupancyView(Protocol):
    """What the formulas ask of an occupancy calculation."""

    @property
    def blocks(self) -> Any: ...
    @property
    def warps(self) -> Any: ...
    @property
    def occupancy(self) -> Any: ...
    @property
    def limit_registers(self) -> Any: ...
    @property
    def limit_shared(self) -> Any: ...
    @property
    def limit_warps(self) -> Any: ...
    @property
    def limit_blocks(self) -> Any: ...
    @property
    def limit_barriers(self) -> Any: ...
    @property
    def cluster(self) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSettings:
    """What a launch was asked for beyond its grid and block."""

    context: int = 1
    stream: int = 7
    device: int = 0
    cluster: tuple[int, int, int] | None = None
    stack_bytes: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Everything a launch's metrics come from."""

    execution: Execution
    gpu: GpuSpec
    occupancy: OccupancyView
    classes: Classes
    settings: LaunchSettings = LaunchSettings()
    timer: Callable[[], Timing | None] | None = None  # models times when they are asked for
    sampled: bool = False  # the counts are scaled from a sample of blocks

    @property
    def timing(self) -> Timing | None:
        """The timing model's results, or None."""
        return None if self.timer is None else self.timer()


class Counters:
    """A launch as formulas see it, folded to its total (default), per instruction or per line."""

    def __init__(
        self, sources: Sources, *, fold: str = "total", groups: Array | None = None
    ) -> None:
        self._sources = sources
        self._fold = fold
        self._groups = groups

    @property
    def execution(self) -> Execution:
        """The exact counts."""
        return self._sources.execution

    @property
    def gpu(self) -> GpuSpec:
        """The GPU's numbers."""
        return self._sources.gpu

    @property
    def occupancy(self) -> OccupancyView:
        """The theoretical occupancy of this launch."""
        return self._sources.occupancy

    @property
    def settings(self) -> LaunchSettings:
        """The launch's other settings."""
        return self._sources.settings

    @property
    def timing(self) -> Timing | None:
        """The timing model's results, or None."""
        return self._sources.timing

    @property
    def is_sampled(self) -> bool:
        """Whether the counts come from a sample of blocks."""
        return self._sources.sampled

    @property
    def classes(self) -> Classes:
        """The classes of the kernel's instructions."""
        return self._sources.classes

    def sum(
        self,
        column: str,
        *,
        opcode: Choice = None,
        pipe: Choice = None,
        category: Choice = None,
        space: Choice = None,
        op: Choice = None,
        width: Choice = None,
        is_branch: Choice = None,
        is_jump: Choice = None,
        is_twice: Choice = None,
        is_cas: Choice = None,
        is_bypass: Choice = None,
        uses_banks: Choice = None,
        columns: Choice = None,
        multiplied: Choice = None,
        is_from_registers: Choice = None,
    ) -> Quantity:
        """A column added up over the instructions of the given classes."""
        choices = {
            "opcode": opcode,
            "pipe": pipe,
            "category": category,
            "space": space,
            "op": op,
            "width": width,
            "is_branch": is_branch,
            "is_jump": is_jump,
            "is_twice": is_twice,
            "is_cas": is_cas,
            "is_bypass": is_bypass,
            "uses_banks": uses_banks,
            "columns": columns,
            "multiplied": multiplied,
            "is_from_registers": is_from_registers,
        }
        values = self._column(column)
        for attribute, choice in choices.items():
            if choice is not None:
                values = values * self._mask(attribute, choice)
        return self._folded(values)

    def larger(self, column: str, other: str, *, op: Choice, is_bypass: Choice) -> Quantity:
        """The larger one of two columns of each instruction, added up over the given classes."""
        values = np.maximum(self._column(column), self._column(other))
        for attribute, choice in (("op", op), ("is_bypass", is_bypass)):
            if choice is not None:
                values = values * self._mask(attribute, choice)
        return self._folded(values)

    def _column(self, column: str) -> Counts:
        columns = self._sources.execution.columns
        if column not in COLUMNS:
            raise KeyError(f"{column} is not a counted column")
        if column not in columns:
            return np.zeros(len(self.classes.instructions), np.int64)
        return columns[column]

    def _mask(self, attribute: str, choice: Choice) -> Mask:
        allowed = choice if isinstance(choice, tuple) else (choice,)
        return self.classes.mask(attribute, tuple(item for item in allowed if item is not None))

    def _folded(self, values: Counts) -> Quantity:
        if self._fold == "total":
            return int(values.sum())
        if self._groups is None:
            return values
        totals = np.zeros(int(self._groups.max(initial=-1)) + 1, np.int64)
        np.add.at(totals, self._groups, values)
        return totals


def per_instruction(sources: Sources) -> Counters:
    """The view in which every sum is one number per instruction."""
    return Counters(sources, fold="instruction")


def per_line(sources: Sources, groups: Array) -> Counters:
    """The view in which every sum is one number per source line; `groups` gives each its line."""
    return Counters(sources, fold="line", groups=groups)


def ratio(numerator: Quantity, denominator: Quantity, empty: float = 0.0) -> Quantity:
    """The quotient; `empty` where nothing was counted."""
    if isinstance(numerator, np.ndarray) or isinstance(denominator, np.ndarray):
        top, bottom = np.broadcast_arrays(
            np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
        )
        result = np.full(top.shape, empty)
        np.divide(top, bottom, out=result, where=bottom != 0)
        return result
    return numerator / denominator if denominator else empty
