"""Python sources in the studio: read while they are edited, run with their kernels' code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.studio.page import WAIT, browser, opened
from tests.studio.server import served
from warplens.studio.compiling import compiled
from warplens.studio.requests import CodeRequest, LaunchRequest
from warplens.studio.running import Runner

TRITON = '''\
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[], key=[])
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.load(y + at))
'''
NUMBA = '''\
import numpy as np
from numba import cuda

@cuda.jit(lineinfo=True)
def twice(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= 2.0

values = cuda.to_device(np.ones(1024, np.float32))
twice[8, 128](values)
print(values.copy_to_host()[:3])
'''


def read(source: str) -> dict[str, object]:
    """What the page is told while a script is edited."""
    return compiled(CodeRequest(file="k.py", source=source, gpu="H200", kernel=""), None)


def test_kernels_are_named_while_editing() -> None:
    """Triton's and numba's kernels stand there with their parameters, without running anything."""
    told = read(TRITON)["message"]

    assert told == ("Triton kernel add(x, y, out, n; constants BLOCK), line 7. "
                    "Compiled when the script runs.")  # fmt: skip
    assert "numba-cuda kernel twice(a), line 5" in str(read(NUMBA)["message"])
    assert "No kernel is defined" in str(read("import os\nos.abort()\n")["message"])


def test_mistakes_have_their_line() -> None:
    """A syntax error is told at its line, whatever stands around it."""
    told = read(NUMBA.replace("if i < a.size:", "if i < a.size"))
    (one,) = told["diagnostics"]  # type: ignore[misc]

    assert one["line"] == 7 and one["severity"] == "error" and not told["message"]


@pytest.mark.long
def test_a_run_shows_the_machine_code(tmp_path: Path) -> None:
    """After a run the kernel's SASS has the script's lines, registers and values per line."""
    pytest.importorskip("numba_cuda")
    request = LaunchRequest(file="k.py", source=NUMBA, gpu="H200", kernel="")
    answer = Runner(tmp_path, None).run(request, "r1")
    lines = {line for _, _, line in answer["code"]["sass"]}

    assert answer["code"]["registers"] > 0 and "[2. 2. 2.]" in answer["output"]
    assert lines & {6, 7, 8} and set(answer["lines"]["instructions"]) <= set(range(4, 10))


@pytest.mark.long
def test_in_the_page(tmp_path: Path) -> None:
    """A script is opened, edited and run in the page; its rows have the colours of its lines."""
    pytest.importorskip("numba_cuda")
    (tmp_path / "twice.py").write_text(NUMBA)
    with served(tmp_path) as studio, browser() as chromium:
        page = opened(chromium, studio)
        assert "kernel twice(a)" in page.text("#status")
        assert page.page.is_disabled("#grid")
        page.run()
        page.page.wait_for_selector("#sass .row", timeout=WAIT)
        page.page.locator('#sass .row[data-line="8"]').first.click()
        assert "per thread" in page.text("#facts")
        page.write(NUMBA.replace("2.0", "3.0"))
        page.run()
        assert "[3. 3. 3.]" in page.text("#output")
        assert page.complaints == []


@pytest.mark.long
def test_triton_runs(tmp_path: Path) -> None:
    """A Triton kernel runs as it is; its SASS has the lines of its source."""
    pytest.importorskip("triton")
    body = NUMBA.partition("\n@")[0].replace("from numba import cuda", "import triton\n"
        "import triton.language as tl\nfrom warplens.frontends.triton import array")  # fmt: skip
    kernel = TRITON.partition("[], key=[])\n")[2]
    script = f"{body}\n{kernel}\nx = np.ones(64, np.float32)\nout = np.zeros_like(x)\n" \
        "add[(2,)](array(x), array(x), array(out), 64, BLOCK=32)\nprint(out[:2])\n"  # fmt: skip
    request = LaunchRequest(file="k.py", source=script, gpu="H200", kernel="")
    answer = Runner(tmp_path, None).run(request, "r1")
    store = 1 + script.splitlines().index(next(x for x in script.splitlines() if "store" in x))

    assert "[2. 2.]" in answer["output"]
    assert store in {line for _, _, line in answer["code"]["sass"]}
