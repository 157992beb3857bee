"""The kernels of the tutorials with an exercise each, as `gallery.toml` lists them."""

from __future__ import annotations

import operator
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from warplens.errors import InputError

COMPARISONS: dict[str, Callable[[float, float], bool]] = {"<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What an exercise wants of a metric; `findings` is the number of the sanitizers'."""

    metric: str
    comparison: str
    number: float

    def holds(self, value: float | None) -> bool:
        """Whether a value reaches it."""
        return value is not None and COMPARISONS[self.comparison](value, self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """A kernel to begin with, how it is launched, and what is to be reached."""

    identifier: str
    title: str
    file: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[str, ...]
    steps: tuple[str, ...]
    goals: tuple[Goal, ...]
    same: bool
    reference: str

    @property
    def source(self) -> str:
        """The text of the kernel's file."""
        return str(_folder().joinpath("kernels", self.file).read_text("utf-8"))

    def plain(self) -> dict[str, Any]:
        """As the page gets it."""
        return {
            "id": self.identifier, "title": self.title, "file": self.file, "kernel": self.kernel,
            "grid": self.grid, "block": self.block, "arguments": self.arguments,
            "steps": self.steps, "source": self.source,
        }  # fmt: skip


def _folder() -> Any:
    return resources.files("warplens.studio")


@cache
def exercises() -> dict[str, Exercise]:
    """Every exercise by its identifier, in the order of the file."""
    document = tomllib.loads(_folder().joinpath("gallery.toml").read_text("utf-8"))
    return {name: _exercise(name, table) for name, table in document.items()}


def _exercise(name: str, table: dict[str, Any]) -> Exercise:
    goals = tuple(Goal(metric=m, comparison=c, number=float(n)) for m, c, n in table["goals"])
    lists = {key: tuple(table[key]) for key in ("grid", "block", "arguments", "steps")}
    return Exercise(
        identifier=name, title=table["title"], file=table["file"], kernel=table["kernel"],
        goals=goals, same=table["same"], reference=table.get("reference", ""), **lists,
    )  # fmt: skip


def find_exercise(name: str) -> Exercise:
    """The exercise of that identifier.

    Raises:
        InputError: there is none.
    """
    found = exercises().get(name)
    if found is None:
        raise InputError(f"there is no exercise {name!r}")
    return found
