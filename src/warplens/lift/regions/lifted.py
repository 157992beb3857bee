"""What lifting gives: a kernel's IR, and the tables by which the runner reads its counters."""

from __future__ import annotations

from dataclasses import dataclass, field

from warplens.lift.decode.blocks import Layout
from warplens.sass.model import SassKernel


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter slot: column += weight * slot for instructions [start, end)."""

    slot: int
    column: str
    start: int
    end: int
    weight: int = 1


RUN = "(ptr, ptr, i32)"  # parameters of forms: record, environment, mask
HOLE, NEXT = "wl.hole.", "wl.next"  # symbols in forms: of operands, by number; of what follows


@dataclass(frozen=True, slots=True)
class Form:
    """A form of instructions (forms.py): a function whose operands are the addresses of symbols,
    and what its module needs besides."""

    name: str
    ir: str
    helpers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """What forms execute one after another, with their operands, and the places in the record of
    the vectors that this changes."""

    steps: list[tuple[Form, list[int]]]
    vectors: tuple[int, ...]


@dataclass(slots=True)
class Lifted:
    """A lifted kernel: IR text (empty once it is compiled) and the tables that the runner needs."""

    kernel: SassKernel
    ir: str
    layout: Layout
    counters: list[Counter]
    n_counters: int
    sites: list[int]  # instruction index of each access site
    site_widths: list[int]
    n_registers: int
    ordered_reason: str
    tier: int
    runs: list[Run]  # that the IR calls as functions wl.run.0, wl.run.1 ...
    notes: list[str] = field(default_factory=list)
