"""Which way a block's warps take through their code, without executing it.

Only what decides branches, guards and addresses is computed, for all threads of a block at once,
by the NumPy engine: counters of loops, indices, parameters. What comes from memory or from other
lanes counts as zero. It takes hundredths of a second where tracing has to compile the kernel, and
tells how often loops run, which compiled code alone does not. Passes of a loop that are alike are
left out (`loops`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from warplens.isa.families import modifiers_of
from warplens.lift.decode.binding import (
    KEY_PREDICATE,
    KEY_UNIFORM,
    KEY_UNIFORM_PREDICATE,
    Bound,
    is_wide_address,
    memory_keys,
    operand_keys,
)
from warplens.lift.decode.gaps import bind_kernel
from warplens.lift.engines.numpy_lanes import NumpyValue
from warplens.lift.regions.operands import Operands
from warplens.sass.model import (
    RZ,
    BasicBlock,
    Const,
    Label,
    Mem,
    Pred,
    SassKernel,
    Special,
    UPred,
)
from warplens.tune.lanes import Lanes
from warplens.tune.loops import FARTHEST, Loop, Trace, alike, chosen, same

Bools = npt.NDArray[np.bool_]
Addresses = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]  # by thread, the basic block that comes next
_MOST = 3000  # visits of basic blocks
_COMPUTED = 15_000  # instructions; more take seconds
_LANES = frozenset("SHFL VOTE VOTEU MATCH REDUX".split())
_UNKNOWN = frozenset({"load", "atomic"})  # roles whose results are not followed
_CONSTANTS = frozenset({"load_constant", "load_constant_uniform"})
_AXES = "XYZ"


class Unknown(Exception):
    """The code does what is not followed here; who asks does without."""


class Visitor(Protocol):
    """What is told of a walk."""

    def block(self, number: int, active: Bools) -> None:
        """These threads enter a basic block."""

    def access(self, index: int, active: Bools) -> None:
        """They come to an instruction that accesses memory; registers are as before it."""

    def barrier(self) -> None:
        """They come to a barrier of the block."""

    def mark(self) -> None:
        """A pass through a loop begins."""

    def repeat(self, times: int) -> None:
        """What came since the mark before the last one, until that, comes so often again."""


class _Nobody:
    """A visitor that is told for nothing, while passes are tried."""

    def block(self, number: int, active: Bools) -> None: ...
    def access(self, index: int, active: Bools) -> None: ...
    def barrier(self) -> None: ...
    def mark(self) -> None: ...
    def repeat(self, times: int) -> None: ...


_NOBODY = _Nobody()


class _Registers:
    """Values by key, for `Operands`."""

    def __init__(self, x: Lanes) -> None:
        self._x = x
        self.values: dict[int, NumpyValue] = {}

    def read(self, key: int) -> NumpyValue:
        if key in self.values:
            return self.values[key]
        is_predicate = KEY_PREDICATE <= key < KEY_UNIFORM or key >= KEY_UNIFORM_PREDICATE
        return self._x.false() if is_predicate else self._x.u32(0)

    def read_bits(self, key: int) -> NumpyValue:
        value = self.read(key)
        return value if value.type in ("u32", "p") else self._x.bits(value)

    def read_pair(self, key: int) -> NumpyValue:
        return self._x.pair(self.read_bits(key), self.read_bits(key + 1))

    def write(self, key: int, value: NumpyValue) -> None:
        self.values[key] = value

    def write_pair(self, key: int, value: NumpyValue) -> None:
        value = self._x.bits(value) if value.type == "f64" else value
        self.values[key], self.values[key + 1] = self._x.low32(value), self._x.high32(value)


class _Operands(Operands):
    """Uniform registers hold a value per thread, too."""

    def _spread(self, value: Any, uniform: bool) -> Any:
        return value

    def _as_uniform(self, value: Any) -> Any:
        return value

    def _any(self, guard: Any) -> Any:
        return guard


class Walk:
    """All threads of one block, and where they stand.

    Attributes:
        warps: how many; items: the instructions; registers: what is known of their values.
    """

    def __init__(self, sass: SassKernel, bank: npt.NDArray[np.uint8], grid: Sequence[int],
                 block: Sequence[int]) -> None:  # fmt: skip
        """A walk of the block in the middle of the grid; `bank`: the launch's parameters."""
        bound, _ = bind_kernel(sass)
        self.items = [item for item in bound if item is not None]
        if len(self.items) < len(bound):
            raise Unknown("instructions that are not supported")
        self.sass, self._bank, self.threads = sass, bank.tobytes(), prod(block)
        self.warps = -(-self.threads // 32)
        x = Lanes(np.ones(self.threads, np.bool_))
        self._x, self.registers, self._computed = x, _Registers(x), 0
        registers: Any = self.registers
        lanes: Any = x
        self._operands = _Operands(registers, lanes, lanes, self._constant)
        self._special = _special(grid, block)
        self._accesses = [any(isinstance(o, Mem) for o in i.inst.operands) for i in self.items]
        self._start = {one.start: one.index for one in sass.blocks}
        needed, live = _needed(sass.blocks, self.items)
        self._needed, self._live = needed, [sorted(keys) for keys in live]
        self._plans = [
            [i for i in range(one.start, one.end) if needed[i] or _is_stop(self.items[i])]
            for one in sass.blocks
        ]

    def _constant(self, operand: Const, offset: int) -> NumpyValue:
        has_index = operand.base is not None and operand.base.index != RZ
        if has_index or operand.bank not in (0, 2, 4):
            return self._x.u32(0)  # as what comes from memory
        given = self.sass.constants.get(operand.bank, b"")
        data = self._bank if operand.bank == 0 else given
        begin = operand.offset + 4 * offset
        return self._x.u32(int.from_bytes(data[begin : begin + 4], "little"))

    def holds(self, index: int, active: Bools) -> Bools:
        """The threads among `active` that an instruction's guard does not switch off."""
        guard = self.items[index].inst.guard
        if guard is None:
            return active
        given: Any = self._operands.predicate(guard, False)
        held: Bools = active & given.array
        return held

    def addresses(self, index: int) -> Addresses:
        """Where an access goes, by thread."""
        inst = self.items[index].inst
        mem = next(o for o in inst.operands if isinstance(o, Mem))
        wide, read = is_wide_address(inst, mem), self.registers
        total = np.full(self.threads, mem.offset & 0xFFFFFFFFFFFFFFFF, np.uint64)
        if mem.base is not None and mem.base.index != RZ:
            is_pair = wide and not mem.base_u32
            base = (read.read_pair if is_pair else read.read_bits)(mem.base.index)
            total = total + base.array.astype(np.uint64) * np.uint64(mem.scale)
        if mem.uniform is not None and mem.uniform.index != RZ:
            key = KEY_UNIFORM + mem.uniform.index
            total = total + (read.read_pair if wide else read.read_bits)(key).array
        return total if wide else total & np.uint64(0xFFFFFFFF)

    def go(self, visitor: Visitor) -> None:
        """Follows the threads until all have ended, those that stand first first.

        Raises:
            Unknown: they do what is not followed, or take too long.
        """
        places, loop, before = np.zeros(self.threads, np.int64), Loop(), -1
        for _ in range(_MOST):
            number = int(places.min())
            if number >= len(self.sass.blocks):
                return
            if number <= before:
                self._passes(number, places, visitor, loop)
            active: Bools = places == number
            loop.trace.append((number, active.tobytes()))
            visitor.block(number, active)
            self._through(number, active, places, visitor)
            before = number
        raise Unknown("a long way")

    def _passes(self, head: int, places: Places, visitor: Visitor, loop: Loop) -> None:
        """A pass through a loop begins: those like the last two are left out."""
        known = chosen(self.registers.values, self._live[head])
        may_be = loop.arrives(head, known)
        visitor.mark()
        after = loop.goes_on() if may_be else None
        if after is None:
            if may_be:
                loop.fails()
            return
        kept, going = self.registers.values, after

        def is_regular(number: int) -> bool:
            self.registers.values = {**kept, **going(number)}
            ended = self._tried(head, places.copy(), loop.earlier)
            return (
                ended is not None and np.array_equal(ended, places)
                and same(going(number + 1), self.registers.values)
            )  # fmt: skip

        times = alike(is_regular)
        if times >= FARTHEST:
            raise Unknown("a loop without an end")
        self.registers.values = {**kept, **after(times)}
        if times:
            visitor.repeat(times)
            loop.begins.clear()
        loop.fails()

    def _tried(self, head: int, places: Places, trace: Trace) -> Places | None:
        """Where threads are after a pass; nothing if it is another one than the trace tells."""
        for number, active_bytes in trace:
            active: Bools = places == number
            if int(places.min()) != number or active.tobytes() != active_bytes:
                return None
            self._through(number, active, places, _NOBODY)
        return places if int(places.min()) == head else None

    def _through(self, number: int, active: Bools, places: Places, visitor: Visitor) -> None:
        for index in self._plans[number]:
            item = self.items[index]
            role, inst = item.op.role, item.inst
            if role in ("bra", "exit"):
                gone = self._goes(index, active)
                label = next((o for o in inst.operands if isinstance(o, Label)), None)
                ended = len(self.sass.blocks)
                places[gone] = ended if label is None else self._start[label.address // 16]
                active = active & ~gone
            elif role == "bar":
                visitor.barrier()
            else:
                if self._accesses[index]:
                    visitor.access(index, active)
                if self._needed[index]:
                    self._compute(item, active, index)
        places[active] = number + 1

    def _goes(self, index: int, active: Bools) -> Bools:
        inst = self.items[index].inst
        going = self.holds(index, active)
        for operand in inst.operands:
            if isinstance(operand, Pred | UPred):
                given: Any = self._operands.predicate(operand, False)
                going = going & given.array
        return going & False if "DIV" in inst.modifiers else going  # warps stay together

    def _compute(self, item: Bound, active: Bools, index: int) -> None:
        role, inst, x = item.op.role, item.inst, self._x
        self._computed += 1
        if self._computed > _COMPUTED:
            raise Unknown("a long way")
        if role in _UNKNOWN or inst.opcode in _LANES:
            for key in item.writes:
                self.registers.values.pop(key, None)
            return
        held: Any = NumpyValue("p", self.holds(index, active))
        if role == "value" and item.op.function is not None:
            keep_sign = bool(item.op.attributes.get("ignore_absolute"))
            sources = [self._operands.source(k, o, False, keep_sign) for k, o in item.sources]
            result = item.op.function(x, modifiers_of(item.op, inst), *sources)
            results = result if len(item.destinations) > 1 else (result,)
            for (kind, operand), value in zip(item.destinations, results, strict=True):
                self._operands.destination(kind, operand, value, held, False)
            return
        for offset, key in enumerate(sorted(item.writes)):
            word: Any = self._told(item, offset)
            self._operands.write_word(key, word, held)

    def _told(self, item: Bound, offset: int) -> NumpyValue:
        """A word of a special register or of constant memory."""
        if item.op.role in _CONSTANTS:
            named = next(o for o in item.inst.operands if isinstance(o, Const))
            return self._constant(named, offset)
        if item.op.role != "s2r":
            raise Unknown(item.op.role)
        name = next(o.name for o in item.inst.operands if isinstance(o, Special))
        if name not in self._special:
            raise Unknown(name)
        word = self._special[name] if offset == 0 else 0
        shape = (self.threads,)
        return NumpyValue("u32", np.broadcast_to(np.asarray(word, np.uint32), shape).copy())


def _special(grid: Sequence[int], block: Sequence[int]) -> dict[str, Any]:
    """Special registers of the threads of the block in the middle."""
    lane = np.arange(prod(block), dtype=np.uint32)
    where = lane % block[0], lane // block[0] % block[1], lane // (block[0] * block[1])
    found: dict[str, Any] = {"SRZ": 0, "SR_CgaCtaId": 0, "SR_LANEID": lane % 32}
    for axis, letter in enumerate(_AXES):
        found[f"SR_TID.{letter}"] = where[axis]
        found[f"SR_CTAID.{letter}"] = grid[axis] // 2
        found[f"SR_NCTAID.{letter}"] = grid[axis]
    return found


def _is_stop(item: Bound) -> bool:
    has_place = any(isinstance(o, Mem) for o in item.inst.operands)
    return item.op.role in ("bra", "exit", "bar") or has_place


def _decides(item: Bound) -> frozenset[int]:
    """Registers on which it depends where threads go and what they access."""
    inst, keys = item.inst, set[int]()
    if item.op.role in ("brx", "brxu", "call", "ret"):
        raise Unknown(inst.opcode)
    for operand in inst.operands:
        if isinstance(operand, Mem):
            keys.update(memory_keys(operand, is_wide_address(inst, operand)))
    if item.op.role in ("bra", "exit"):
        keys.update(item.reads)
    if keys or _is_stop(item):
        keys.update(operand_keys(inst.guard))
    return frozenset(keys)


def _needed(
    blocks: Sequence[BasicBlock], items: Sequence[Bound]
) -> tuple[list[bool], list[frozenset[int]]]:
    """Which instructions compute what decides something, by liveness of these registers alone, and
    which of these are live where a basic block begins."""
    decides = [_decides(item) for item in items]
    guards = [frozenset(operand_keys(item.inst.guard)) for item in items]
    live_in: list[frozenset[int]] = [frozenset()] * len(blocks)
    needed, changed = [False] * len(items), True
    while changed:
        changed = False
        for block in reversed(blocks):
            live = set[int]().union(*(live_in[i] for i in block.successors))
            for index in range(block.end - 1, block.start - 1, -1):
                item = items[index]
                if item.writes & live:
                    needed[index] = True
                    if not guards[index]:
                        live -= item.writes
                    live |= item.reads | guards[index]
                live |= decides[index]
            if live != live_in[block.index]:
                live_in[block.index], changed = frozenset(live), True
    return needed, live_in
