"""Which instructions only compute values that decide nothing: neither a way nor a place.

A trace holds what is executed and which places are touched, not what is computed. Backwards through
a kernel, what branches, guards and addresses read is needed, and what those are computed from; a
value that comes from memory makes everything needed that is stored there. The others need not be
computed for a trace: a product of matrices leaves it the counters of its loops and its loads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warplens.lift.decode.binding import KEY_REGISTER, Bound, access_bytes, bits, operand_keys
from warplens.lift.decode.dependence import (
    COPIES,
    LOADS,
    STORES,
    LiftedBlock,
    Step,
    ends_are_known,
    step_or_copy,
)
from warplens.sass.model import Const, Mem, Reg

_SHARED, _LOCAL, _FAR = 1, 2, 4  # kinds of memory; generic accesses go to any
_ANY = _SHARED | _LOCAL | _FAR
_SPACES = {"LDS": _SHARED, "LDSM": _SHARED, "STS": _SHARED, "STSM": _SHARED, "ATOMS": _SHARED,
           "LDL": _LOCAL, "STL": _LOCAL, "LDG": _FAR, "STG": _FAR, "ATOMG": _FAR, "RED": _FAR,
           "REDG": _FAR}  # fmt: skip
_STACK = 1  # register
# They read what lanes hold that went another way, on which other instructions wrote it.
_ACROSS = ("SHFL", "MOVM", "HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "FSWZADD")


def needless(
    blocks: Sequence[LiftedBlock], bind: Callable[[int], Bound], *, guards: bool
) -> frozenset[int]:
    """The indices of instructions, all of which compute values or are products of warpgroups, whose
    results no branch or address needs, and with `guards` no guard; without, the guards of needless
    instructions may be needless. None where the kernel cannot be followed. `bind` gives an
    instruction by its index."""
    code: list[list[tuple[int, Bound, Step]]] = []
    for block in blocks:
        items = [(i, bind(i)) for i in range(block.start, block.end)]
        known = [(i, item, step) for i, item in items if (step := step_or_copy(item)) is not None]
        if len(known) < len(items) or not ends_are_known(block, [item for _, item in items]):
            return frozenset()
        code.append(known)
    return _Search(blocks, code, guards).result()


def _may_go(item: Bound) -> bool:
    """Whether nothing but an instruction's results is lost without it: an index into constants is
    told, and so are the values of a MATCH."""
    if item.op.role == "warpgroup_product":
        return True
    indexed = any(
        isinstance(o, Const) and (o.bank < 0 or operand_keys(o.base)) for o in item.inst.operands
    )
    return item.op.role == "value" and item.inst.opcode != "MATCH" and not indexed


def _words_of(item: Bound) -> int:
    """The words of the stack that an access names by a fixed offset, as bits; 0 of all others."""
    place = next((o for o in item.inst.operands if isinstance(o, Mem)), None)
    if _SPACES.get(item.inst.opcode) != _LOCAL or place is None or place.uniform is not None:
        return 0
    if not isinstance(place.base, Reg) or place.base.index != _STACK or place.offset < 0:
        return 0
    first, last = place.offset // 4, (place.offset + access_bytes(item.inst) - 1) // 4
    return (2 << last) - (1 << first)


def _has_frame(code: Sequence[Bound]) -> bool:
    """Whether the stack's register stays the same from the first access to local memory on."""
    local = [i for i, item in enumerate(code) if _SPACES.get(item.inst.opcode) == _LOCAL]
    writers = [i for i, item in enumerate(code) if KEY_REGISTER + _STACK in item.writes]
    return bool(local) and all(i < local[0] for i in writers)


