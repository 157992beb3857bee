"""Starts the studio: a free port of 127.0.0.1, a token, the workers, and the server."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from warplens.errors import InputError
from warplens.result import SUFFIX, load
from warplens.studio import bundle
from warplens.studio.app import Studio
from warplens.studio.files import Workspace
from warplens.studio.guard import Guard, new_token
from warplens.studio.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request may take.

    Attributes:
        seconds: of a run; compile_seconds: of a compile or a prediction.
        memory: bytes of address space of a worker; runs: how many run at the same time.
    """

    seconds: float = 60.0
    compile_seconds: float = 30.0
    memory: int = 16 << 30
    runs: int = 2


def serve(target: Path | None, *, port: int = 0, limits: Limits | None = None) -> None:
    """Serves until Ctrl-C; prints the address with its token first.

    Raises:
        InputError: the target cannot be opened, or the port is taken.
    """
    results = Path(tempfile.mkdtemp(prefix="warplens-studio-"))
    try:
        asyncio.run(_serve(target, port, limits or Limits(), results))
    finally:
        shutil.rmtree(results, ignore_errors=True)


async def _serve(target: Path | None, port: int, limits: Limits, results: Path) -> None:
    result = target if target is not None and target.suffix == SUFFIX else None
    if result is not None:
        load(result)  # refused here, not in the page
    workspace = Workspace.of(None if result is not None else target)
    opened = target.name if target is not None and target.is_file() and result is None else ""
    memory = limits.memory
    quick = Pool(1, results, memory=memory, seconds=limits.compile_seconds)
    models = Pool(1, results, memory=memory, seconds=limits.compile_seconds)
    runs = Pool(limits.runs, results, memory=memory, seconds=limits.seconds)
    studio = Studio(workspace, results, quick=quick, models=models, runs=runs,
                    opened=opened, result=result)  # fmt: skip
    listener = _listener(port)
    port = listener.getsockname()[1]
    token = new_token()
    guard = Guard(studio.app(), token=token, port=port)
    config = uvicorn.Config(guard, log_level="warning", access_log=False, lifespan="off",
                            server_header=False, timeout_graceful_shutdown=1)  # fmt: skip
    print(f"http://127.0.0.1:{port}/?token={token}", flush=True)
    if not bundle.is_built():
        print(bundle.MISSING, file=sys.stderr)
    warming = asyncio.create_task(_warm(quick, runs, models))
    try:
        await _Server(config).serve(sockets=[listener])
    finally:
        warming.cancel()
        await studio.close()


class _Server(uvicorn.Server):
    """A server that Ctrl-C ends quietly, workers last; uvicorn's own would raise it once more."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Takes Ctrl-C and termination as the wish to end."""
        before = {which: signal.signal(which, self.handle_exit)
                  for which in (signal.SIGINT, signal.SIGTERM)}  # fmt: skip
        try:
            yield
        finally:
            for which, handler in before.items():
                signal.signal(which, handler)


async def _warm(quick: Pool, runs: Pool, models: Pool) -> None:
    """One after another, what is needed first comes first."""
    await quick.warm("compile")
    await runs.warm("run")
    await models.warm("predict")


def _listener(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)  # before the address is told
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(f"port {port}: {getattr(error, 'strerror', None) or error}") from error
    return listener
