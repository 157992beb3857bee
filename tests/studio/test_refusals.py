"""What the studio refuses: foreign requests, paths, sizes, values; nothing changes by them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warplens.errors import InputError, WarplensError
from warplens.studio.compiling import placed_arguments
from warplens.studio.files import Workspace
from warplens.studio.guard import MOST_BODY, Guard
from warplens.studio.requests import CodeRequest, LaunchRequest

TOKEN, PORT = "a-token", 1234
GOOD = {"host": f"127.0.0.1:{PORT}", "cookie": f"warplens-studio-{PORT}={TOKEN}",
        "content-type": "application/json"}  # fmt: skip
PAST = 299


async def _behind(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": PAST, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def through(
    headers: Mapping[str, str] | list[tuple[str, str]], *, method: str = "POST",
    path: str = "/api/run", query: str = "", body: bytes = b"{}",
) -> tuple[int, dict[str, str]]:  # fmt: skip
    """Status and headers of the guard's answer; 299 if the request passed."""
    told: list[Any] = []
    given = headers if isinstance(headers, list) else list(headers.items())
    scope = {
        "type": "http", "method": method, "path": path, "query_string": query.encode("utf-8"),
        "headers": [(n.encode("utf-8"), v.encode("utf-8")) for n, v in given],
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        told.append(message)

    asyncio.run(Guard(_behind, token=TOKEN, port=PORT)(scope, receive, send))
    return told[0]["status"], {n.decode(): v.decode() for n, v in told[0]["headers"]}


def test_the_page_passes() -> None:
    """The page's own requests get through, and every answer has the headers that seal it."""
    status, headers = through(GOOD)

    assert status == PAST
    assert headers["x-content-type-options"] == "nosniff"
    assert through({**GOOD, "origin": f"http://127.0.0.1:{PORT}"})[0] == PAST
    assert through({**GOOD, "sec-fetch-site": "same-origin"})[0] == PAST


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({**GOOD, "host": "evil.example"}, 421),
        ({**GOOD, "host": "127.0.0.1"}, 421),
        ({**GOOD, "host": "127.0.0.1:1235"}, 421),
        ({**GOOD, "origin": "http://evil.example"}, 403),
        ({**GOOD, "origin": "null"}, 403),
        ({**GOOD, "origin": "http://127.0.0.1:1235"}, 403),
        ({**GOOD, "sec-fetch-site": "cross-site"}, 403),
        ({**GOOD, "sec-fetch-site": "same-site"}, 403),
        ({**GOOD, "cookie": ""}, 403),
        ({**GOOD, "cookie": f"warplens-studio-{PORT}=another"}, 403),
        ({**GOOD, "cookie": f"warplens-studio-{PORT}={TOKEN}x"}, 403),
        ({**GOOD, "content-type": "text/plain"}, 415),
        ({**GOOD, "content-type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_foreign_requests_are_refused(headers: dict[str, str], status: int) -> None:
    """Another host, origin, site, token or form gets an answer that says so, and no more."""
    assert through(headers)[0] == status


def test_other_ways_in_are_closed() -> None:
    """Other methods, two hosts, bodies beyond the limit, and wrong tokens in the address."""
    assert through(GOOD, method="PUT")[0] == 405
    assert through([*GOOD.items(), ("host", "evil.example")])[0] == 421
    assert through(GOOD, body=b" " * (MOST_BODY + 1))[0] == 413
    bare = {"host": GOOD["host"]}
    assert through(bare, method="GET", path="/", query="token=wrong")[0] == 403
    assert through(bare, method="GET", path="/static/studio.js", query=f"token={TOKEN}")[0] == 403


def test_the_token_becomes_a_cookie() -> None:
    """The printed address leads to one without the token; the cookie is for this server alone."""
    status, headers = through({"host": GOOD["host"]}, method="GET", path="/",
                              query=f"token={TOKEN}")  # fmt: skip

    assert (status, headers["location"]) == (303, "/")
    assert "HttpOnly" in headers["set-cookie"] and "SameSite=Strict" in headers["set-cookie"]


TEXT = st.text(max_size=30)


@given(st.dictionaries(st.sampled_from(["host", "origin", "cookie", "content-type"]), TEXT),
       st.sampled_from(["GET", "POST", "DELETE", "OPTIONS"]), TEXT)  # fmt: skip
def test_fuzzed_headers_do_not_pass(headers: dict[str, str], method: str, query: str) -> None:
    """No mixture of headers without the token gets through."""
    assert through(headers, method=method, path="/", query=query)[0] in (403, 405, 415, 421)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
KEYS = ("file", "source", "kernel", "gpu", "cap", "grid", "block", "shared", "arguments", "warp")


@given(st.dictionaries(st.sampled_from(KEYS), VALUES))
def test_fuzzed_documents_are_read_or_refused(document: dict[str, Any]) -> None:
    """Whatever a document holds, it becomes a checked launch or an error with a reason."""
    try:
        request = LaunchRequest.read(document)
    except WarplensError as error:
        assert str(error)
    else:
        assert all(type(n) is int and n > 0 for n in (*request.grid, *request.block))
        assert 0 <= request.cap <= 255 and "<script" not in request.kernel


def test_names_are_names() -> None:
    """Markup in the name of a kernel or GPU is refused before it is anywhere."""
    for key in ("kernel", "gpu"):
        with pytest.raises(InputError, match="is not a name"):
            CodeRequest.read({"source": "", key: '"><img src=x onerror=alert(1)>'})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a source, and things beside it that are nobody's business."""
    inside = tmp_path / "kernels"
    inside.mkdir()
    (inside / "a.cu").write_text("// a")
    (inside / "notes.txt").write_text("no source")
    (tmp_path / "secret.cu").write_text("// secret")
    (inside / "link.cu").symlink_to(tmp_path / "secret.cu")
    return inside


@pytest.mark.parametrize(
    "name",
    ["../secret.cu", "/etc/passwd", "..", "", ".", "notes.txt", "link.cu", "a.cu/../../secret.cu",
     "missing.cu", "..\\secret.cu", "a.cu\0.cu", "./../secret.cu", "~/a.cu", "file:///a.cu"],
)  # fmt: skip
def test_paths_stay_inside(folder: Path, name: str) -> None:
    """Only sources of the open folder are read and written."""
    workspace = Workspace.of(folder)
    with pytest.raises((InputError, ValueError)):
        workspace.read(name)
    with pytest.raises((InputError, ValueError)):
        workspace.write(name, "changed")

    assert (folder.parent / "secret.cu").read_text() == "// secret"
    assert (folder / "a.cu").read_text() == "// a"


@given(st.text(max_size=40))
def test_fuzzed_paths_stay_inside(name: str) -> None:
    """No name at all leads out of the folder."""
    here = Path(__file__).parent
    try:
        path = Workspace(here).path(name)
    except (InputError, ValueError):
        return
    assert path.is_relative_to(here)


def test_a_file_is_written_at_once(folder: Path) -> None:
    """Saving replaces the text, and leaves nothing else behind."""
    workspace = Workspace.of(folder)
    workspace.write("a.cu", "// changed")

    assert (folder / "a.cu").read_text() == "// changed"
    assert workspace.names() == ["a.cu", "link.cu"]
    assert sorted(path.name for path in folder.iterdir()) == ["a.cu", "link.cu", "notes.txt"]


def test_one_file_is_one_file(folder: Path) -> None:
    """With a file open, its neighbours are not."""
    (folder / "b.cu").write_text("// b")
    workspace = Workspace.of(folder / "a.cu")

    assert workspace.names() == ["a.cu"]
    with pytest.raises(InputError, match="not the open file"):
        workspace.read("b.cu")


def test_arrays_come_from_the_folder(folder: Path) -> None:
    """`.npy` files of arguments lie in the open folder."""
    assert placed_arguments(("f32[4]=x.npy",), folder) == (f"f32[4]={folder / 'x.npy'}",)
    for wrong in ("f32[4]=../x.npy", "f32[4]=/tmp/x.npy"):
        with pytest.raises(InputError, match="not a file of the open folder"):
            placed_arguments((wrong,), folder)
    with pytest.raises(InputError, match="not a file of the open folder"):
        placed_arguments(("f32[4]=x.npy",), None)