class _Needed:
    """What is needed at a place in straight code: keys, and keys that only lanes need for which a
    guard holds (by key << 1 | negated)."""

    def __init__(self) -> None:
        self.keys = 0
        self._under: dict[int, int] = {}

    def join(self, other: _Needed) -> None:
        """Adds what is needed on another way."""
        self.keys |= other.keys
        for number, under in other._under.items():
            self._under[number] = self._under.get(number, 0) | under

    def state(self) -> tuple[tuple[int, int], ...]:
        """All of it, to be compared; what both a guard and its opposite need is needed by all."""
        for number in [n for n in self._under if not n & 1]:
            self.keys |= self._under[number] & self._under.get(number | 1, 0)
        self._under = {n: rest for n, u in self._under.items() if (rest := u & ~self.keys)}
        return ((-1, self.keys), *sorted(self._under.items()))

    def written(self, keys: int, guard: int) -> int:
        """Those of the keys an instruction writes that are needed behind it."""
        for number in [n for n in self._under if keys >> (n >> 1) & 1]:  # of another value
            self.keys |= self._under.pop(number)
        found = self.keys
        for number, under in self._under.items():
            found |= under if guard < 0 or number != guard ^ 1 else 0
        return found & keys

    def before(self, keys: int, guard: int) -> None:
        """Goes to before an instruction that writes `keys`."""
        if guard < 0:
            self._under = {n: under & ~keys for n, under in self._under.items()}
        else:
            others = self._under.get(guard ^ 1, 0) | self.keys & keys
            self._under[guard ^ 1] = others
            self._under[guard] = self._under.get(guard, 0) & ~keys
        self.keys &= ~keys

    def add(self, keys: int, guard: int) -> None:
        """Adds what an instruction reads under its guard."""
        if guard < 0:
            self.keys |= keys
            return
        self._under[guard] = self._under.get(guard, 0) | keys & ~(1 << (guard >> 1))


class _Search:
    """What is needed, grown until nothing is added."""

    def __init__(self, blocks: Sequence[LiftedBlock], code: list[list[tuple[int, Bound, Step]]],
                 guards: bool) -> None:  # fmt: skip
        self._blocks, self._code, self._guards = blocks, code, guards
        self._at_start = [_Needed() for _ in blocks]
        self._everywhere = 0  # keys of which other lanes' old values are needed, too
        self._spaces = 0  # kinds of memory of which the contents are needed
        self._words = 0  # words of the stack of which they are
        self._has_frame = _has_frame([item for block in code for _, item, _ in block])
        self._copies = any(item.op.role in (*COPIES, "copy_async")
                           for block in code for _, item, _ in block)  # fmt: skip

    def result(self) -> frozenset[int]:
        """The instructions that are not needed."""
        before: list[list[int]] = [[] for _ in self._blocks]
        for number, block in enumerate(self._blocks):
            for after in block.successors:
                before[after].append(number)
        every = set(range(len(self._blocks)))
        stale = set(every)
        while stale:
            memory = self._memory()
            for number in reversed(range(len(self._blocks))):
                if number not in stale:
                    continue
                stale.remove(number)
                needed = self._through(number)
                if needed.state() != self._at_start[number].state():
                    stale.update(before[number])
                self._at_start[number] = needed
            if memory != self._memory():
                stale = set(every)
        found: set[int] = set()
        for number in range(len(self._blocks)):
            self._through(number, found)
        return frozenset(found)

    def _memory(self) -> tuple[int, int, int]:
        """What is needed wherever it was written."""
        return self._spaces, self._words, self._everywhere

    def _through(self, number: int, found: set[int] | None = None) -> _Needed:
        """What is needed before a block; what is needless in it is added to `found`."""
        needed = _Needed()
        for successor in self._blocks[number].successors:
            needed.join(self._at_start[successor])
        for index, item, step in reversed(self._code[number]):
            guard, decides, passes, writes, _ = step
            is_needed = bool(needed.written(writes, guard) or writes & self._everywhere)
            stays = is_needed or not _may_go(item)
            if stays:
                needed.before(writes, guard)
                needed.add(decides | passes | self._more(item, is_needed), guard)
            elif found is not None:
                found.add(index)
            if guard >= 0 and (stays or self._guards):
                needed.keys |= 1 << (guard >> 1)
            if item.inst.opcode == "SHFL":  # observers are told who takes from whom
                for _, operand in item.sources[1:3]:
                    needed.keys |= bits(operand_keys(operand))
        return needed

    def _more(self, item: Bound, is_needed: bool) -> int:
        """What an instruction that stays needs beyond its step, and what memory it needs."""
        role, opcode = item.op.role, item.inst.opcode
        reads = bits(item.reads)
        if opcode.startswith(_ACROSS):
            self._everywhere |= reads if is_needed else 0
        if role == "warpgroup_product":
            self._spaces |= _ANY
            return reads
        space, words = _SPACES.get(opcode, _ANY), _words_of(item) if self._has_frame else 0
        if role in LOADS and is_needed:
            self._words |= words
            self._spaces |= 0 if words else space
            if self._copies and self._spaces & (_SHARED | _FAR):
                self._spaces |= _SHARED | _FAR
        hits = words & self._words if words else space & _LOCAL and self._words
        if role == "atomic" or (role in STORES and (space & self._spaces or hits)):
            return reads
        return 0
