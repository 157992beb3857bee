"""Runs a whole grid: workers over ranges of blocks, limits, interruption, and the final counts."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import numpy as np

from warplens.errors import LimitExceeded
from warplens.execute import runner
from warplens.execute.execution import COLUMNS, Execution
from warplens.execute.launch import LaunchConfig, Launching, OrderNeeded, turns_of
from warplens.execute.memory import DeviceMemory
from warplens.execute.program import ModuleImage, Program, load_module, prepare
from warplens.execute.worker import Worker, counts_of
from warplens.wording import count

__all__ = ["LaunchConfig", "ModuleImage", "Program", "execute", "load_module", "prepare"]

_POLL_SECONDS = 0.1
_FAST_AFTER_SECONDS = 0.1  # a launch that runs longer gets better code while it runs
_FAST_FROM_WARPS = 20_000  # a launch this large gets it at once


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (
        os.cpu_count() or 1
    )


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
    """The threads of a launch: they take chunks of blocks until none is left or one fails."""

    def __init__(self, launching: Launching) -> None:
        self._launching = launching
        self.workers = tuple(Worker(launching) for _ in range(launching.n_workers))
        launching.workers = self.workers
        gx, gy, gz = launching.config.grid
        self._total = gx * gy * gz
        pieces = 1 if launching.n_workers == 1 else launching.n_workers * 16
        size = launching.cluster_blocks
        self._chunk = max(1, -(-self._total // (pieces * size))) * size
        self._next = 0
        self._seen, self._seen_at = 0, 0.0  # blocks that had ended when last looked at
        self._lock = threading.Lock()
        self.error: BaseException | None = None

    def _take(self) -> tuple[int, int] | None:
        with self._lock:
            if self._next >= self._total or self.error is not None:
                return None
            first = self._next
            self._next = min(self._total, first + self._chunk)
            return first, self._next

    def _work(self, worker: Worker) -> None:
        try:
            order = self._launching.config.block_order
            if order is not None:
                config, cluster = self._launching.config, self._launching.cluster
                for first, last in _runs(turns_of(order, config.grid, cluster)):
                    worker.run_blocks(first, last)
                return
            while (piece := self._take()) is not None:
                worker.run_blocks(*piece)
                if worker.control[runner.STOP]:
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
        return sum(int(w.control[runner.FINISHED]) for w in self.workers)

    def run(self) -> None:
        """Runs all blocks; raises the first error."""
        config = self._launching.config
        threads = [
            threading.Thread(target=self._work, args=(w,), daemon=True) for w in self.workers
        ]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                wait = 0.005
                while thread.is_alive():
                    thread.join(wait)
                    wait = _POLL_SECONDS
                    elapsed = time.perf_counter() - started
                    if self._launching.program.seconds_run + elapsed > _FAST_AFTER_SECONDS:
                        self._launching.program.make_fast(wait=False)
                    self._watch(config, elapsed)
        except BaseException as error:
            self.stop()
            for thread in threads:
                thread.join()
            error.add_note(f"stopped: {self.workers[0].standing()}")
            raise
        if self.error is not None:
            raise self.error

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


def _columns(launching: Launching, crew: _Crew) -> dict[str, np.ndarray]:
    lifted = launching.program.lifted
    totals = counts_of(list(crew.workers))
    n = len(lifted.kernel.instructions)
    steps = {name: [0] * (n + 1) for name in COLUMNS}  # from one instruction to the next
    amounts = totals.tolist()
    for counter in lifted.counters:
        amount = counter.weight * amounts[counter.slot]
        if amount:
            column = steps[counter.column]
            column[counter.start] += amount
            column[counter.end] -= amount
    return {
        name: np.cumsum(np.array(column[:-1], np.int64)) if any(column) else np.zeros(n, np.int64)
        for name, column in steps.items()
    }


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
    bx, by, bz = config.block
    blocks = gx * gy * gz
    reason = program.lifted.ordered_reason if config.deterministic else ""
    if not config.deterministic and program.lifted.ordered_reason.startswith("strong"):
        reason = program.lifted.ordered_reason
    wanted = config.workers or _cores()
    if config.observer is not None or config.block_order is not None or config.restore:
        wanted = 1
    n_workers = 1 if reason else max(1, min(wanted, blocks))
    started = time.perf_counter()
    is_large = blocks * ((bx * by * bz + 31) // 32) >= _FAST_FROM_WARPS
    if is_large or program.seconds_run > _FAST_AFTER_SECONDS:
        program.make_fast(wait=False)

    def make(n: int) -> Launching:
        return Launching(program, image, memory, config, n)

    launching = make(n_workers)
    crew = _Crew(launching)
    try:
        crew.run()
    except OrderNeeded:
        reason = launching.order_reason
        launching.take_back()
        launching, crew = _attempt(make, 1)
    finally:
        if config.restore:
            launching.take_back()
    program.seconds_run += time.perf_counter() - started
    spinning = any(int(w.control[runner.SPINNING]) for w in crew.workers)
    return Execution(
        kernel=program.lifted.kernel,
        grid=config.grid,
        block=config.block,
        dynamic_shared=config.dynamic_shared,
        columns=_columns(launching, crew),
        blocks=blocks,
        warps=blocks * ((bx * by * bz + 31) // 32),
        ordered=bool(reason),
        ordered_reason=reason,
        workers=len(crew.workers),
        spinning=spinning,
        output="".join(launching.output),
        elapsed_seconds=time.perf_counter() - started,
    )
