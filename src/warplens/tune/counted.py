"""What a launch takes at least, by what its warps go through: a bound for the order of a search.

A block's way is cut at its barriers. Each piece takes what its instructions, its shared memory or
its sectors take, or what its slowest warp takes alone; pieces of one block follow each other, those
of blocks that share an SM overlap. Nothing is fitted: rates and latencies are the GPU's.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil, prod

import numpy as np
import numpy.typing as npt

from warplens.gpus.spec import GpuSpec
from warplens.lift.decode.binding import Bound, access_bytes
from warplens.sass.model import Mem
from warplens.tune.walk import Addresses, Bools, Walk

Floats = npt.NDArray[np.float64]
_SHARED = frozenset("LDS STS ATOMS LDSM STSM".split())
_GLOBAL = frozenset("LDG STG LD ST ATOMG ATOM RED REDG".split())
_LOOKED_AT = 4  # warps, which stand for all
_KNOWN = 2  # times that an access is looked at
_ROUNDS = 4  # of blocks, beyond which the last one does not matter
_NOTHING = 7  # a scoreboard's number where an instruction sets none


@dataclass(slots=True, kw_only=True)
class Piece:
    """What a block's warps do between two barriers.

    Attributes:
        issued: instructions of all warps; passes: through shared memory and L1; sectors: of global
            memory that no earlier access has touched; touched: all of them; alone: by warp, cycles
            of its stall counts and waits, without those for global memory, of which it has `far`.
    """

    alone: Floats
    far: Floats
    issued: float = 0.0
    passes: float = 0.0
    sectors: float = 0.0
    touched: float = 0.0

    def copy(self) -> Piece:
        """One of its own."""
        return replace(self, alone=self.alone.copy(), far=self.far.copy())

    def add(self, other: Piece, factor: float = 1.0) -> None:
        """So much of another one comes to it."""
        self.issued += factor * other.issued
        self.passes += factor * other.passes
        self.sectors += factor * other.sectors
        self.touched += factor * other.touched
        self.alone += factor * other.alone
        self.far += factor * other.far


@dataclass(slots=True)
class Counted:
    """A visitor of a walk that adds up its pieces."""

    walk: Walk
    near_wait: float
    pieces: list[Piece] = field(default_factory=list)
    _issued: list[float] = field(default_factory=list)  # by basic block
    _alone: list[tuple[float, float]] = field(default_factory=list)
    _seen: dict[int, tuple[int, float, float, float]] = field(default_factory=dict)
    _sectors: set[int] = field(default_factory=set)
    _marks: list[tuple[int, Piece]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.barrier()
        holders: dict[int, bool] = {}  # scoreboards: whether what sets them is global memory
        for block in self.walk.sass.blocks:
            items = self.walk.items[block.start : block.end]
            real = [item for item in items if item.inst.opcode != "NOP"]
            self._issued.append(float(len(real)))
            told = [self._cycles(item, holders) for item in real]
            self._alone.append((sum(t[0] for t in told), sum(t[1] for t in told)))

    def _cycles(self, item: Bound, holders: dict[int, bool]) -> tuple[float, float]:
        """Cycles of one instruction in a warp that has the SM to itself; waits for global memory
        apart."""
        control, opcode = item.inst.control, item.inst.opcode
        waited = [n for n in range(6) if control.wait_mask >> n & 1 and n in holders]
        kinds = [holders.pop(n) for n in waited]
        if control.write_barrier != _NOTHING:
            holders[control.write_barrier] = opcode in _GLOBAL
        if control.read_barrier != _NOTHING:
            holders.setdefault(control.read_barrier, False)
        near = self.near_wait if kinds and not any(kinds) else 0.0
        return max(1, control.stall) + near, float(any(kinds))

    def block(self, number: int, active: Bools) -> None:
        """Its warps issue the basic block."""
        warps, piece = _by_warp(active).any(1), self.pieces[-1]
        piece.issued += self._issued[number] * float(warps.sum())
        alone, far = self._alone[number]
        piece.alone[warps] += alone
        piece.far[warps] += far

    def barrier(self) -> None:
        """The next piece begins."""
        count = self.walk.warps
        self.pieces.append(Piece(alone=np.zeros(count), far=np.zeros(count)))

    def mark(self) -> None:
        """A pass through a loop begins in the piece that is the last one now."""
        self._marks = [*self._marks[-1:], (len(self.pieces) - 1, self.pieces[-1].copy())]

    def repeat(self, times: int) -> None:
        """The pass between the last two marks comes so often again."""
        (first, before), (last, head) = self._marks
        rest = self.pieces[first].copy()
        rest.add(before, -1.0)
        if first == last:
            self.pieces[-1].add(rest, times)
            return
        for _ in range(times):
            self.pieces[-1].add(rest)
            self.pieces += [*self.pieces[first + 1 : last], head.copy()]

    def access(self, index: int, active: Bools) -> None:
        """Its passes and sectors; what was seen often enough stays the same."""
        times, passes, sectors, touched = self._seen.get(index, (0, 0.0, 0.0, 0.0))
        if times < _KNOWN:
            passes, sectors, touched = self._touched(index, active)
            self._seen[index] = times + 1, passes, sectors, touched
        self.pieces[-1].passes += passes
        self.pieces[-1].sectors += sectors
        self.pieces[-1].touched += touched

    def _touched(self, index: int, active: Bools) -> tuple[float, float, float]:
        inst = self.walk.items[index].inst
        if inst.opcode not in _SHARED | _GLOBAL:
            return 0.0, 0.0, 0.0
        held = _by_warp(self.walk.holds(index, active))
        busy = np.flatnonzero(held.any(1))
        if not len(busy) or not any(isinstance(o, Mem) for o in inst.operands):
            return 0.0, 0.0, 0.0
        places, size = _by_warp(self.walk.addresses(index)), access_bytes(inst)
        chosen = [places[warp][held[warp]] for warp in busy[:_LOOKED_AT]]
        if inst.opcode in _SHARED:
            found = [_bank_passes(one, size) for one in chosen]
            return float(np.mean(found)) * len(busy), 0.0, 0.0
        sectors = [_parts(one, size, 32) for one in chosen]
        total = sum(map(len, sectors)) / len(chosen) * len(busy)
        new = len(set().union(*sectors) - self._sectors) / len(chosen) * len(busy)
        self._sectors.update(*sectors)
        lines = float(np.mean([len(_parts(one, size, 128)) for one in chosen])) * len(busy)
        return max(lines, total / 4), new, total


def _by_warp(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    rest = -len(values) % 32
    return np.concatenate([values, np.zeros(rest, values.dtype)]).reshape(-1, 32)


def _parts(places: Addresses, size: int, part: int) -> set[int]:
    ends = places + np.uint64(size - 1)
    return set((np.concatenate([places, ends]) // np.uint64(part)).tolist())


def _bank_passes(places: Addresses, size: int) -> int:
    """Passes through the banks: eight bytes a lane go half a warp at a time, sixteen a quarter."""
    words = places // np.uint64(4)
    return _passes_of((words - words[:1]).tobytes(), size)  # the same from whatever bank it begins


@lru_cache(maxsize=4096)
def _passes_of(places: bytes, size: int) -> int:
    """Passes for words whose distances from the first lane's are given."""
    every, lanes, found = np.frombuffer(places, np.uint64), 32 * 4 // max(4, size), 0
    for begin in range(0, len(every), lanes):
        first = every[begin : begin + lanes]
        words = np.unique(np.concatenate([first + np.uint64(i) for i in range(max(1, size // 4))]))
        found += int(np.bincount((words % np.uint64(32)).astype(np.int64)).max())
    return found


def cycles(walk: Walk, gpu: GpuSpec, *, grid: tuple[int, ...], resident: float) -> float:
    """Cycles that the launch takes at least, with so many blocks on an SM at a time.

    Raises:
        Unknown: the walk cannot follow the code.
    """
    counted = Counted(walk, float(gpu.value("latency.shared_load", 30.0)))
    walk.go(counted)
    near, far = (float(gpu.value(f"latency.{name}", 275.0)) for name in ("l1_hit", "l2_hit"))
    touched = sum(piece.touched for piece in counted.pieces)
    missed = sum(piece.sectors for piece in counted.pieces) / max(1.0, touched)
    wait = near + (far - near) * missed
    sms, blocks = gpu.sm_count, prod(grid)
    l2 = float(gpu.value("l2.read_bytes_per_cycle", 32.0 * sms)) / sms
    units = np.array([(p.issued / 4, p.passes, p.sectors * 32 / l2) for p in counted.pieces])
    alone = np.maximum(units.max(1), [(p.alone + wait * p.far).max() for p in counted.pieces]).sum()
    at_once = max(1.0, min(resident, ceil(blocks / sms)))
    rounds = blocks / (at_once * sms)
    rounds = float(ceil(rounds)) if rounds < _ROUNDS else rounds
    return rounds * max(float(alone), float(units.sum(0).max()) * at_once)
