"""Runs a whole grid: workers over ranges of blocks, limits, interruption, and the final counts."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import numpy as np

from warplens.errors import ExecutionFault, LimitExceeded
from warplens.execute import run_layout
from warplens.execute.execution import COLUMNS, Execution
from warplens.execute.launch import LaunchConfig, Launching, OrderNeeded, places_of, turns_of
from warplens.execute.memory import DeviceMemory
from warplens.execute.program import ModuleImage, Program, lifted_of, load_module, prepare
from warplens.execute.spares import give_back, worker_for
from warplens.execute.worker import Worker, counts_of
from warplens.wording import count

__all__ = [
    "LaunchConfig", "ModuleImage", "Program", "execute", "lifted_of", "load_module", "prepare",
]  # fmt: skip

_POLL_SECONDS = 0.1
_SMALL = 20_000  # warps times instructions: no thread is worth starting for less
# A kernel that has run for as long as better code takes to compile gets it, while it runs.
_COMPILE_SECONDS = 0.0003  # of an instruction
_FAST_AFTER_SECONDS = (0.02, 0.1)  # the least and the most
_TRACED_FAST_AFTER_SECONDS = 3.0  # observers take most of the time, whatever the code
_FAST_FROM_WARPS = 20_000  # a launch this large gets it at once
_SHARES = 8  # a worker takes so small a part of its share of the blocks that are left
_LEAST = 64  # and at last such a part of what was taken first


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (
        os.cpu_count() or 1
    )


def _patience(program: Program) -> float:
    """Seconds that a program runs before it is worth better code."""
    if program.is_traced:
        return _TRACED_FAST_AFTER_SECONDS
    least, most = _FAST_AFTER_SECONDS
    return min(most, max(least, _COMPILE_SECONDS * len(program.lifted.kernel.instructions)))


def _runs(order: tuple[int, ...]) -> list[tuple[int, int]]:
    """Blocks in their order as ranges [first, last) of ascending neighbours."""
    runs: list[tuple[int, int]] = []
    for block in order:
        if runs and runs[-1][1] == block:
            runs[-1] = (runs[-1][0], block + 1)
        else:
            runs.append((block, block + 1))
    return runs


class _Crew:
    """The threads of a launch: they take chunks of blocks until none is left or one fails; the
    chunks get smaller, so that all end at about the same time."""

    def __init__(self, launching: Launching) -> None:
        self._launching = launching
        self.workers = tuple(worker_for(launching) for _ in range(launching.n_workers))
        launching.workers = self.workers
        gx, gy, gz = launching.config.grid
        self._total = gx * gy * gz
        self._pieces = 1 if launching.n_workers == 1 else launching.n_workers * _SHARES
        self._least = -(-self._total // (self._pieces * _LEAST))
        self._next = 0
        self._seen, self._seen_at = 0, 0.0  # blocks that had ended when last looked at
        self._lock = threading.Lock()
        self._began = False
        self.error: BaseException | None = None

    def _take(self) -> tuple[int, int] | None:
        with self._lock:
            if self._next >= self._total or self.error is not None:
                return None
            first, size = self._next, self._launching.cluster_blocks
            blocks = max(self._least, -(-(self._total - first) // self._pieces))
            self._next = min(self._total, first + -(-blocks // size) * size)
            return first, self._next

    def _work(self, worker: Worker) -> None:
        try:
            order = self._launching.config.block_order
            if self._began:
                worker.go_on()
                return
            if order is not None:
                config, cluster = self._launching.config, self._launching.cluster
                for first, last in _runs(turns_of(order, config.grid, cluster)):
                    worker.run_blocks(first, last)
                return
            while (piece := self._take()) is not None:
                worker.run_blocks(*piece)
                if worker.control[run_layout.STOP]:
                    return
        except BaseException as error:
            with self._lock:
                # An access that needs order explains every later fault of an optimistic run.
                if self.error is None or isinstance(error, OrderNeeded):
                    self.error = error
            self.stop()

    def stop(self) -> None:
        """Asks every worker to return."""
        for worker in self.workers:
            worker.stop()

    def finished(self) -> int:
        """Blocks that have ended."""
        return sum(int(w.control[run_layout.FINISHED]) for w in self.workers)

    def run(self) -> None:
        """Runs all blocks; raises the first error."""
        config = self._launching.config
        if self._ends_at_once():
            return
        started, patience = time.perf_counter(), _patience(self._launching.program)
        ended: list[threading.Event] = []
        try:
            for worker in self.workers:
                ended.append(threading.Event())
                self._start(worker, ended[-1])
            for one in ended:
                wait = 0.005
                while not one.wait(wait):
                    elapsed = time.perf_counter() - started
                    left = patience - self._launching.program.seconds_run - elapsed
                    if left < 0.0:
                        self._launching.program.make_fast(wait=False)
                    wait = min(_POLL_SECONDS, left + 0.001) if left >= 0.0 else _POLL_SECONDS
                    self._watch(config, elapsed)
        except BaseException as error:
            # Not Thread.join: once interrupted, it takes a running thread for one that has ended.
            self.stop()
            for one in ended:
                one.wait()
            error.add_note(f"stopped: {self.workers[0].standing()}")
            raise
        if self.error is not None:
            raise self.error

    def _start(self, worker: Worker, ended: threading.Event) -> None:
        def work() -> None:
            try:
                self._work(worker)
            finally:
                ended.set()

        try:
            threading.Thread(target=work, daemon=True).start()
        except RuntimeError:
            ended.set()  # the system has no thread left
            raise

    def _ends_at_once(self) -> bool:
        """Runs a small launch here, without a thread; False if its loops go on for longer."""
        config, program = self._launching.config, self._launching.program
        is_alone = len(self.workers) == 1 and config.block_order is None
        is_limited = config.max_steps is not None or config.find_endless
        if is_limited or not is_alone or self._total * warps_of(config) * len(
            program.lifted.kernel.instructions
        ) > _SMALL:
            return False
        self._began = True
        return self.workers[0].run_briefly(0, self._total)

    def _watch(self, config: LaunchConfig, elapsed: float) -> None:
        if config.progress is not None:
            config.progress(self.finished(), self._total)
        if (finished := self.finished()) > self._seen:
            self._seen, self._seen_at = finished, elapsed
        idle = elapsed - self._seen_at
        if config.max_idle_seconds is not None and idle > config.max_idle_seconds:
            raise LimitExceeded(
                f"{self._launching.program.lifted.kernel.demangled}: stopped after "
                f"{config.max_idle_seconds:g} s in which no block has ended, with {finished:,} of "
                f"{count(self._total, 'block')} finished",
                hint="Look for an endless loop, or raise the limit (--max-idle-seconds).",
            )
        if config.max_seconds is not None and elapsed > config.max_seconds:
            raise LimitExceeded(
                f"{self._launching.program.lifted.kernel.demangled}: stopped after "
                f"{config.max_seconds:g} s with {self.finished():,} of "
                f"{count(self._total, 'block')} finished",
                hint="Raise max_seconds, or look for an endless loop.",
            )


def warps_of(config: LaunchConfig) -> int:
    """Warps of a block."""
    bx, by, bz = config.block
    return (bx * by * bz + 31) // 32


def _columns(launching: Launching, crew: _Crew) -> dict[str, np.ndarray]:
    tables = launching.program.count_tables
    amounts = counts_of(list(crew.workers))[tables.slots] * tables.weights
    steps = np.zeros((len(tables.used), tables.zeros.size + 1), np.int64)  # from row to row
    np.add.at(steps, (tables.columns, tables.starts), amounts)
    np.subtract.at(steps, (tables.columns, tables.ends), amounts)
    counts = dict(zip(tables.used, np.cumsum(steps[:, :-1], axis=1), strict=True))
    return {name: counts.get(name, tables.zeros) for name in COLUMNS}


def _wanted_workers(program: Program, config: LaunchConfig, blocks: int) -> int:
    """Threads for a launch whose blocks may run in any order."""
    if config.observer is not None or config.block_order is not None or config.restore:
        return 1
    work = blocks * warps_of(config) * len(program.lifted.kernel.instructions)
    if config.workers is None and work <= _SMALL and not program.has_loops:
        return 1
    return max(1, min(config.workers or _cores(), blocks))


def _attempt(make: Callable[[int], Launching], n_workers: int) -> tuple[Launching, _Crew]:
    launching = make(n_workers)
    crew = _Crew(launching)
    crew.run()
    return launching, crew


def execute(program: Program, image: ModuleImage, memory: DeviceMemory,
            config: LaunchConfig) -> Execution:  # fmt: skip
    """Runs a grid to its end and returns the exact counts.

    Raises:
        ExecutionFault: the kernel did something illegal or met a limit.
        KeyboardInterrupt: the user stopped it; the process stays usable.
    """
    gx, gy, gz = config.grid
    blocks = gx * gy * gz
    reason = program.lifted.ordered_reason if config.deterministic else ""
    if not config.deterministic and program.lifted.ordered_reason.startswith("strong"):
        reason = program.lifted.ordered_reason
    if program.meets_as_grid:
        reason = reason or "its blocks wait for each other at the grid's barrier"
    n_workers = 1 if reason else _wanted_workers(program, config, blocks)
    started = time.perf_counter()
    is_large = blocks * warps_of(config) >= _FAST_FROM_WARPS and not config.block_order
    program.get_ready(is_large)
    if is_large or program.seconds_run > _patience(program):
        program.make_fast(wait=False)

    places = places_of(memory, config) if n_workers > 1 and config.deterministic else None
    known = None if places is None else program.outcomes.get(places)
    if known:
        reason, n_workers = known, 1

    def make(n: int) -> Launching:
        return Launching(program, image, memory, config, n, known == "")

    launching = make(n_workers)
    crew = _Crew(launching)
    began = time.perf_counter()  # what a launch costs beside its blocks needs no better code
    try:
        crew.run()
    except OrderNeeded:
        reason = launching.order_reason
        if known is not None:
            program.note_outcome(places, reason)
            raise ExecutionFault(
                f"{program.lifted.kernel.demangled}: {reason}, as it was not in earlier launches "
                "with arrays of the same sizes; its results are not to be used",
                hint="Launch it again on fresh arrays, or with workers=1.",
            ) from None
        launching.take_back()
        launching.forget_copies()
        launching, crew = _attempt(make, 1)
    finally:
        if config.restore:
            launching.take_back()
        launching.own_sums.add_up()
        launching.forget_copies()
    program.seconds_run += time.perf_counter() - began
    program.note_outcome(places, reason)
    spinning = any(int(w.control[run_layout.SPINNING]) for w in crew.workers)
    done = Execution(
        kernel=program.lifted.kernel,
        grid=config.grid,
        block=config.block,
        dynamic_shared=config.dynamic_shared,
        columns=_columns(launching, crew),
        blocks=blocks,
        warps=blocks * warps_of(config),
        ordered=bool(reason),
        ordered_reason=reason,
        workers=len(crew.workers),
        spinning=spinning,
        output="".join(launching.output),
        elapsed_seconds=time.perf_counter() - started,
        strays=launching.strays.told,
    )
    give_back(launching, crew.workers)
    return done
