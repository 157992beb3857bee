"""Why a run stops, in words: faults, deadlocks, endless waits, and where warps stand."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warplens.errors import (
    Deadlock,
    EndlessWait,
    ExecutionFault,
    KernelTrap,
    LimitExceeded,
    WarplensError,
)
from warplens.execute import run_layout
from warplens.execute.launch import Launching
from warplens.execute.open_phases import missing
from warplens.execute.residents import Residents
from warplens.execute.warp_registers import lanes_of
from warplens.lift import layout as at
from warplens.lift.decode.blocks import LiftedBlock
from warplens.lift.decode.gaps import describe
from warplens.sass.model import Instruction

_SHOWN = 20  # rows of waits


class Stops:
    """What a worker says of its warps: it reads, and changes nothing."""

    def __init__(
        self, launching: Launching, residents: Residents, control: npt.NDArray[np.int64],
        env: npt.NDArray[np.int64],
    ) -> None:  # fmt: skip
        self._launching, self._residents = launching, residents
        self._control, self._env = control, env
        lifted = launching.program.lifted
        self._kernel, self._blocks = lifted.kernel, lifted.layout.blocks

    def thread(self, warp_index: int, lane: int) -> str:
        """`thread (x,y,z) in block (x,y,z)` of the running block."""
        bx, by, _ = self._launching.config.block
        t = warp_index * 32 + lane
        x, y, z = (int(v) for v in self._env[at.ENV_CTAID : at.ENV_CTAID + 3])
        return f"thread ({t % bx},{t // bx % by},{t // (bx * by)}) in block ({x},{y},{z})"

    def where(self, inst: int) -> str:
        """An instruction in words."""
        return describe(self._kernel, self._kernel.instructions[inst])

    def standing(self) -> str:
        """Where the warp that ran last stands, in words; for a launch that was stopped."""
        slot, index, warp = self._residents.current()
        for mask, pc, _ in _lanes_at(warp):
            if mask:
                place = self.where(self._blocks[pc].start)
                return f"warp {index} of block {self._coordinates(slot)} stands at {place}"
        return f"no warp of block {self._coordinates(slot)} is running"

    def reason(
        self, status: int, error: Exception | None, *, is_grid_waiting: bool
    ) -> WarplensError | Exception:
        """Why the runner returned this status; `error` is what an access was refused for."""
        slot, index, warp = self._residents.current()
        if status == run_layout.STEPS_SPENT:
            return LimitExceeded(
                f"{self._kernel.demangled}: the limit of "
                f"{self._launching.config.max_steps:,} back edges was reached; {self.standing()}",
                hint="Raise max_steps, or look for an endless loop.",
            )
        if status == run_layout.DEADLOCKED:
            return self._deadlock(slot, is_grid_waiting)
        if status == run_layout.TRAPPED:
            inst, mask = (_word(warp + at.WARP_ARGS + 4 * k) for k in range(2))
            thread = self.thread(index, lanes_of(mask)[0])
            return KernelTrap(f"__trap() at {self.where(inst)}, {thread}")
        if status == run_layout.BAD_PC:
            inst = _word(warp + at.WARP_ARGS + 4)
            return ExecutionFault(f"jump to an address that is not code: {self.where(inst)}")
        return error if error is not None else self._fault(index)

    def endless(self) -> EndlessWait:
        """Nobody is left who would write what the loops wait for."""
        rows: list[str] = []
        waiting = [*self._residents.slots()]
        for slot in waiting:
            words = f"  block {self._coordinates(slot)}:"
            rows += [words + row[1:] for row in (*self._spinning(slot), *self._waits(slot))]
        gx, gy, gz = self._launching.config.grid
        ended = int(self._control[run_layout.FINISHED])
        return EndlessWait(
            f"{self._kernel.demangled}: {len(waiting)} of {gx * gy * gz} blocks wait for "
            f"ever, {ended} have ended:\n{_first(rows)}",
            hint="no thread is left that would write what the loops wait for",
        )

    def _fault(self, warp_index: int) -> ExecutionFault:
        kind, inst, lane, address, size = (
            int(v) for v in self._env[at.ENV_FAULT : at.ENV_FAULT + 5]
        )
        if kind == 0:
            return ExecutionFault(f"{self._kernel.demangled}: a warp ran past the end of the code")
        where = f"{self.where(inst)}, {self.thread(warp_index, lane)}"
        address &= (1 << 64) - 1
        return self._launching.fault(kind, inst, address, size, where)

    def _waits(self, slot: int) -> Iterator[str]:
        """What the warps of a resident block wait for, in words."""
        residents = self._residents
        for i in range(residents.n_warps):
            warp, state = int(residents.warps[slot, i]), int(residents.states[slot, i])
            if state >= run_layout.WARP_PARKED:
                inst = self._kernel.instructions[self._blocks[_word(warp + at.WARP_PC)].start - 1]
                yield f"  warp {i} waits at barrier {state - run_layout.WARP_PARKED}{_line(inst)}"
            for j in range(_word(warp + at.WARP_SPLITS)):
                base = warp + at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * j
                mask, pc, state, info = (_word(base + 4 * k) for k in range(4))
                block = self._blocks[pc]
                what = self._awaited(state, info, block)
                if what:
                    looks = state == at.SPLIT_LOOKS
                    inst = self._kernel.instructions[block.start - (not looks)]
                    more = self._missing(slot, warp, mask, inst) if looks else ""
                    yield f"  warp {i} lanes {mask:#010x} wait at {what}{more}{_line(inst)}"

    def _missing(self, slot: int, warp: int, mask: int, inst: Instruction) -> str:
        """What an mbarrier lacks at which a warp's only split waits; empty: not known."""
        is_alone = _word(warp + at.WARP_SPLITS) == 1 and self._kernel.sm >= 90
        if inst.opcode != "SYNCS" or not is_alone:
            return ""
        limit = int(self._env[at.ENV_SHARED_LIMIT])
        return missing(warp, mask, int(self._residents.shared[slot]), limit)

    def _awaited(self, state: int, info: int, block: LiftedBlock) -> str:
        """What a split in this state waits for; empty: for nothing."""
        if state == at.SPLIT_LOOKS:  # it looks again at memory, from there on
            is_barrier = self._kernel.instructions[block.start].opcode == "SYNCS"
            return ("an mbarrier whose phase nobody completes" if is_barrier
                    else "a loop that looks at memory nobody writes")  # fmt: skip
        return {
            at.SPLIT_AT_BARRIER: f"barrier {info}",
            at.SPLIT_AT_WARPSYNC: f"warp synchronisation of mask {info:#010x}",
            at.SPLIT_AT_BSYNC: f"BSYNC B{info} for other lanes of the warp",
            at.SPLIT_AT_CLUSTER: "the cluster barrier",
            at.SPLIT_AT_GRID: "the grid's barrier",
        }.get(state, "")

    def _spinning(self, slot: int) -> Iterator[str]:
        """Where the warps of a resident block go round, in words."""
        for i in range(self._residents.n_warps):
            warp = int(self._residents.warps[slot, i])
            for mask, pc, is_ready in _lanes_at(warp):
                if mask and is_ready and self._residents.states[slot, i] == run_layout.WARP_READY:
                    start = self._blocks[pc].start
                    line = _line(self._kernel.instructions[start])
                    yield f"  warp {i} lanes {mask:#010x} wait in a loop at +{start * 16:#x}{line}"

    def _deadlock(self, slot: int, is_grid_waiting: bool) -> Deadlock:
        size = self._launching.cluster_blocks
        if size > 1:
            first = slot - slot % size
            waits = [f"  block of rank {s - first}:{line[1:]}" for s in range(first, first + size)
                     for line in self._waits(s)]  # fmt: skip
            where = f"the cluster of block {self._coordinates(first)}"
            hint = "all threads of the cluster that have not exited must reach the cluster barrier"
        else:
            waits, where = [*self._waits(slot)], f"block {self._coordinates(slot)}"
            if is_grid_waiting:
                where += ", which waits for the whole grid,"
            hint = "all threads of the block that have not exited must reach the barrier"
        return Deadlock(
            f"{self._kernel.demangled}: no thread of {where} can make "
            f"progress:\n{_first(waits)}", hint=hint,
        )  # fmt: skip

    def _coordinates(self, slot: int) -> str:
        gx, gy, _ = self._launching.config.grid
        block = int(self._residents.blocks[slot, run_layout.BLOCK_INDEX])
        return f"({block % gx},{block // gx % gy},{block // (gx * gy)})"


def _word(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value


def _line(inst: Instruction) -> str:
    return f" ({inst.file}:{inst.line})" if inst.line else ""


def _first(rows: list[str]) -> str:
    return "\n".join(rows[:_SHOWN]) + ("\n  …" if len(rows) > _SHOWN else "")


def _lanes_at(warp: int) -> Iterator[tuple[int, int, bool]]:
    """(lanes, lifted block, whether they could run) of a warp's splits, the running one first."""
    mask, pc = (_word(warp + at.WARP_MASK + 4 * k) for k in (0, 1))
    yield mask, pc, True
    for j in range(_word(warp + at.WARP_SPLITS)):
        base = warp + at.WARP_SPLIT_TABLE + at.SPLIT_SIZE * j
        mask, pc, state = (_word(base + 4 * k) for k in range(3))
        yield mask, pc, state == at.SPLIT_READY
