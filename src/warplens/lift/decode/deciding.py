"""Which parameters lead to the arrays whose contents decide what a kernel does.

For every register two sets are followed through the kernel: of parameters from which its value was
computed (an address names its array this way), and of parameters through whose arrays its value was
loaded. The latter, of what decides a branch, guards an access or is part of an address, are the
answer: `gather` needs its indices, not what they choose. Whatever cannot be followed, as a value by
way of shared memory or of another lane, may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from warplens.lift.decode.binding import (
    Bound,
    access_bytes,
    is_wide_address,
    memory_keys,
    operand_keys,
)
from warplens.lift.decode.dependence import (
    CONSTANTS,
    LOADS,
    STORES,
    LiftedBlock,
    Step,
    ends_are_known,
    step_of,
)
from warplens.sass.model import Const, Mem

ANYTHING = 1  # of a set of parameters: not only they; their words follow as bits
_WORD = 8  # bytes of a pointer
_OWN_SPACES = frozenset({"LDS", "LDL", "LDSM", "STS", "STL", "STSM", "ATOMS"})

# by register: the parameters that it was computed from, and those that it was loaded through
_State = dict[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Deciding:
    """Sets of parameters: those whose arrays decide, and those in the address of each global load
    and of each access that writes."""

    parameters: int
    loads: frozenset[int]
    stores: frozenset[int]


def words_of(parameters: int) -> list[int]:
    """The numbers of their 8-byte words."""
    return [bit for bit in range(parameters.bit_length() - 1) if parameters >> (bit + 1) & 1]


def deciding(
    blocks: Sequence[LiftedBlock], bind: Callable[[int], Bound], parameter_base: int
) -> Deciding | None:
    """What decides the ways and addresses of a kernel; None where that cannot be followed."""
    found = _Search(parameter_base)
    steps: list[list[_Item]] = []
    for block in blocks:
        items = [bind(i) for i in range(block.start, block.end)]
        pairs = [(item, step_of(item)) for item in items]
        known = [_Item(item, step) for item, step in pairs if step is not None]
        if len(known) < len(items) or not ends_are_known(block, items):
            return None
        steps.append(known)
    at_start: list[_State | None] = [None] * len(blocks)
    at_start[0] = {}
    todo = [0]
    while todo:
        number = todo.pop()
        state = dict(at_start[number] or {})
        for item in steps[number]:
            found.follow(item, state)
        for successor in blocks[number].successors:
            joined = _joined(at_start[successor], state)
            if joined != at_start[successor]:
                at_start[successor] = joined
                todo.append(successor)
    return found.result()


def _joined(before: _State | None, state: _State) -> _State:
    joined = dict(before or {})
    for key, (origin, source) in state.items():
        known = joined.get(key, (0, 0))
        joined[key] = known[0] | origin, known[1] | source
    return joined


@dataclass(frozen=True, slots=True)
class _Item:
    bound: Bound
    step: Step


class _Search:
    """What has been found on the way through a kernel."""

    def __init__(self, parameter_base: int) -> None:
        self._base = parameter_base
        self._deciding = 0
        self._addresses: dict[int, tuple[bool, bool, int]] = {}  # by place: loads, writes, set

    def result(self) -> Deciding:
        """All of it."""
        every = self._addresses.values()
        return Deciding(
            parameters=self._deciding,
            loads=frozenset(a for loads, _, a in every if loads),
            stores=frozenset(a for _, writes, a in every if writes),
        )

    def follow(self, item: _Item, state: _State) -> None:
        """One instruction: notes what decides, and changes the state."""
        guard, decides, passes, writes, is_source = item.step
        self._deciding |= _union(state, _keys(decides))[1]
        role = item.bound.op.role
        if role in LOADS or role in STORES:
            value = self._access(item.bound, state)
        elif is_source:
            value = ANYTHING, ANYTHING
        else:
            origin, source = _union(state, _keys(passes))
            value = origin | self._constants(item.bound), source
        if guard >= 0:
            value = value[0], value[1] | state.get(guard >> 1, (0, 0))[1]
        for key in _keys(writes):
            before = state.get(key, (0, 0)) if not item.bound.inst.is_unguarded else (0, 0)
            state[key] = before[0] | value[0], before[1] | value[1]

    def _access(self, item: Bound, state: _State) -> tuple[int, int]:
        """What a load gives; its address and those of stores are noted."""
        inst = item.inst
        if inst.opcode in _OWN_SPACES:
            return ANYTHING, ANYTHING
        places = [o for o in inst.operands if isinstance(o, Mem)]
        keys = [key for o in places for key in memory_keys(o, is_wide_address(inst, o))]
        address = _union(state, keys)[0]
        role = item.op.role
        _, _, before = self._addresses.get(inst.address, (False, False, 0))
        writes = role in STORES or role == "atomic"
        self._addresses[inst.address] = role in LOADS, writes, before | address
        is_number = access_bytes(inst) < _WORD  # it cannot be a pointer, but an index
        return 0 if is_number else ANYTHING, address or ANYTHING

    def _constants(self, item: Bound) -> int:
        """The parameters among an instruction's operands."""
        found = 0
        for operand in item.inst.operands:
            if not isinstance(operand, Const) or operand.bank == 2:  # literals
                continue
            if operand.bank != 0 or operand_keys(operand.base):
                found |= ANYTHING
                continue
            size = access_bytes(item.inst) if item.op.role in CONSTANTS else 1
            first = operand.offset - self._base
            for place in range(first, first + size):
                if place >= 0:
                    found |= 2 << place // _WORD
        return found


def _keys(some: int) -> Iterable[int]:
    """The numbers of the bits that are set."""
    while some:
        lowest = some & -some
        yield lowest.bit_length() - 1
        some ^= lowest


def _union(state: _State, keys: Iterable[int]) -> tuple[int, int]:
    origin = source = 0
    for key in keys:
        known = state.get(key, (0, 0))
        origin, source = origin | known[0], source | known[1]
    return origin, source
