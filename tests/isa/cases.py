"""A test case of one operation: its operands, and a formula over Python integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.isa.edges import edge_lanes
from tests.isa.engines import Array, Compiled, Typed, assert_lanes_equal, run_numpy
from warplens.isa.table import Modifiers, Op, find
from warplens.lift.engines.host import host_features
from warplens.metrics.classes import load_isa

Formula = Callable[..., "int | bool | tuple[int | bool | None, ...]"]
TYPES = {"r": "u32", "c": "u32", "q": "u64", "k": "u64", "p": "p"}


@dataclass(frozen=True, slots=True)
class Case:
    """One mnemonic with operands.

    `sources` holds one token per operand: a kind (r c q k p), with `-` for a negated and `~`
    for an inverted `c` or `k`, or `i=5` for a compile-time integer. `formula` gets the operands
    as integers before negation and returns the destinations in order (None: not compared).
    """

    mnemonic: str
    sources: str
    formula: Formula

    @property
    def tokens(self) -> list[str]:
        """The operands' tokens."""
        return self.sources.split()

    @property
    def types(self) -> list[str]:
        """Protocol types of the operands that are values."""
        return [TYPES[token[-1]] for token in self.tokens if "=" not in token]

    def __str__(self) -> str:
        return f"{self.mnemonic}({self.sources})"


def entry_of(mnemonic: str) -> tuple[Op, Modifiers]:
    """The table entry of a mnemonic; every modifier must be known to it."""
    load_isa()
    opcode, *names = mnemonic.split(".")
    entry = find(opcode, names)
    assert entry is not None, f"no entry for {mnemonic}"
    assert set(names) <= entry.modifiers, f"{mnemonic}: {set(names) - entry.modifiers}"
    return entry, Modifiers(names)


def function_of(case: Case, constants: dict[int, int] | None = None) -> Callable[..., Any]:
    """The operation as a function of the lanes and its value operands.

    Args:
        constants: operand number -> bits, for operands to be passed as constants instead.
    """
    entry, modifiers = entry_of(case.mnemonic)
    function = entry.function
    assert function is not None

    def run(x: Any, *values: Any) -> tuple[Any, ...]:
        given = iter(values)
        sources: list[Any] = []
        for n, token in enumerate(case.tokens):
            if "=" in token:
                sources.append(int(token.partition("=")[2], 0))
                continue
            value = next(given)
            if constants and n in constants:
                value = _constant(x, token[-1], constants[n])
            if token[-1] in "ck":
                sources.append((x.not_(value) if len(token) > 1 else value, token[0] == "-"))
            else:
                sources.append(value)
        result = function(x, modifiers, *sources)
        results = result if isinstance(result, tuple) else (result,)
        assert len(results) == len(entry.destinations)
        return tuple(value() if callable(value) else value for value in results)

    return run


def _constant(x: Any, kind: str, bits: int) -> Any:
    if kind == "p":
        return x.true() if bits else x.false()
    return x.u64(bits) if kind in "qk" else x.u32(bits)


def inputs_of(case: Case, seed: int, width: int = 32) -> list[Array]:
    """One array per value operand; now and then two operands are equal."""
    arrays = [edge_lanes(type, seed * 7 + n, width) for n, type in enumerate(case.types)]
    for n in range(1, len(arrays)):
        if arrays[n].dtype == arrays[n - 1].dtype and arrays[n].dtype != bool:
            equal = np.random.default_rng(seed + n).random(width) < 0.15
            arrays[n] = np.where(equal, arrays[n - 1], arrays[n])
    return arrays


def expected_lanes(case: Case, arrays: Sequence[Array]) -> list[list[int | bool | None]]:
    """The formula's results, one list per destination."""
    columns = [array.tolist() for array in arrays]
    rows = []
    for row in zip(*columns, strict=True):
        result = case.formula(*row)
        rows.append(result if isinstance(result, tuple) else (result,))
    return [list(column) for column in zip(*rows, strict=True)]


def assert_formula(case: Case, results: Sequence[Array], arrays: Sequence[Array]) -> None:
    """Every lane of the results is what the formula says."""
    for n, (column, result) in enumerate(zip(expected_lanes(case, arrays), results, strict=True)):
        mask = 1 if result.dtype == bool else (1 << 8 * result.dtype.itemsize) - 1
        for lane, (wanted, got) in enumerate(zip(column, result.tolist(), strict=True)):
            if wanted is None:
                continue
            sources = " ".join(f"{int(array[lane]):#x}" for array in arrays)
            assert int(wanted) & mask == int(got), (
                f"{case} result {n} lane {lane}: formula {int(wanted) & mask:#x}, "
                f"engine {int(got):#x}, from {sources}"
            )


def check_engines(case: Case, seeds: Sequence[int], width: int, host: str | None) -> None:
    """The LLVM engine gives the NumPy engine's results, and these are the formula's."""
    function = function_of(case)
    compiled = Compiled(function, case.types, width, host_features(host))
    active = np.ones(width, bool)
    for seed in seeds:
        arrays = inputs_of(case, seed, width)
        typed = [Typed(type, array) for type, array in zip(case.types, arrays, strict=True)]
        expected = run_numpy(function, active, typed)
        assert_formula(case, expected, arrays)
        assert_lanes_equal(expected, compiled(active, *arrays), *arrays)


def check_constants(case: Case, seed: int) -> None:
    """Folding of constant operands changes nothing; `seed` chooses which are constant."""
    arrays = inputs_of(case, seed)
    rng = np.random.default_rng(seed)
    constants: dict[int, int] = {}
    position = 0
    for n, token in enumerate(case.tokens):
        if "=" in token:
            continue
        if rng.random() < 0.6:
            bits = (
                int(rng.choice([0, int(arrays[position][0])]))
                if rng.random() < 0.5
                else int(arrays[position][0])
            )
            arrays[position] = np.full(32, bits, arrays[position].dtype)
            constants[n] = bits
        position += 1
    compiled = Compiled(function_of(case, constants), case.types)
    assert_formula(case, compiled(np.ones(32, bool), *arrays), arrays)
