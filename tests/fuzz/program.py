"""The language of random programs: expressions and statements with both back-ends.

A program has `SLOTS` variables of each type, set from the inputs at the start and written to the
outputs at the end, and an array of eight unsigned ints that is indexed at run time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.fuzz.operations import TYPES, Array, Operation

THREADS = 64
SLOTS = 2
CELLS = 8


@dataclass(slots=True)
class State:
    """All lanes' variables while a program is evaluated; `gone` lanes have left a loop or all."""

    variables: dict[str, Array]
    cells: Array
    counters: dict[str, Array] = field(default_factory=dict)
    gone: Array = field(default_factory=lambda: np.zeros(THREADS, bool))
    broken: list[Array] = field(default_factory=list)
    skipped: list[Array] = field(default_factory=list)

    def live(self, mask: Array) -> Array:
        """Lanes of `mask` that still run statements here."""
        for flags in (self.gone, *self.broken, *self.skipped):
            mask = mask & ~flags
        return mask


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or a loop counter."""

    type: str
    name: str

    def cuda(self) -> str:
        """Its name."""
        return self.name

    def value(self, state: State) -> Array:
        """All lanes' values."""
        found = state.variables.get(self.name)
        return state.counters[self.name] if found is None else found


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant, as the bits of its type."""

    type: str
    number: Any
    text: str

    def cuda(self) -> str:
        """Its text."""
        return self.text

    def value(self, state: State) -> Array:
        """The same value in every lane."""
        return np.full(THREADS, self.number, TYPES[self.type][1])


@dataclass(frozen=True, slots=True)
class Cell:
    """An element of the array."""

    index: Expression
    type: str = "u"

    def cuda(self) -> str:
        """An element of the local array."""
        return f"cells[{self.index.cuda()} & {CELLS - 1}]"

    def value(self, state: State) -> Array:
        """Each lane's element."""
        place = self.index.value(state).astype(np.int64) & (CELLS - 1)
        return state.cells[np.arange(THREADS), place]


@dataclass(frozen=True, slots=True)
class Call:
    """An operation on expressions."""

    operation: Operation
    operands: tuple[Expression, ...]

    @property
    def type(self) -> str:
        """The result's type."""
        return self.operation.result

    def cuda(self) -> str:
        """The operation's text with the operands filled in."""
        return self.operation.text.format(*(f"({o.cuda()})" for o in self.operands))

    def value(self, state: State) -> Array:
        """The operation's NumPy meaning."""
        with np.errstate(all="ignore"):
            result = self.operation.function(*(o.value(state) for o in self.operands))
        return np.asarray(result).astype(TYPES[self.type][1])


Expression = Variable | Literal | Cell | Call


@dataclass(frozen=True, slots=True)
class Assign:
    """variable = expression."""

    target: Variable
    source: Expression

    def cuda(self) -> list[str]:
        """One line."""
        return [f"{self.target.name} = {self.source.cuda()};"]

    def run(self, state: State, mask: Array) -> None:
        """Sets live lanes."""
        old, new = state.variables[self.target.name], self.source.value(state)
        state.variables[self.target.name] = np.where(state.live(mask), new, old)


@dataclass(frozen=True, slots=True)
class Store:
    """cells[index] = expression."""

    index: Expression
    source: Expression

    def cuda(self) -> list[str]:
        """One line."""
        return [f"cells[{self.index.cuda()} & {CELLS - 1}] = {self.source.cuda()};"]

    def run(self, state: State, mask: Array) -> None:
        """Sets one element in each live lane."""
        lanes = np.flatnonzero(state.live(mask))
        place = self.index.value(state).astype(np.int64) & (CELLS - 1)
        state.cells[lanes, place[lanes]] = self.source.value(state)[lanes]


