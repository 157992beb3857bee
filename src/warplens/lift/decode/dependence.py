"""Whether what a kernel does depends on what memory holds: its branches, masks and addresses.

Registers that come from memory, from other warps or from a clock are followed through the kernel.
If none of them decides a branch, guards an access or is part of an address, every run with the same
parameters executes the same instructions and touches the same places, whatever arrays hold. Where
that is not certain, the answer is that it depends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from warplens.lift.decode.binding import (
    KEY_PREDICATE,
    KEY_UNIFORM,
    KEY_UNIFORM_PREDICATE,
    N_KEYS,
    Bound,
    bits,
    is_wide_address,
    memory_keys,
    operand_keys,
)
from warplens.lift.decode.waiting import suspends
from warplens.sass.model import Const, Mem

# banks that are the same in every launch with these parameters: parameters, literals, addresses
_FIXED_BANKS = (0, 2, 4)
_MOVES = frozenset({"bmov", "rpcmov", "p2r", "r2p", "nop", "fence"})
LOADS = frozenset({"load", "atomic", "load_matrix"})
STORES = frozenset({"store", "reduction", "store_matrix", "copy_async"})
CONSTANTS = frozenset({"load_constant", "load_constant_uniform"})
# what these read decides what is executed
_DECIDES = frozenset({
    "bra", "brx", "brxu", "bssy", "bsync", "break", "call", "exit", "ret", "warpsync", "bar",
    "yield", "sleep", "lepc", "query_space",
})  # fmt: skip
# asynchronous copies, mbarriers, products of warpgroups: followed only where memory holds what the
# launch finds, since maps of tensors may lie there
COPIES = frozenset({
    "tensor_load", "tensor_store", "tensor_reduce", "bulk_copy", "bulk_reduce", "bulk_fill",
    "copy_commit",
    "mbarrier_init", "mbarrier_arrive", "mbarrier_count", "mbarrier_copied", "warpgroup_wait",
    "copy_wait", "cluster_arrive", "cluster_wait", "set_registers",
})  # fmt: skip
_CLOCKS = ("CLOCK", "GLOBALTIMER")

# What an instruction is to the search: its guard (key << 1 | negated; -1: none), keys that must not
# come from memory, keys whose origin is passed on, keys that are written, and whether its results
# come from memory in any case.
Step = tuple[int, int, int, int, bool]
_PREDICATES = bits(range(KEY_PREDICATE, KEY_UNIFORM)) | bits(range(KEY_UNIFORM_PREDICATE, N_KEYS))


class LiftedBlock(Protocol):
    """Straight code: its instructions by index, and where it may lead."""

    start: int
    end: int
    successors: tuple[int, ...]
    indirect: bool


def depends_on_memory(
    blocks: Sequence[LiftedBlock], bind: Callable[[int], Bound], *, guards: bool = False
) -> bool:
    """Whether the ways and addresses of a kernel may depend on what memory holds; `bind` gives an
    instruction by its index. With `guards`, whether any instruction's guard may, too."""
    steps: list[list[Step]] = []
    for block in blocks:
        items = [bind(i) for i in range(block.start, block.end)]
        found = [step for step in map(step_of, items) if step is not None]
        if len(found) < len(items) or not ends_are_known(block, items):
            return True
        steps.append(found)
    at_start: list[int | None] = [None] * len(blocks)  # keys that come from memory
    at_start[0] = 0
    todo = [0]
    while todo:
        number = todo.pop()
        state = _through(steps[number], at_start[number] or 0, guards)
        if state is None:
            return True
        for successor in blocks[number].successors:
            before = at_start[successor]
            if before is None or state & ~before:
                at_start[successor] = state | (before or 0)
                todo.append(successor)
    return False


def ends_are_known(block: LiftedBlock, items: Sequence[Bound]) -> bool:
    """Whether all places are known to which straight code leads."""
    return not block.indirect or (bool(block.successors) and items[-1].op.role == "ret")


def _through(steps: list[Step], state: int, guards: bool) -> int | None:
    """The keys from memory at the end of straight code; None if one of them decides something.

    What is written under a predicate and read under it is known there, whatever the lanes that it
    leaves out keep.
    """
    clean_under: dict[int, int] = {}  # by guard: keys that do not come from memory where it holds
    for guard, decides, passes, writes, is_source in steps:
        clean = clean_under.get(guard, 0)
        if guards and guard >= 0:
            decides |= 1 << (guard >> 1)
        if state & decides & ~clean:
            return None
        tainted = is_source or bool(state & passes & ~clean)
        if writes & _PREDICATES:
            clean_under = {g: m for g, m in clean_under.items() if not writes >> (g >> 1) & 1}
        if tainted:
            state |= writes
            clean_under = {g: m & ~writes for g, m in clean_under.items()}
        elif guard >= 0:
            clean_under[guard] = clean_under.get(guard, 0) | writes
        else:
            state &= ~writes
    return state


def step_of(item: Bound) -> Step | None:
    """What an instruction is to the search; None for one whose effects are not followed."""
    role, inst = item.op.role, item.inst
    reads, writes = bits(item.reads), bits(item.writes)
    guard, number = bits(operand_keys(inst.guard)), -1
    if guard and inst.guard is not None:
        number = (guard.bit_length() - 1) << 1 | inst.guard.negate
    elif inst.guard is not None and inst.guard.negate:  # @!PT: never executed
        return number, 0, 0, 0, False
    is_set = any(isinstance(o, Const) and o.bank not in _FIXED_BANKS for o in inst.operands)
    if role in _MOVES or (role == "value" and inst.opcode != "MATCH"):
        # SHFL may name lanes that went another way.
        return number, 0, reads, writes, is_set or inst.opcode == "SHFL"
    if role in LOADS or role in STORES:
        places = [o for o in inst.operands if isinstance(o, Mem)]
        if not places or any(isinstance(o, Const) for o in inst.operands):
            return None
        address = bits(k for o in places for k in memory_keys(o, is_wide_address(inst, o)))
        return number, guard | address, 0, writes, role in LOADS
    if role == "s2r":
        return number, guard, 0, writes, any(name in inst.text for name in _CLOCKS)
    if role == "b2r":
        return number, guard, 0, writes, True
    # Traces hold the values of a MATCH, since lanes take turns by value.
    if role in _DECIDES or role in CONSTANTS or role == "value":
        return number, reads, 0, writes, is_set
    return None


def step_or_copy(item: Bound) -> Step | None:
    """What `step_of` gives, for copies and products of warpgroups, too."""
    role, inst = item.op.role, item.inst
    found = step_of(item)
    if found is not None:
        return found
    reads, writes = bits(item.reads), bits(item.writes)
    guard, number = bits(operand_keys(inst.guard)), -1
    if guard and inst.guard is not None:
        number = (guard.bit_length() - 1) << 1 | inst.guard.negate
    if role == "warpgroup_product":
        return number, guard, 0, writes, True
    if suspends(item):  # it goes on when the phase is over, whatever it was waiting for
        return number, guard | reads, 0, writes, False
    return (number, guard | reads, 0, writes, True) if role in COPIES else None
