"""The process that compiles and runs: `python -m warplens.studio.worker RESULTS MEMORY`.

Requests come in on standard input, a JSON document a line; answers leave on what was standard
output, so nothing that a kernel or a library prints gets between them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, TextIO

from warplens.errors import WarplensError


def main(words: list[str]) -> int:
    """Answers requests until the server goes away."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _end_with_the_server()
    _limit_memory(int(words[1]))
    server = Server(Path(words[0]))
    for line in sys.stdin:
        reply = server.answer(json.loads(line))
        with contextlib.suppress(BrokenPipeError):  # the server went away meanwhile
            _write(answers, reply)
    return 0


def _end_with_the_server() -> None:
    """On Linux a worker ends with the process that started it, whatever it is doing."""
    with contextlib.suppress(OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def _write(answers: TextIO, reply: dict[str, Any]) -> None:
    answers.write(json.dumps(reply) + "\n")
    answers.flush()


def _limit_memory(limit: int) -> None:
    """Address space beyond what the process has already."""
    if limit <= 0:
        return
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Server:
    """Does what a request asks for."""

    def __init__(self, results: Path) -> None:
        self._results = results

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The reply; a mistake of the user or of ours is one, too."""
        from warplens.studio.running import error_of

        try:
            return self._done(message)
        except WarplensError as error:
            return error_of(error)
        except MemoryError:
            return {"error": {"kind": "memory", "message": "More memory than a request may have."}}
        except Exception as error:  # the page says so, and the worker goes on
            return {"error": {"kind": "internal", "message": f"{type(error).__name__}: {error}"}}

    def _done(self, message: dict[str, Any]) -> dict[str, Any]:
        from warplens.studio.compiling import compiled
        from warplens.studio.requests import CodeRequest, LaunchRequest
        from warplens.studio.running import Runner

        what = message["do"]
        if what == "warm":
            return _warmed(message["kind"], self._results)
        folder = None if message.get("folder") is None else Path(message["folder"])
        runner = self._runner(Runner, folder)
        if what == "compile":
            return compiled(CodeRequest.read(message["request"]), folder)
        if what == "compare":
            return dict(runner.compare(message["before"], message["after"]))
        if what == "open":
            return dict(runner.opened(message["path"], message["id"]))
        request = LaunchRequest.read(message["request"])
        if what == "run":
            return dict(runner.run(request, message["id"], message.get("exercise", "")))
        if what == "step":
            return dict(runner.step(request, message["id"]))
        return dict(getattr(runner, {"predict": "predict", "sanitize": "sanitize"}[what])(request))

    def _runner(self, kind: Any, folder: Path | None) -> Any:
        known = getattr(self, "_runners", None)
        if known is None or known[0] != folder:
            self._runners = known = (folder, kind(self._results, folder))
        return known[1]


_SAMPLE = "__global__ void first(float* a) { a[threadIdx.x] += 1.0f; }\n"


def _warmed(kind: str, results: Path) -> dict[str, Any]:
    """Loads what the first request will need, with a small kernel."""
    from warplens.studio.compiling import compiled
    from warplens.studio.requests import LaunchRequest
    from warplens.studio.running import Runner

    request = LaunchRequest(file="first.cu", source=_SAMPLE, kernel="first", gpu="H200",
                            arguments=("f32[32]=0",))  # fmt: skip
    compiled(request, None)
    if kind == "run":
        Runner(results, None).run(request, "warm")
    elif kind == "predict":
        Runner(results, None).predict(request)
    return {"warm": kind}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
