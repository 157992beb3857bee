"""What lifting gives: a kernel's IR, and the tables by which the runner reads its counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True, slots=True)
class Counters:
    """A kernel's counters as rows: slot, weight, number of the column in `names`, start, end."""

    names: tuple[str, ...]
    rows: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counters: Sequence[Counter]) -> Counters:
        """The rows of counters, columns in the order in which they come."""
        names = tuple(dict.fromkeys(counter.column for counter in counters))
        place = {name: number for number, name in enumerate(names)}
        rows = [(c.slot, c.weight, place[c.column], c.start, c.end) for c in counters]
        return cls(names, np.array(rows, np.int64).reshape(-1, 5))


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
    """A lifted kernel: IR text (empty once it is compiled, or where the tables were kept on disk,
    see kept.py) and the tables that the runner needs."""

    kernel: SassKernel
    ir: str
    layout: Layout
    counters: Counters
    n_counters: int
    sites: list[int]  # instruction index of each access site
    site_widths: list[int]
    n_registers: int
    ordered_reason: str
    tier: int
    runs: list[Run]  # that the IR calls as functions wl.run.0, wl.run.1 ...
    key: str = ""  # of its machine code in the cache, where that is known
    again: Callable[[], Lifted] | None = None  # the same with its IR
