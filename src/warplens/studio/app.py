"""The studio's requests: what the page asks for, passed on to the workers, and files for it."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from warplens.errors import InputError, WarplensError
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import list_gpus
from warplens.studio import bundle, gallery
from warplens.studio.files import Workspace
from warplens.studio.pool import Answer, Pool, failure
from warplens.studio.quick import occupancy_at, rough_ns
from warplens.studio.requests import (
    MOST_SOURCE,
    CodeRequest,
    LaunchRequest,
    name_of,
    number_of,
    text_of,
)
from warplens.toolchain.cubin import ARCHITECTURES
from warplens.version import __version__

STATIC = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
}  # fmt: skip
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Reports are documents of their own, without the page's origin.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "sandbox allow-scripts; frame-ancestors 'self'"
)
Handler = Callable[[dict[str, Any]], Awaitable[Answer]]


class Studio:
    """What is open, what was run, and who does the work."""

    def __init__(
        self, workspace: Workspace, results: Path, *, quick: Pool, models: Pool,
        runs: Pool, opened: str = "", result: Path | None = None,
    ) -> None:  # fmt: skip
        self.workspace = workspace
        self.results = results
        self.opened = opened
        self._quick = quick
        self._models = models
        self._runs = runs
        self._result = result
        self._history: list[dict[str, Any]] = []
        self._count = 0

    def app(self) -> Starlette:
        """The ASGI application; `guard.Guard` stands in front of it."""
        posts: dict[str, Handler] = {
            "start": self._start, "open": self._open, "save": self._save,
            "compile": self._compile, "occupancy": self._occupancy, "run": self._run,
            "step": self._step, "predict": self._predict, "sanitize": self._sanitize,
            "compare": self._compare, "cancel": self._cancel,
        }  # fmt: skip
        return Starlette(routes=[
            Route("/", self._page),
            Route("/static/{name}", self._static),
            Route("/result/{name}", self._kept),
            *(Route(f"/api/{name}", _posted(handler), methods=["POST"])
              for name, handler in posts.items()),
        ])  # fmt: skip

    async def close(self) -> None:
        """Ends the workers."""
        for pool in (self._quick, self._models, self._runs):
            await pool.close()

    async def _page(self, request: Request) -> Response:
        return _file("index.html")

    async def _static(self, request: Request) -> Response:
        return _file(request.path_params["name"])

    async def _kept(self, request: Request) -> Response:
        """A report as a page, or as a file to keep with `?download`."""
        name = request.path_params["name"]
        if re.fullmatch(r"r\d{1,6}(-r\d{1,6})?\.(html|wlens)", name) is None:
            return _missing()
        path = self.results / name
        if not path.is_file():
            return _missing()
        is_page = name.endswith(".html")
        headers = {"cache-control": "no-store"}
        if "download" in request.query_params or not is_page:
            headers["content-disposition"] = f'attachment; filename="{name}"'
        else:
            headers["content-security-policy"] = _REPORT_POLICY
        kind = STATIC[".html"] if is_page else "application/octet-stream"
        return Response(path.read_bytes(), media_type=kind, headers=headers)

    async def _start(self, document: dict[str, Any]) -> Answer:
        """All that the page shows before anything was compiled."""
        if self._result is not None:
            path, self._result = self._result, None
            answer = await self._runs.ask("start", self._message("open", path=str(path)))
            self._note(answer, {})
        return {
            "version": __version__,
            "gpus": _gpus(),
            "files": self.workspace.names(),
            "opened": self.opened,
            "gallery": [one.plain() for one in gallery.exercises().values()],
            "history": self._history,
            "note": "" if bundle.is_built() else bundle.MISSING,
        }

    async def _open(self, document: dict[str, Any]) -> Answer:
        name = text_of(document, "file")
        return {"file": name, "source": self.workspace.read(name)}

    async def _save(self, document: dict[str, Any]) -> Answer:
        name = text_of(document, "file")
        self.workspace.write(name, text_of(document, "source", MOST_SOURCE))
        return {"saved": name}

    async def _compile(self, document: dict[str, Any]) -> Answer:
        request = CodeRequest.read(document)
        self._check(request)
        return await self._quick.ask(_tab(document), self._message("compile", request=document))

    async def _occupancy(self, document: dict[str, Any]) -> Answer:
        """Where a slider stands: occupancy, and a rough time if there was a run."""
        gpu = find_gpu(name_of(document, "gpu", "H200")).name
        threads = number_of(document, "threads", 1, 1024, 128)
        found = occupancy_at(
            gpu, threads, number_of(document, "registers", 0, 255, 32),
            number_of(document, "static", 0, 1 << 20, 0),
            number_of(document, "shared", 0, 1 << 20, 0),
        )  # fmt: skip
        answer: Answer = {"occupancy": found, "nanoseconds": None}
        base = next((one for one in self._history if one["id"] == document.get("base")), None)
        if base is not None and "error" not in found:
            point = {"gpu": gpu, "threads": threads, "warps": found["warps"],
                     "blocks": number_of(document, "blocks", 1, 1 << 40, 1)}  # fmt: skip
            answer["nanoseconds"] = rough_ns(base["base"], point)
        return answer

    async def _run(self, document: dict[str, Any]) -> Answer:
        request = LaunchRequest.read(document)
        self._check(request)
        exercise = name_of(document, "exercise")
        message = self._message("run", request=document, exercise=exercise)
        return self._note(await self._runs.ask(_tab(document), message), request.plain())

    async def _step(self, document: dict[str, Any]) -> Answer:
        request = LaunchRequest.read(document)
        self._check(request)
        identifier = document.get("id")
        if not any(one["id"] == identifier for one in self._history):
            raise InputError("there is no such launch")
        message = {**self._message("step", request=document), "id": identifier}
        return await self._runs.ask(_tab(document), message)

    async def _predict(self, document: dict[str, Any]) -> Answer:
        self._check(LaunchRequest.read(document))
        message = self._message("predict", request=document)
        return await self._models.ask(f"{_tab(document)} predict", message)

    async def _sanitize(self, document: dict[str, Any]) -> Answer:
        self._check(LaunchRequest.read(document))
        message = self._message("sanitize", request=document)
        return await self._runs.ask(_tab(document), message)

    async def _compare(self, document: dict[str, Any]) -> Answer:
        known = {one["id"] for one in self._history}
        before, after = text_of(document, "before"), text_of(document, "after")
        if not {before, after} <= known:
            raise InputError("there is no such launch")
        message = self._message("compare", before=before, after=after)
        return await self._models.ask(f"{_tab(document)} compare", message)

    async def _cancel(self, document: dict[str, Any]) -> Answer:
        return {"cancelled": await self._runs.cancel(_tab(document))}

    def _check(self, request: CodeRequest) -> None:
        """A file of the open folder, or a name without a folder."""
        if re.fullmatch(r"[\w-][\w.-]{0,100}\.(cu|py)", request.file, re.ASCII) is None:
            self.workspace.path(request.file)

    def _message(self, what: str, **more: Any) -> dict[str, Any]:
        folder = self.workspace.folder
        message = {"do": what, "folder": None if folder is None else str(folder), **more}
        if what in ("run", "open"):
            self._count += 1
            message["id"] = f"r{self._count}"
        return message

    def _note(self, answer: Answer, request: dict[str, Any]) -> Answer:
        """Takes a result into the history."""
        if "error" not in answer:
            entry = _entry(answer, request)
            self._history.append(entry)
            answer = {**answer, "entry": entry}
        return answer


def _entry(answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
    """A result as the history lists it: its first launch, and what it was asked with."""
    first = answer["launches"][0]
    threads, blocks = 1, 1
    for size, count in zip(first["block"], first["grid"], strict=True):
        threads, blocks = threads * size, blocks * count
    most = find_gpu(first["gpu"]).max_threads_per_block
    fits = occupancy_at(first["gpu"], min(threads, most), int(first["registers"] or 32), 0,
                        int(request.get("shared", 0)))  # fmt: skip
    base = {key: first[key] for key in ("nanoseconds", "instructions", "dram_bytes", "gpu")}
    return {
        "id": answer["id"], "kernel": first["kernel"], "gpu": first["gpu"],
        "grid": first["grid"], "block": first["block"], "nanoseconds": first["nanoseconds"],
        "instructions": first["instructions"], "file": request.get("file", ""),
        "launches": len(answer["launches"]),
        "source": request.get("source", answer.get("source", "")),
        "request": {key: request[key] for key in ("kernel", "arguments", "shared", "cap")
                    if key in request},
        "base": {**base, "threads": threads, "blocks": blocks, "warps": fits.get("warps", 0)},
    }  # fmt: skip


def _gpus() -> list[dict[str, Any]]:
    """The GPUs that kernels can be compiled for."""
    return [
        {"name": gpu.name, "sm": gpu.sm, "sms": gpu.sm_count,
         "shared": gpu.shared_per_block_optin_bytes,
         "bandwidth": gpu.dram_bandwidth_bytes_per_second}
        for gpu in list_gpus() if gpu.sm in ARCHITECTURES
    ]  # fmt: skip


def _tab(document: dict[str, Any]) -> str:
    tab = document.get("tab")
    if not isinstance(tab, str) or re.fullmatch(r"[\w-]{1,40}", tab, re.ASCII) is None:
        raise InputError("tab is not a name")
    return tab


def _posted(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler of JSON documents; what it refuses is an answer with status 400."""

    async def answered(request: Request) -> Response:
        try:
            document = json.loads(await request.body())
            if not isinstance(document, dict):
                raise InputError("the request is not a JSON object")
            answer = await handler(document)
        except (ValueError, RecursionError):
            return JSONResponse(failure("refused", "the request is not JSON"), 400)
        except WarplensError as error:
            return JSONResponse(failure("refused", str(error)), 400)
        return JSONResponse(answer, headers={"cache-control": "no-store"})

    return answered


def _file(name: str) -> Response:
    package = resources.files("warplens")
    is_shared = name == "report.css"  # the reports' style sheet is the page's, too
    folder = package.joinpath(*(("report", "templates") if is_shared else ("studio", "static")))
    kind = STATIC.get(Path(name).suffix)
    if kind is None or re.fullmatch(r"[a-z_.]+", name) is None or name.startswith("."):
        return _missing()
    found = folder.joinpath(name)
    if not found.is_file():
        return _missing()
    headers = {"content-security-policy": _POLICY, "cache-control": "no-cache"}
    return Response(found.read_bytes(), media_type=kind, headers=headers)


def _missing() -> Response:
    return Response("not found\n", 404, media_type="text/plain")
