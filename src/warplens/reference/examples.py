"""The kernels that show a rule of advice: `before` hears it, `after` is repaired."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("kernels")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One file with a kernel `before` and a kernel `after`.

    Attributes:
        rule: identifier of the rule that is heard; title: which of its findings.
        gpu: on which the kernels were run.
    """

    name: str
    rule: str
    title: str
    gpu: str

    @property
    def path(self) -> Path:
        """The CUDA source."""
        return FOLDER / f"{self.name}.cu"

    @property
    def text(self) -> str:
        """The CUDA source's text."""
        return self.path.read_text(encoding="utf-8")


@cache
def examples() -> dict[str, Example]:
    """Every example by its name, in the order of `kernels/examples.toml`."""
    data = tomllib.loads((FOLDER / "examples.toml").read_text(encoding="utf-8"))
    return {name: Example(name=name, **fields) for name, fields in data.items()}


def examples_of(rule: str) -> tuple[Example, ...]:
    """The examples of one rule."""
    return tuple(one for one in examples().values() if one.rule == rule)