@dataclass(frozen=True, slots=True)
class Shuffle:
    """variable = another lane's variable; only where all lanes are together."""

    target: Variable
    source: Variable
    distance: int

    def cuda(self) -> list[str]:
        """One line."""
        name = self.target.name
        return [f"{name} = __shfl_xor_sync(~0u, {self.source.name}, {self.distance});"]

    def run(self, state: State, mask: Array) -> None:
        """Moves values between lanes."""
        value = self.source.value(state)
        state.variables[self.target.name] = value[np.arange(THREADS) ^ self.distance]


@dataclass(frozen=True, slots=True)
class If:
    """if / else on bit 0 of an int."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]

    def cuda(self) -> list[str]:
        """Several lines."""
        lines = [f"if ({self.condition.cuda()} & 1) {{", *body(self.then), "}"]
        if self.otherwise:
            lines[-1] = "} else {"
            lines += [*body(self.otherwise), "}"]
        return lines

    def run(self, state: State, mask: Array) -> None:
        """Runs both sides under their masks."""
        taken = (self.condition.value(state) & 1) != 0
        for part, side in ((self.then, taken), (self.otherwise, ~taken)):
            for statement in part:
                statement.run(state, mask & side)


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of at most seven turns; the count differs from lane to lane."""

    counter: Variable
    turns: Expression
    inside: tuple[Statement, ...]

    def cuda(self) -> list[str]:
        """Several lines."""
        k, limit = self.counter.name, f"{self.counter.name}_end"
        head = f"for (int {k} = 0, {limit} = {self.turns.cuda()} & 7; {k} < {limit}; ++{k}) {{"
        return [head, *body(self.inside), "}"]

    def run(self, state: State, mask: Array) -> None:
        """Runs turns while a lane has some left."""
        turns = self.turns.value(state) & 7
        state.broken.append(np.zeros(THREADS, bool))
        for turn in range(7):
            state.counters[self.counter.name] = np.full(THREADS, turn, np.int32)
            state.skipped.append(np.zeros(THREADS, bool))
            for statement in self.inside:
                statement.run(state, mask & (turn < turns))
            state.skipped.pop()
        state.broken.pop()


