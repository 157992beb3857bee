"""The studio as a user starts it: a process of its own, its address, and requests to it."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(slots=True)
class Served:
    """A running studio."""

    address: str
    process: subprocess.Popen[str]
    cookie: str = ""
    sent: dict[str, str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        """The port of 127.0.0.1."""
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @property
    def token(self) -> str:
        """The token of the printed address."""
        return parse_qs(urlsplit(self.address).query)["token"][0]

    def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body; the page's own headers unless others are given."""
        sent = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie,
                "Content-Type": "application/json"}  # fmt: skip
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def ask(self, what: str, **document: Any) -> dict[str, Any]:
        """The answer to a request of the page."""
        body = json.dumps({"tab": "test", **document}).encode()
        _, _, text = self.request("POST", f"/api/{what}", body)
        answer: dict[str, Any] = json.loads(text)
        return answer

    def workers(self) -> list[int]:
        """The worker processes."""
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parts = status.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(parts[1]) == self.process.pid:
                found.append(int(status.parent.name))
        return found


@contextmanager
def served(*words: str | Path) -> Iterator[Served]:
    """`warplens studio`, until the block ends."""
    command = [sys.executable, "-m", "warplens.cli.main", "studio", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        studio = Served(process.stdout.readline().strip(), process)
        assert studio.address.startswith("http://127.0.0.1:"), studio.address
        status, headers, _ = studio.request("GET", f"/?token={studio.token}")
        assert status == 303 and headers["location"] == "/"
        studio.cookie = headers["set-cookie"].partition(";")[0]
        yield studio
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        finally:
            process.kill()
            process.stdout.close()
