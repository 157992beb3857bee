"""Worker processes: one request at a time each, limited in time and memory, replaced when they end.

Everything that compiles or executes code happens in them, so whatever a kernel does, the server
and its pages stay.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

_MOST_ANSWER = 1 << 27
Answer = dict[str, Any]


def failure(kind: str, message: str) -> Answer:
    """An answer that says why there is none."""
    return {"error": {"kind": kind, "message": message}}


class Worker:
    """One process that reads requests and writes answers, a line each."""

    def __init__(self, folder: Path, memory: int) -> None:
        self._folder = folder
        self._memory = memory
        self._process: asyncio.subprocess.Process | None = None

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """The process's number."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Starts the process; it is ready when it answers."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "warplens.studio.worker", str(self._folder), str(self._memory),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_MOST_ANSWER,
            start_new_session=True,
        )  # fmt: skip

    async def ask(self, message: dict[str, Any], seconds: float) -> Answer:
        """The answer; the process is ended where there is none in time."""
        if not self.is_alive:
            await self.start()
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            async with asyncio.timeout(seconds):
                await process.stdin.drain()
                line = await process.stdout.readline()
        except TimeoutError:
            await self.kill()
            return failure("time", f"Stopped after {seconds:g} s, the limit of a request.")
        except (ConnectionError, ValueError, BrokenPipeError) as error:
            await self.kill()
            return failure("worker", f"The worker process failed: {error}")
        if not line:
            await self.kill()
            return failure("worker", _ended(process.returncode))
        answer: Answer = json.loads(line)
        return answer

    async def kill(self) -> None:
        """Ends the process and everything that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        name = signal.Signals(-status).name
        return f"The worker process was ended by {name}; the next request starts a new one."
    return f"The worker process ended with status {status}; the next request starts a new one."


class Pool:
    """A few workers for one kind of work. Of the waiting requests of a tab the latest counts."""

    def __init__(self, n_workers: int, folder: Path, *, memory: int, seconds: float) -> None:
        self._workers = [Worker(folder, memory) for _ in range(n_workers)]
        # The one that was used last comes first: it has compiled the kernel already.
        self._idle: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        for worker in self._workers:
            self._idle.put_nowait(worker)
        self._seconds = seconds
        self._latest: dict[str, int] = {}
        self._running: dict[str, Worker] = {}
        self._cancelled: set[int] = set()
        self._count = 0

    @property
    def pids(self) -> list[int]:
        """The processes that run."""
        return [w.pid for w in self._workers if w.is_alive and w.pid is not None]

    async def ask(self, tab: str, message: dict[str, Any]) -> Answer:
        """The answer to a tab's request, or why there is none."""
        self._count += 1
        ticket = self._latest[tab] = self._count
        worker = await self._idle.get()
        try:
            if self._latest.get(tab) != ticket:
                return failure("stale", "A later request took its place.")
            self._running[tab] = worker
            answer = await worker.ask(message, self._seconds)
            if ticket in self._cancelled:
                self._cancelled.discard(ticket)
                return failure("cancelled", "Cancelled.")
            return answer
        finally:
            self._running.pop(tab, None)
            if self._latest.get(tab) == ticket:
                del self._latest[tab]
            self._idle.put_nowait(worker)

    async def cancel(self, tab: str) -> bool:
        """Ends what a tab waits for; whether there was anything."""
        ticket, worker = self._latest.get(tab), self._running.get(tab)
        if ticket is None:
            return False
        if worker is None:
            self._latest[tab] = 0  # still waiting for a worker
        else:
            self._cancelled.add(ticket)
            await worker.kill()
        return True

    async def warm(self, kind: str) -> None:
        """Starts a worker ahead of the first request, and lets it load what that will need."""
        worker = await self._idle.get()
        try:
            await worker.ask({"do": "warm", "kind": kind}, self._seconds)
        finally:
            self._idle.put_nowait(worker)

    async def close(self) -> None:
        """Ends all workers."""
        for worker in self._workers:
            await worker.kill()
