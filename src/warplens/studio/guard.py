"""Refuses requests that are not the page's own: another host or origin, no token, too much.

The address that the terminal shows has the token. The first request trades it for a cookie that
scripts cannot read and other sites do not send; from then on the cookie is asked for.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

MOST_BODY = 4 << 20
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


class Guard:
    """An ASGI application in front of the studio's."""

    def __init__(self, app: App, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"warplens-studio-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it with what is wrong."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        if self._is_first(scope, headers):
            await self._welcome(send)
            return
        wrong = self._refusal(scope, headers)
        if wrong is not None:
            await _answer(send, *wrong)
            return

        async def sealed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        body = await _body(receive)
        if body is None:
            await _answer(send, 413, "the request is too large")
            return
        await self._app(scope, _replayed(body, receive), sealed)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Status and reason, or None for a request that may pass."""
        if headers.get("host", "") not in self._hosts:
            return 421, "this server answers at 127.0.0.1 only"
        origin = headers.get("origin")
        own = {f"http://{host}" for host in self._hosts}
        if origin is not None and origin not in own:
            return 403, "requests of other origins are refused"
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "requests of other sites are refused"
        if not self._is_known(headers):
            return 403, "open the address that `warplens studio` printed: it holds the token"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "GET and POST only"
        is_json = headers.get("content-type", "").partition(";")[0].strip() == "application/json"
        if scope["method"] == "POST" and not is_json:
            return 415, "requests are JSON"
        return None

    def _is_known(self, headers: dict[str, str]) -> bool:
        given = dict(
            part.strip().partition("=")[::2] for part in headers.get("cookie", "").split(";")
        )
        return self._matches(given.get(self._cookie, ""))

    def _matches(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _is_first(self, scope: Scope, headers: dict[str, str]) -> bool:
        """Whether this is the page with the right token in its address."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        if headers.get("host", "") not in self._hosts:
            return False
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        return self._matches((query.get("token") or [""])[0])

    async def _welcome(self, send: Send) -> None:
        """Keeps the token as a cookie and shows the page at an address without it."""
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, 303, "", ((b"location", b"/"), (b"set-cookie", cookie.encode())))


def _headers(scope: Scope) -> dict[str, str]:
    """The headers by name; one that is given twice counts as wrong, not as either."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        found[key] = "\0" if key in found else value.decode("latin-1")
    return found


async def _body(receive: Receive) -> bytes | None:
    """The whole body, or None if it is too large."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BODY:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body again, for the application; afterwards what the connection tells."""
    left = [body]

    async def again() -> MutableMapping[str, Any]:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return again


async def _answer(
    send: Send, status: int, text: str, more: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status,
                "headers": [*headers, *_HEADERS, *more]})  # fmt: skip
    await send({"type": "http.response.body", "body": text.encode() + b"\n" * bool(text)})
