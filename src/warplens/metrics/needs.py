"""Which counted columns a set of metrics needs, found by running their formulas on a recorder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from warplens.execute.execution import Execution
from warplens.gpus.find import find_gpu
from warplens.metrics.classes import Classes
from warplens.metrics.counters import Choice, Counters, Quantity, Sources, Timing
from warplens.metrics.registry import all_sections, expand, resolve
from warplens.sass.model import SassKernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What must be recorded: columns of the execution, and whether the timing model must run."""

    columns: frozenset[str]
    timing: bool


@dataclass(frozen=True, slots=True)
class _OneBlock:
    """An occupancy on which every formula runs."""

    blocks: int = 1
    warps: int = 1
    occupancy: float = 1.0
    limit_registers: int = 1
    limit_shared: int = 1
    limit_warps: int = 1
    limit_blocks: int = 1
    limit_barriers: int = 1
    cluster: None = None


class _OneSecond:
    """A timing on which every formula runs."""

    def value(self, name: str) -> float:
        """Any number will do."""
        return 1.0

    def samples(self, name: str) -> tuple[tuple[str, float], ...]:
        """None is needed."""
        return ()


@cache
def _empty_launch() -> Sources:
    kernel = SassKernel(
        name="empty",
        demangled="empty()",
        sm=90,
        instructions=(),
        blocks=(),
        registers=16,
        static_shared=0,
        shared_section=0,
        local_bytes=0,
        n_barriers=0,
        parameter_base=0,
        parameter_bytes=0,
        parameters=(),
        max_threads=None,
        required_threads=None,
        cluster=None,
        uses_recursion=False,
    )
    execution = Execution(
        kernel=kernel,
        grid=(1, 1, 1),
        block=(32, 1, 1),
        dynamic_shared=0,
        columns={},
        blocks=1,
        warps=1,
    )
    return Sources(
        execution=execution,
        gpu=find_gpu("sm_90"),
        occupancy=_OneBlock(),
        classes=Classes(kernel),
    )


class Recorder(Counters):
    """A view on which formulas run to tell what they read."""

    def __init__(self) -> None:
        super().__init__(_empty_launch())
        self.columns: set[str] = set()
        self.needs_timing = False

    def sum(self, column: str, **choices: Choice) -> Quantity:
        """Notes the column."""
        self.columns.add(column)
        return 1

    def larger(self, column: str, other: str, *, op: Choice, is_bypass: Choice) -> Quantity:
        """Notes both columns."""
        self.columns |= {column, other}
        return 1

    @property
    def timing(self) -> Timing | None:
        """Notes that time is needed."""
        self.needs_timing = True
        return _OneSecond()


def needs(names: Iterable[str]) -> Needs:
    """What the given metrics need; names as `--metrics` takes them."""
    recorder = Recorder()
    for item in names:
        for name in expand(item):
            declared, suffix = resolve(name)
            if declared.formula is None:
                recorder.needs_timing |= declared.basis == "model"
                continue
            recorder.needs_timing |= "." in suffix or suffix in ("min", "max")
            declared.formula(recorder)
            if declared.instances is not None:
                tuple(declared.instances(recorder))
    return Needs(columns=frozenset(recorder.columns), timing=recorder.needs_timing)


def needs_of_sections(identifiers: Iterable[str]) -> Needs:
    """What the given sections need."""
    wanted = set(identifiers)
    specs = [spec for spec in all_sections() if spec.identifier in wanted]
    names = [row.name for spec in specs for row in (*spec.rows, *spec.extra)]
    names += [name for spec in specs for name in spec.instanced]
    names += [
        cell for spec in specs for table in spec.tables for row in table.rows for cell in row[1:]
    ]
    return needs(name for name in names if name)
