"""Loops of a walk whose passes are alike are left out: their registers go on by constant steps.

When two passes in succession have gone through the same basic blocks with the same threads, and
every register that decides something has changed by the same amount in both, later passes are tried
with the registers that they would have. The last one that is like the others is found by doubling
and halving; that those between two alike are alike, too, is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from warplens.lift.engines.numpy_lanes import NumpyValue

Values = dict[int, NumpyValue]
Trace = list[tuple[int, bytes]]
_PATIENCE = 6  # further passes after which a loop that was not regular is looked at again
FARTHEST = 1 << 20  # passes


@dataclass(slots=True)
class Loop:
    """The passes through the innermost loop that a walk is in.

    Attributes:
        head: its first basic block; begins: registers at the begin of the last passes, as far as
            they decide something; trace: the blocks and threads of the present pass; earlier: of
            the one before.
    """

    head: int = -1
    begins: list[Values] = field(default_factory=list)
    trace: Trace = field(default_factory=list)
    earlier: Trace = field(default_factory=list)
    wait: int = 0

    def arrives(self, head: int, values: Values) -> bool:
        """A pass begins; whether the two before it may have been alike."""
        if head != self.head:
            self.head, self.begins, self.earlier, self.wait = head, [], [], 0
        is_alike = len(self.begins) >= 2 and self.trace == self.earlier
        self.begins = [*self.begins[-2:], values]
        self.earlier, self.trace = self.trace, []
        self.wait -= self.wait > 0
        return is_alike and not self.wait

    def fails(self) -> None:
        """It was not regular."""
        self.wait = _PATIENCE

    def goes_on(self) -> Callable[[int], Values] | None:
        """Registers after a number of further passes, if those until now changed by steps."""
        steps: dict[int, npt.NDArray[np.uint32]] = {}
        first, second, third = self.begins
        for key, value in third.items():
            if key not in first or key not in second:
                return None
            a, b, c = first[key], second[key], value
            if a.type != c.type or b.type != c.type:
                return None
            if c.type == "u32":
                step = c.array - b.array
                if not np.array_equal(step, b.array - a.array):
                    return None
                if step.any():
                    steps[key] = step
            elif not (np.array_equal(b.array, c.array) and np.array_equal(a.array, b.array)):
                return None

        def after(passes: int) -> Values:
            times = np.uint32(passes)
            moved = {
                key: NumpyValue("u32", third[key].array + times * step)
                for key, step in steps.items()
            }
            return {**third, **moved}

        return after


def same(a: Values, b: Values) -> bool:
    """Whether all registers of `a` have these values in `b`."""
    return all(
        key in b and b[key].type == one.type and np.array_equal(b[key].array, one.array)
        for key, one in a.items()
    )


def alike(is_regular: Callable[[int], bool]) -> int:
    """How many further passes are regular, counted from 0."""
    if not is_regular(0):
        return 0
    low, high = 0, 1
    while high < FARTHEST and is_regular(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_regular(middle) else (low, middle)
    return low + 1


def chosen(values: Values, keys: Sequence[int]) -> Values:
    """Those of the keys that have a value."""
    return {key: values[key] for key in keys if key in values}
