"""Random programs from a seed."""

from __future__ import annotations

import random

import numpy as np

from tests.fuzz.operations import BY_RESULT, TYPES, Array
from tests.fuzz.program import (
    SLOTS,
    THREADS,
    Assign,
    Call,
    Cell,
    Expression,
    If,
    Leave,
    Literal,
    Loop,
    Program,
    Shuffle,
    Statement,
    Store,
    Switch,
    Variable,
)

INTEGER_EDGES = (0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 127, 128, 255, 256, 32767, 65535, 65536)
FLOAT_EDGES = (0.0, 1.0, 2.0, 0.5, 1.5, 2.5, 3.0, 0.1, 1e-3, 1e6, 16777217.0, 4294967296.0)


def _input(generator: np.random.Generator, t: str) -> Array:
    """Values of many magnitudes with limits, zeros, denormals, infinities and NaN mixed in."""
    kind, n = TYPES[t][1], SLOTS * THREADS
    if t in "fd":
        info = np.finfo(kind)
        values = (generator.standard_normal(n) * 10.0 ** generator.integers(-8, 9, n)).astype(kind)
        edges = [*FLOAT_EDGES, np.inf, np.nan, info.max, info.tiny, info.tiny / 8,
                 info.smallest_subnormal, 2.0**31, 2.0**63, 1 - info.epsneg]  # fmt: skip
        signs = generator.choice([-1.0, 1.0], n)
        chosen = (generator.choice(np.array(edges, kind), n) * signs).astype(kind)
    else:
        bits = 8 * np.dtype(kind).itemsize
        raw = generator.integers(0, 2**63, n, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        values = (raw >> generator.integers(64 - bits, 64, n).astype(np.uint64)).astype(kind)
        edges = [*INTEGER_EDGES, *(2**bits - e - 1 for e in INTEGER_EDGES),
                 2 ** (bits - 1) - 1, 2 ** (bits - 1)]  # fmt: skip
        chosen = generator.choice(np.array(edges, f"u{bits // 8}"), n).view(kind)
    return np.where(generator.random(n) < 0.4, chosen, values)


class Generator:
    """Builds one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.leaves = self.random.random() < 0.3
        self.counters: list[Variable] = []
        self.n_loops = 0

    def program(self) -> Program:
        """The program of this generator's seed."""
        statements = tuple(
            self.statement(depth=0, in_loop=False) for _ in range(self.random.randint(3, 9))
        )
        generator = np.random.default_rng(self.seed)
        return Program(self.seed, statements, {t: _input(generator, t) for t in TYPES})

    def variable(self, t: str | None = None) -> Variable:
        """A random variable of a type."""
        t = t or self.random.choice("iulmfd")
        return Variable(t, f"{t}{self.random.randrange(SLOTS)}")

    def literal(self, t: str) -> Literal:
        """A random constant."""
        name, kind = TYPES[t]
        if t in "fd":
            number = kind(self.random.choice(FLOAT_EDGES) * self.random.choice((1, -1)))
            text = f"__int_as_float({int(number.view(np.int32))})" if t == "f" else None
            text = text or f"__longlong_as_double({int(number.view(np.int64))}ll)"
            return Literal(t, number, text)
        bits = 8 * np.dtype(kind).itemsize
        magnitude = self.random.choice((self.random.choice(INTEGER_EDGES),
                                        self.random.getrandbits(bits)))  # fmt: skip
        number = np.array([magnitude], f"u{bits // 8}").view(kind)[0]
        return Literal(t, number, f"(({name}){magnitude % 2**bits}ull)")

    def leaf(self, t: str) -> Expression:
        """A variable, a constant, a loop counter or an array element."""
        pick = self.random.random()
        if pick < 0.15:
            return self.literal(t)
        if t == "i" and self.counters and pick < 0.35:
            return self.random.choice(self.counters)
        if t == "u" and pick < 0.3:
            return Cell(self.variable("u"))
        return self.variable(t)

    def expression(self, t: str, depth: int) -> Expression:
        """A random expression of a type."""
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf(t)
        operation = self.random.choice(BY_RESULT[t])
        operands = tuple(self.expression(a, depth - 1) for a in operation.arguments)
        return Call(operation, operands)

    def several(self, depth: int, in_loop: bool) -> tuple[Statement, ...]:
        """One to three statements."""
        count = self.random.randint(1, 3)
        return tuple(self.statement(depth, in_loop) for _ in range(count))

    def statement(self, depth: int, in_loop: bool) -> Statement:
        """A random statement."""
        pick = self.random.random()
        if depth < 3 and pick < 0.14:
            otherwise = self.several(depth + 1, in_loop) if self.random.random() < 0.6 else ()
            return If(self.expression("i", 2), self.several(depth + 1, in_loop), otherwise)
        if depth < 2 and pick < 0.24:
            return self.loop(depth)
        if depth < 2 and pick < 0.31:
            return self.switch(depth)
        if in_loop and pick < 0.40:
            return Leave(self.random.choice(("break", "continue")), self.expression("i", 2))
        if self.leaves and depth > 0 and pick < 0.44:
            return Leave("goto end", self.expression("i", 2))
        if depth == 0 and not self.leaves and pick > 0.93:
            target = self.variable()
            return Shuffle(target, self.variable(target.type), self.random.randrange(1, 32))
        if pick > 0.85:
            return Store(self.expression("u", 1), self.expression("u", 2))
        target = self.variable()
        return Assign(target, self.expression(target.type, self.random.randint(1, 3)))

    def loop(self, depth: int) -> Loop:
        """A loop whose body may use its counter."""
        counter = Variable("i", f"k{self.n_loops}")
        self.n_loops += 1
        turns = self.expression("i", 1)
        self.counters.append(counter)
        inside = self.several(depth + 1, in_loop=True)
        self.counters.pop()
        return Loop(counter, turns, inside)

    def switch(self, depth: int) -> Switch:
        """A switch; its cases hold no break or continue of their own."""
        labels = self.random.sample(range(7), self.random.randint(2, 7))
        if self.random.random() < 0.7:
            labels.append(7)
        cases = tuple(
            (label, self.several(depth + 1, in_loop=False), self.random.random() < 0.2)
            for label in labels
        )
        return Switch(self.expression("u", 1), cases)


def generate(seed: int) -> Program:
    """The program of a seed."""
    return Generator(seed).program()
