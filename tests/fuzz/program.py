"""The language of random programs: expressions and statements with both back-ends.

A program has `SLOTS` variables of each type and an array of eight unsigned ints that is indexed at
run time. The variables that it names are set from the inputs; those that it sets are its outputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.fuzz.operation import Collective, Operation
from tests.fuzz.values import TYPES, Array, Type, difference, random_values, where, zeros

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
    ended: Array = field(default_factory=lambda: np.zeros(THREADS, bool))

    def live(self, mask: Array) -> Array:
        """Lanes of `mask` that still run statements here."""
        for flags in (self.gone, self.ended, *self.broken, *self.skipped):
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
        return np.broadcast_to(np.asarray(self.number), (THREADS, *np.shape(self.number)))


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
        return np.asarray(result).astype(TYPES[self.type].kind)


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
        state.variables[self.target.name] = where(state.live(mask), new, old)


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
class Exchange:
    """variable = something of other lanes; only where all lanes are together."""

    target: Variable
    source: Expression
    how: Collective

    def cuda(self) -> list[str]:
        """One line."""
        return [f"{self.target.name} = {self.how.text.format(self.source.cuda())};"]

    def run(self, state: State, mask: Array) -> None:
        """Moves values between lanes."""
        value = self.source.value(state)
        warps = [self.how.function(value[w : w + 32]) for w in range(0, THREADS, 32)]
        kind = TYPES[self.target.type].kind
        state.variables[self.target.name] = np.concatenate(warps).astype(kind)


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
    """if (bit 0 of condition) break, continue, go to the end of the program, or return at once."""

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
        elif self.how == "return":
            state.ended |= leaving
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


Statement = Assign | Store | Exchange | If | Loop | Leave | Switch


_NAME = re.compile(r"(?<![\w.])([iulmfdhbHB][01])(?!\w)")
_SET = re.compile(r"\s*(?:default: *)?([iulmfdhbHB][01]) = ")


def _filled(kind: Type, words: Iterator[str]) -> str:
    """The text that makes a value of the next words."""
    return kind.unpack.format(*(next(words) for _ in kind.pack))


def _inputs(seed: int, kind: Type) -> Array:
    return random_values(np.random.default_rng(seed), kind, THREADS)


def _grouped(words: list[Array]) -> Array:
    """Words of all threads in the order of 16-byte accesses: group, thread, word."""
    words = [*words, *[np.zeros(THREADS, np.uint32)] * (-len(words) % 4)]
    if not words:
        return np.zeros(4 * THREADS, np.uint32)
    return np.ascontiguousarray(np.array(words).reshape(-1, 4, THREADS).transpose(0, 2, 1)).ravel()


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
    family: str = "numeric"

    def lines(self) -> list[str]:
        """The statements' CUDA text."""
        return list(body(self.statements))

    def variables(self) -> tuple[list[str], list[str]]:
        """The variables that the text names, and those that it sets."""
        lines = self.lines()
        named = {m for line in lines for m in _NAME.findall(line)}
        set_here = {m[1] for line in lines for m in [_SET.match(line)] if m is not None}
        return sorted(named), sorted(set_here)

    def cuda(self, name: str) -> str:
        """The CUDA source of one kernel: 16-byte loads, the statements, 16-byte stores."""
        named, results = self.variables()
        lines = [f'extern "C" __global__ void {name}(const uint4* in, uint4* out) {{']
        lines.append("  int t = threadIdx.x;")
        groups = -(-sum(len(TYPES[v[0]].pack) for v in named) // 4)
        lines += [f"  uint4 q{g} = in[{g * THREADS} + t];" for g in range(groups)]
        words = (f"q{g}.{part}" for g in range(groups) for part in "xyzw")
        for v in named:
            kind = TYPES[v[0]]
            lines.append(f"  {kind.name} {v} = {_filled(kind, words)};")
        has_cells = any("cells[" in line for line in self.lines())
        if has_cells:
            lines.append(f"  unsigned cells[{CELLS}];")
            lines.append(f"  for (int k = 0; k < {CELLS}; ++k) cells[k] = (t + 3) * (k + 1);")
        lines += self.lines()
        if any("goto" in line for line in lines):
            lines.append("end:")
        out = [pack.format(v) for v in results for pack in TYPES[v[0]].pack]
        out += [f"cells[{k}]" for k in range(CELLS) if has_cells]
        out += ["0"] * (-len(out) % 4)
        for g in range(len(out) // 4):
            value = ", ".join(out[4 * g : 4 * g + 4])
            lines.append(f"  out[{g * THREADS} + t] = make_uint4({value});")
        return "\n".join([*lines, "}"])

    def inputs(self) -> dict[str, Array]:
        """The initial value of every variable that the program names."""
        generator = np.random.default_rng(self.seed)
        every = [f"{t}{k}" for t in TYPES for k in range(SLOTS)]
        seeds = dict(zip(every, generator.integers(0, 2**63, len(every)).tolist(), strict=True))
        named, _ = self.variables()
        return {v: _inputs(seeds[v], TYPES[v[0]]) for v in named}

    def arguments(self) -> tuple[Array, Array]:
        """Input and zeroed output words, as the kernel takes them."""
        named, results = self.variables()
        inputs = self.inputs()
        words = [w for v in named for w in TYPES[v[0]].to_words(inputs[v])]
        n_out = sum(len(TYPES[v[0]].pack) for v in results)
        n_out += CELLS * any("cells[" in line for line in self.lines())
        return _grouped(words), np.zeros(-(-n_out // 4) * 4 * THREADS, np.uint32)

    def expected(self) -> dict[str, Array]:
        """The outputs by name, computed by NumPy."""
        threads = np.arange(THREADS, dtype=np.uint32)[:, None] + np.uint32(3)
        state = State(self.inputs(), threads * np.arange(1, CELLS + 1, dtype=np.uint32))
        for statement in self.statements:
            statement.run(state, np.ones(THREADS, bool))
        stays = ~state.ended
        outputs = {}
        for v in self.variables()[1]:
            value = state.variables[v]
            outputs[v] = where(stays, value, zeros(TYPES[v[0]], THREADS))
        if any("cells[" in line for line in self.lines()):
            for k in range(CELLS):
                outputs[f"cells[{k}]"] = np.where(stays, state.cells[:, k], 0).astype(np.uint32)
        return outputs

    def difference(self, expected: dict[str, Array], out: Array) -> str | None:
        """The first thread and variable that differ, in words, or None."""
        words = iter(out.reshape(-1, THREADS, 4).transpose(0, 2, 1).reshape(-1, THREADS))
        for name, want in expected.items():
            kind = TYPES["u"] if name.startswith("cells") else TYPES[name[0]]
            got = kind.from_words([np.ascontiguousarray(next(words)) for _ in kind.pack])
            wrong = difference(kind, np.ascontiguousarray(want), got)
            if wrong.any():
                at = int(np.flatnonzero(wrong)[0])
                count = int(wrong.sum())
                return (f"{name} of thread {at}: expected {want[at]!r}, got {got[at]!r} "
                        f"({count} of {THREADS} threads differ)")
        return None

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