@dataclass(frozen=True, slots=True)
class Leave:
    """if (bit 0 of condition) break, continue, or go to the end of the program."""

    how: str
    condition: Expression

    def cuda(self) -> list[str]:
        """One line."""
        return [f"if ({self.condition.cuda()} & 1) {self.how};"]

    def run(self, state: State, mask: Array) -> None:
        """Takes lanes out."""
        leaving = state.live(mask) & ((self.condition.value(state) & 1) != 0)
        if self.how == "break":
            state.broken[-1] |= leaving
        elif self.how == "continue":
            state.skipped[-1] |= leaving
        else:
            state.gone |= leaving


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch on three bits; cases without `falls` end with a break."""

    selector: Expression
    cases: tuple[tuple[int, tuple[Statement, ...], bool], ...]

    def cuda(self) -> list[str]:
        """Several lines."""
        lines = [f"switch ({self.selector.cuda()} & 7) {{"]
        for label, inside, falls in self.cases:
            lines.append(f"case {label}:" if label < 7 else "default:")
            lines += body(inside)
            if not falls:
                lines.append("  break;")
        return [*lines, "}"]

    def run(self, state: State, mask: Array) -> None:
        """Runs each case under the mask of lanes that reach it."""
        chosen = self.selector.value(state).astype(np.int64) & 7
        labels = [label for label, _, _ in self.cases if label < 7]
        reached = np.zeros(THREADS, bool)
        for label, inside, falls in self.cases:
            here = chosen == label if label < 7 else ~np.isin(chosen, labels)
            reached = reached | (mask & here)
            for statement in inside:
                statement.run(state, reached)
            if not falls:
                reached = np.zeros(THREADS, bool)


Statement = Assign | Store | Shuffle | If | Loop | Leave | Switch


def body(statements: tuple[Statement, ...]) -> Iterator[str]:
    """Indented lines of some statements."""
    for statement in statements:
        for line in statement.cuda():
            yield f"  {line}"


@dataclass(frozen=True, slots=True)
class Program:
    """A random program and its inputs."""

    seed: int
    statements: tuple[Statement, ...]
    inputs: dict[str, Array]

    def cuda(self, name: str) -> str:
        """The CUDA source of one kernel."""
        parameters = [
            f"{qualifier}{TYPES[t][0]}* {way}_{t}"
            for way, qualifier in (("in", "const "), ("out", ""))
            for t in TYPES
        ]
        lines = [f'extern "C" __global__ void {name}({", ".join(parameters)}) {{']
        lines.append("  int t = threadIdx.x;")
        places = [(t, k) for t in TYPES for k in range(SLOTS)]
        lines += [f"  {TYPES[t][0]} {t}{k} = in_{t}[{k * THREADS} + t];" for t, k in places]
        lines.append(f"  unsigned cells[{CELLS}];")
        lines.append(f"  for (int k = 0; k < {CELLS}; ++k) cells[k] = in_u[t] * (k + 1);")
        lines += body(self.statements)
        if any("goto" in line for line in lines):
            lines.append("end:")
        lines += [f"  out_{t}[{k * THREADS} + t] = {t}{k};" for t, k in places]
        target = f"out_u[({SLOTS} + k) * {THREADS} + t]"
        lines.append(f"  for (int k = 0; k < {CELLS}; ++k) {target} = cells[k];")
        return "\n".join([*lines, "}"])

    def arguments(self) -> list[Array]:
        """Fresh inputs and zeroed outputs."""
        outputs = [np.zeros(self.size(t), TYPES[t][1]) for t in TYPES]
        return [*(self.inputs[t].copy() for t in TYPES), *outputs]

    @staticmethod
    def size(t: str) -> int:
        """Elements of an output."""
        return THREADS * (SLOTS + CELLS if t == "u" else SLOTS)

    def expected(self) -> list[Array]:
        """The outputs, computed by NumPy."""
        variables = {
            f"{t}{k}": self.inputs[t][k * THREADS : (k + 1) * THREADS].copy()
            for t in TYPES
            for k in range(SLOTS)
        }
        first = self.inputs["u"][:THREADS, None]
        state = State(variables, first * np.arange(1, CELLS + 1, dtype=np.uint32))
        for statement in self.statements:
            statement.run(state, np.ones(THREADS, bool))
        outputs = []
        for t in TYPES:
            parts = [state.variables[f"{t}{k}"] for k in range(SLOTS)]
            outputs.append(np.concatenate([*parts, *(state.cells.T if t == "u" else ())]))
        return outputs

    def smaller(self) -> Iterator[Program]:
        """Programs with one statement removed or replaced by its inside."""
        for statements in _smaller(self.statements):
            yield replace(self, statements=statements)


def _parts(statement: Statement) -> Iterator[tuple[tuple[Statement, ...], str | int]]:
    if isinstance(statement, If):
        yield statement.then, "then"
        yield statement.otherwise, "otherwise"
    elif isinstance(statement, Loop):
        yield statement.inside, "inside"
    elif isinstance(statement, Switch):
        for number, (_, inside, _) in enumerate(statement.cases):
            yield inside, number


def _with_part(statement: Statement, part: str | int, inside: tuple[Statement, ...]) -> Statement:
    if isinstance(statement, Switch) and isinstance(part, int):
        cases = list(statement.cases)
        cases[part] = cases[part][0], inside, cases[part][2]
        return replace(statement, cases=tuple(cases))
    if isinstance(statement, If):
        if part == "then":
            return replace(statement, then=inside)
        return replace(statement, otherwise=inside)
    assert isinstance(statement, Loop)
    return replace(statement, inside=inside)


def _smaller(statements: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    for i, statement in enumerate(statements):
        before, after = statements[:i], statements[i + 1 :]
        yield before + after
        if isinstance(statement, If):
            yield before + statement.then + after
            yield before + statement.otherwise + after
        for inside, part in _parts(statement):
            for less in _smaller(inside):
                yield (*before, _with_part(statement, part, less), *after)
