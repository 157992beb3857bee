"""What random programs are made of: operations on a thread's values, collectives of a warp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from tests.fuzz.values import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`text` has {0}, {1}, ... for the operands; `function` gets arrays of the operand types.

    Attributes:
        weight: how often it is chosen; less than 1 for what compiles to very much code.
        literals: whether constants may be among its operands. Compilers fold comparisons, minima
            and choices with constants as if there were no NaN and no -0.
    """

    result: str
    arguments: str
    text: str
    function: Callable[..., Array]
    weight: float = 1.0
    literals: bool = True


def into(operations: list[Operation]) -> Callable[..., None]:
    """A function that adds an operation to a list."""

    def define(
        signature: str, text: str, function: Callable[..., Array], weight: float = 1.0, *,
        literals: bool = True,
    ) -> None:  # fmt: skip
        """Adds an operation; the signature is operand types, '>' and the result type."""
        arguments, result = signature.split(">")
        operations.append(
            Operation(
                result=result, arguments=arguments, text=text, function=function, weight=weight,
                literals=literals,
            )
        )  # fmt: skip

    return define


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """What all lanes of a warp do together; `function` gets the 32 values of a warp."""

    result: str
    argument: str
    text: str
    function: Callable[[Array], Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A kind of random programs.

    Attributes:
        prelude: text before the kernels of a source.
        types: letters of the types of its variables.
    """

    name: str
    prelude: str
    types: str
    operations: Sequence[Operation]
    collectives: Sequence[Collective]
    by_result: dict[str, list[Operation]] = field(init=False)
    weights: dict[str, list[float]] = field(init=False)

    def __post_init__(self) -> None:
        letters = {op.result for op in self.operations}
        by_result = {t: [op for op in self.operations if op.result == t] for t in letters}
        object.__setattr__(self, "by_result", by_result)
        weights = {t: list(accumulate(op.weight for op in ops)) for t, ops in by_result.items()}
        object.__setattr__(self, "weights", weights)
