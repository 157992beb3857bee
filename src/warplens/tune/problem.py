"""What is tuned: a kernel's source, its space, and how a configuration is launched."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warplens.errors import InputError
from warplens.tune.space import Configuration, Space, expression

Shape = str | int | Sequence[int] | Callable[[Configuration], Any]
_NAME = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A kernel with tunable parameters.

    Attributes:
        source: CUDA text or the path of a file, or a dictionary of variants by the value of the
            parameter `SOURCE`.
        kernel: its name; `{NAME}` stands for a parameter's value, as in `tiled<{TILE}>`. Parameters
            that do not appear there are `-D` definitions.
        grid, block: sizes, an expression, or a function of the configuration; `{}`-free.
        shared: bytes of dynamic shared memory; cluster: blocks of a cluster; likewise.
        args: launch arguments, or a function of the configuration that gives them.
        options: compiler options; `{NAME}` stands for a value there, too.
        reference: argument index -> the array it must equal after the launch, or a function of the
            arguments after the launch that raises or returns False if they are wrong.
        atol, rtol: how far a floating-point result may be from the reference.
    """

    source: str | Path | Mapping[Any, str | Path]
    kernel: str
    space: Space
    grid: Shape
    block: Shape
    args: Sequence[Any] | Callable[[Configuration], Sequence[Any]]
    shared: Shape = 0
    cluster: Shape | None = None
    options: Sequence[str] = ()
    reference: Mapping[int, Any] | Callable[..., Any] | None = None
    rtol: float = 1e-5
    atol: float = 1e-6
    constants: Mapping[str, Any] = field(default_factory=dict)

    def job(self, configuration: Configuration) -> Job:
        """The configuration as plain data that another process can compile and launch."""
        known = {**self.constants, **configuration}
        return Job(
            source=self._source(configuration),
            kernel=_filled(self.kernel, known),
            options=(*(_filled(o, known) for o in self.options), *self._definitions(configuration)),
            grid=_size("grid", self.grid, known),
            block=_size("block", self.block, known),
            shared=_size("shared", self.shared, known)[0],
            cluster=None if self.cluster is None else _size("cluster", self.cluster, known),
        )

    def arguments(self, configuration: Configuration) -> list[Any]:
        """The launch arguments of a configuration."""
        return list(self.args(configuration) if callable(self.args) else self.args)

    def _source(self, configuration: Configuration) -> str | Path:
        if not isinstance(self.source, Mapping):
            return self.source
        if configuration.get("SOURCE") not in self.source:
            raise InputError("several sources need a parameter SOURCE with their names")
        return self.source[configuration["SOURCE"]]

    def _definitions(self, configuration: Configuration) -> list[str]:
        used = set(_NAME.findall(self.kernel)).union(*map(_NAME.findall, self.options))
        return [
            f"-D{name}={int(value) if isinstance(value, bool) else value}"
            for name, value in configuration.items() if name not in used and name != "SOURCE"
        ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One configuration ready to compile and launch."""

    source: str | Path
    kernel: str
    options: tuple[str, ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    cluster: tuple[int, ...] | None

    @property
    def launch(self) -> str:
        """The launch as code to paste."""
        return f"{self.kernel}<<<{size_text(self.grid)}, {size_text(self.block)}, {self.shared}>>>"


def size_text(size: tuple[int, ...]) -> str:
    """`128` or `dim3(16, 16)`."""
    return str(size[0]) if len(size) == 1 else f"dim3({', '.join(map(str, size))})"


def _filled(text: str, configuration: Mapping[str, Any]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] not in configuration:
            raise InputError(f"{text!r}: {found[1]} is no parameter")
        one = configuration[found[1]]
        return str(one).lower() if isinstance(one, bool) else str(one)

    return _NAME.sub(value, text)


def _size(what: str, shape: Shape, configuration: Mapping[str, Any]) -> tuple[int, ...]:
    """One to three whole numbers."""
    if isinstance(shape, str):
        shape = expression(shape)
    value = shape(dict(configuration)) if callable(shape) else shape
    sizes = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(sizes) <= 3 or any(int(n) != n for n in sizes):
        raise InputError(f"{what} {value!r} is not one to three whole numbers")
    return tuple(int(n) for n in sizes)
