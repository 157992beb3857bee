"""Random programs from a seed."""

from __future__ import annotations

import random

import numpy as np

from tests.fuzz.families import FAMILIES
from tests.fuzz.program import (
    SLOTS,
    Assign,
    Call,
    Cell,
    Exchange,
    Expression,
    If,
    Leave,
    Literal,
    Loop,
    Program,
    Statement,
    Store,
    Switch,
    Variable,
)
from tests.fuzz.values import FLOAT_EDGES, INTEGER_EDGES, TYPES


class Generator:
    """Builds one program.

    A program stops growing when its budget of operations is spent; a third of the programs are
    straight lines. Programs with leaves have no collectives: lanes may be gone.
    """

    def __init__(self, seed: int, family: str) -> None:
        self.random = random.Random(f"{family}/{seed}")
        self.seed = seed
        self.family = FAMILIES[family]
        style = self.random.random()
        self.branches = style > 0.3
        self.leave = self.random.choice(("", "", "goto end", "return")) if self.branches else ""
        self.cells = self.random.random() < 0.2
        self.budget = self.random.randint(10, 40)
        types = self.family.types
        self.types = self.random.sample(types, self.random.randint(2, min(4, len(types))))
        self.counters: list[Variable] = []
        self.n_loops = 0

    def program(self) -> Program:
        """The program of this generator's seed."""
        statements = []
        while self.budget > 0 and len(statements) < 12:
            statements.append(self.statement(depth=0, in_loop=False))
        return Program(self.seed, tuple(statements), self.family.name)

    def variable(self, t: str | None = None) -> Variable:
        """A random variable of a type."""
        t = t or self.random.choice(self.types)
        return Variable(t, f"{t}{self.random.randrange(SLOTS)}")

    def literal(self, t: str) -> Expression:
        """A random constant."""
        name, kind = TYPES[t].name, TYPES[t].kind
        if t in "fd":
            number = kind(self.random.choice(FLOAT_EDGES) * self.random.choice((1, -1)) + 0.0)
            text = f"__int_as_float({int(number.view(np.int32))})" if t == "f" else None
            text = text or f"__longlong_as_double({int(number.view(np.int64))}ll)"
            return Literal(t, number, text)
        if t not in "iulm":
            return self.packed_literal(t)
        bits = 8 * np.dtype(kind).itemsize
        magnitude = self.random.choice((self.random.choice(INTEGER_EDGES),
                                        self.random.getrandbits(bits)))  # fmt: skip
        number = np.array([magnitude], f"u{bits // 8}").view(kind)[0]
        return Literal(t, number, f"(({name}){magnitude % 2**bits}ull)")

    def packed_literal(self, t: str) -> Literal:
        """A constant of a 16-bit float type or a pair; powers of two and small numbers."""
        numbers = [self.random.choice((0, 1, -1, 0.5, 2, -3, 0.25, 8)) for _ in range(2)]
        number = np.array(numbers if TYPES[t].is_pair else numbers[:1], TYPES[t].kind)
        if TYPES[t].is_pair:
            word = int(TYPES[t].to_words(number[None, :])[0][0])
            return Literal(t, number, TYPES[t].unpack.format(f"{word}u"))
        word = int(TYPES[t].to_words(number)[0][0])
        return Literal(t, number[0], TYPES[t].unpack.format(f"{word}u"))

    def leaf(self, t: str, literals: bool = True) -> Expression:
        """A variable, a constant, a loop counter or an array element."""
        pick = self.random.random()
        if pick < 0.15 and literals:
            return self.literal(t)
        if t == "i" and self.counters and pick < 0.4:
            return self.random.choice(self.counters)
        if t == "u" and self.cells and pick < 0.35:
            return Cell(self.variable("u"))
        return self.variable(t)

    def expression(self, t: str, depth: int, literals: bool = True) -> Expression:
        """A random expression of a type."""
        if depth == 0 or self.random.random() < 0.1:
            return self.leaf(t, literals)
        operation = self.random.choices(
            self.family.by_result[t], cum_weights=self.family.weights[t]
        )[0]
        self.budget -= 1
        literals = literals and operation.literals
        operands = tuple(self.expression(a, depth - 1, literals) for a in operation.arguments)
        return Call(operation, operands)

    def several(self, depth: int, in_loop: bool) -> tuple[Statement, ...]:
        """One to three statements."""
        count = self.random.randint(1, 3 if self.budget > 10 else 1)
        return tuple(self.statement(depth, in_loop) for _ in range(count))

    def statement(self, depth: int, in_loop: bool) -> Statement:
        """A random statement."""
        pick = self.random.random()
        if self.branches and self.budget > 3:
            found = self.branch(pick, depth, in_loop)
            if found is not None:
                return found
        if depth == 0 and not self.leave and 0.6 < pick < 0.68:
            how = self.random.choice(self.family.collectives)
            return Exchange(self.variable(how.result), self.leaf(how.argument, False), how)
        if self.cells and pick > 0.85:
            return Store(self.expression("u", 1), self.expression("u", 2))
        target = self.variable()
        source = self.expression(target.type, self.random.randint(1, 4))
        # A constant variable would bring constants to where they are not allowed.
        return Assign(target, self.variable(target.type) if is_constant(source) else source)

    def branch(self, pick: float, depth: int, in_loop: bool) -> Statement | None:
        """A branching statement, or None."""
        if depth < 3 and pick < 0.22:
            condition = self.expression("i", 2)
            then = self.several(depth + 1, in_loop)
            otherwise = self.several(depth + 1, in_loop) if self.random.random() < 0.6 else ()
            return If(condition, then, otherwise)
        if depth < 2 and pick < 0.34:
            return self.loop(depth)
        if depth < 2 and pick < 0.40:
            return self.switch(depth)
        if in_loop and pick < 0.48:
            return Leave(self.random.choice(("break", "continue")), self.expression("i", 2))
        if self.leave and pick < 0.53:
            return Leave(self.leave, self.expression("i", 2))
        return None

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
        labels = self.random.sample(range(7), self.random.randint(2, 5))
        if self.random.random() < 0.7:
            labels.append(7)
        selector = self.expression("u", 1)
        cases = tuple(
            (label, (self.statement(3, in_loop=False),), self.random.random() < 0.2)
            for label in labels
        )
        return Switch(selector, cases)


def is_constant(expression: Expression) -> bool:
    """Whether no variable is in it."""
    if isinstance(expression, Call):
        return all(is_constant(operand) for operand in expression.operands)
    return isinstance(expression, Literal)


def generate(seed: int, family: str = "numeric") -> Program:
    """The program of a seed."""
    return Generator(seed, family).program()
