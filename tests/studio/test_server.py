"""The server as a process: compiles, runs, outlives its workers, cancels, serves many tabs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import warplens as wl

pytest.importorskip("starlette")

from tests.studio.server import Served, served

pytestmark = pytest.mark.long

SCALE = """__global__ void scale(float* a, float f) {
    a[blockIdx.x * blockDim.x + threadIdx.x] *= f;
}
"""
FOREVER = "__global__ void forever(volatile int* a) { while (a[0] == 0) a[1] += 1; }\n"
LAUNCH: dict[str, Any] = {
    "file": "scale.cu", "source": SCALE, "kernel": "scale", "gpu": "H200", "grid": [4],
    "block": [64], "arguments": ["f32[256]=1", "f32=3"],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one source."""
    place = tmp_path_factory.mktemp("kernels")
    (place / "scale.cu").write_text(SCALE)
    return place


@pytest.fixture(scope="module")
def studio(folder: Path) -> Iterator[Served]:
    """A studio with that folder."""
    with served(folder) as one:
        yield one


def test_it_starts_with_what_there_is(studio: Served) -> None:
    """The page gets the folder's sources, the gallery, and every GPU that kernels compile for."""
    told = studio.ask("start")

    assert told["files"] == ["scale.cu"]
    assert "transpose" in [one["id"] for one in told["gallery"]]
    assert {"H200 SXM", "RTX 4090"} <= {gpu["name"] for gpu in told["gpus"]}
    assert studio.ask("open", file="scale.cu")["source"] == SCALE


def test_a_compile_tells_code_and_resources(studio: Served) -> None:
    """SASS and PTX with the lines of the source, and what `Kernel` says of registers."""
    told = studio.ask("compile", **LAUNCH)["kernel"]
    kernel = wl.Device("H200").compile(SCALE)["scale"]

    assert told["registers"] == kernel.registers
    assert [text for _, text, _ in told["sass"]] == [
        i.text.strip() for i in kernel.sass.instructions
    ]
    assert {line for *_, line in told["sass"]} <= {0, 1, 2, 3}
    multiplies = [line for text, line in told["ptx"] if "mul.f32" in text]
    assert multiplies == [2]
    assert [p["type"] for p in told["parameters"]] == ["float*", "float"]


def test_errors_stand_at_their_lines(studio: Served) -> None:
    """What the compiler says has the line of the source."""
    wrong = SCALE.replace("*= f;", "*= g;")
    told = studio.ask("compile", **{**LAUNCH, "source": wrong})

    assert told["kernel"] is None
    assert [(one["line"], one["severity"]) for one in told["diagnostics"]] == [(2, "error")]
    assert "g" in told["diagnostics"][0]["text"]


def test_a_run_is_kept(studio: Served) -> None:
    """A run gives its arrays, a report and a result file that load again."""
    told = studio.ask("run", **LAUNCH)
    name = told["id"]
    status, headers, page = studio.request("GET", f"/result/{name}.html")

    assert told["arrays"][0].startswith("float32[256] 3.0, 3.0")
    assert status == 200 and b"scale(float*, float)" in page
    assert "sandbox" in headers["content-security-policy"]
    status, _, result = studio.request("GET", f"/result/{name}.wlens")
    assert status == 200 and result[:2] == b"PK"
    assert studio.request("GET", "/result/../../etc/passwd")[0] == 404
    assert studio.request("GET", "/result/r99999.html")[0] == 404


def test_two_runs_are_compared(studio: Served) -> None:
    """Any two launches of the history are compared, and no others."""
    names = [studio.ask("run", **{**LAUNCH, "grid": [grid], "arguments": ["f32[512]=1", "f32=3"]})
             ["id"] for grid in (4, 8)]  # fmt: skip
    answer = studio.ask("compare", before=names[0], after=names[1])
    status, _, page = studio.request("GET", f"/result/{answer['page']}.html")

    assert status == 200 and b"smsp__inst_executed.sum" in page
    wrong = studio.ask("compare", before=names[0], after="r0")
    assert "no such launch" in wrong["error"]["message"]


def test_a_killed_worker_is_replaced(studio: Served) -> None:
    """After kill -9 of every worker the next request is answered."""
    assert "kernel" in studio.ask("compile", **LAUNCH)
    for pid in studio.workers():
        os.kill(pid, signal.SIGKILL)
    first = studio.ask("compile", **LAUNCH)
    again = studio.ask("compile", **LAUNCH)

    assert "error" not in first or "SIGKILL" in first["error"]["message"]
    assert again["kernel"]["name"] == "scale(float*, float)"
    studio.ask("run", **LAUNCH)  # may tell that its worker was killed
    assert "error" not in studio.ask("run", **LAUNCH)


def test_a_run_is_cancelled(studio: Served) -> None:
    """A kernel that does not end is cancelled, and the next one runs."""
    endless = {**LAUNCH, "source": FOREVER, "kernel": "forever", "arguments": ["i32[2]=0"]}
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(studio.ask, "run", **endless)
        deadline = time.monotonic() + 60
        while not studio.ask("cancel")["cancelled"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        told = waiting.result(60)

    assert told["error"]["kind"] == "cancelled"
    assert "error" not in studio.ask("run", **LAUNCH)


@pytest.mark.long
def test_ten_tabs(studio: Served) -> None:
    """Ten tabs that compile and run at the same time all get their own answers."""

    def use(number: int) -> tuple[int, str]:
        launch = {**LAUNCH, "tab": f"tab{number}", "arguments": ["f32[256]=1", f"f32={number}"],
                  "source": f"// tab {number}\n{SCALE}"}  # fmt: skip
        lines = {line for *_, line in studio.ask("compile", **launch)["kernel"]["sass"]}
        assert 3 in lines
        return number, studio.ask("run", **launch)["arrays"][0]

    with ThreadPoolExecutor(10) as threads:
        found = dict(threads.map(use, range(1, 11)))

    assert found == {n: f"float32[256] {', '.join([f'{float(n)}'] * 8)}, ..." for n in found}


@pytest.mark.long
def test_sliders_answer(studio: Served) -> None:
    """Occupancy is the calculator's; a rough time stands where there was a run."""
    base = studio.ask("run", **LAUNCH)["id"]
    told = studio.ask("occupancy", gpu="A100", threads=512, registers=33, base=base, blocks=64)

    assert told["occupancy"]["percent"] == 75 and told["occupancy"]["limiters"] == ["registers"]
    assert told["nanoseconds"] > 0
    model = studio.ask("predict", **{**LAUNCH, "gpu": "A100"})
    kernel = wl.Device("A100").compile(SCALE)["scale"]
    import numpy as np

    expected = kernel.predict[4, 64](np.ones(256, np.float32), 3.0)
    assert model["nanoseconds"] == expected.metric("gpu__time_duration.sum")


def test_requests_change_nothing(studio: Served, folder: Path) -> None:
    """Bad paths, sizes and documents are refused; the file stands as it was."""
    for what, document in (
        ("open", {"file": "../scale.cu"}), ("save", {"file": "new.cu", "source": "x"}),
        ("save", {"file": "/etc/hosts", "source": "x"}), ("compile", {"source": 7}),
        ("run", {**LAUNCH, "block": [0]}), ("run", {**LAUNCH, "file": "../../x.cu"}),
        ("run", {**LAUNCH, "gpu": "<script>alert(1)</script>"}),
        ("step", {**LAUNCH, "id": "r0"}), ("compile", {**LAUNCH, "tab": "<b>"}),
    ):  # fmt: skip
        assert studio.ask(what, **document)["error"]["kind"] == "refused", (what, document)
    for body in (b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'"x"'):
        status, _, text = studio.request("POST", "/api/run", body)
        assert status == 400 and b"error" in text
    assert studio.request("POST", "/api/nothing", b"{}")[0] == 404
    assert [path.name for path in folder.iterdir()] == ["scale.cu"]
    assert (folder / "scale.cu").read_text() == SCALE


def test_a_save_is_a_save(studio: Served, folder: Path) -> None:
    """Saving writes the open folder's file."""
    studio.ask("save", file="scale.cu", source=SCALE + "// more\n")
    changed = (folder / "scale.cu").read_text()
    studio.ask("save", file="scale.cu", source=SCALE)

    assert changed == SCALE + "// more\n"


@pytest.mark.long
def test_limits_hold(tmp_path: Path) -> None:
    """A run over the limit of time ends by it; one over the limit of memory says so."""
    source = tmp_path / "forever.cu"
    source.write_text(FOREVER)
    with served(source, "--seconds", "6", "--memory", "5") as one:
        endless = {**LAUNCH, "file": "forever.cu", "source": FOREVER, "kernel": "forever",
                   "arguments": ["i32[2]=0"]}  # fmt: skip
        late = one.ask("run", **endless)
        large = one.ask("run", **{**LAUNCH, "file": "forever.cu",
                                  "arguments": ["f64[1<<30]=1", "f32=3"]})  # fmt: skip
        good = one.ask("run", **{**LAUNCH, "file": "forever.cu"})

    assert late["error"]["message"] == "Stopped after 6 s, the limit of a request."
    assert "memory" in large["error"]["message"] or "elements" in large["error"]["message"]
    assert "error" not in good


@pytest.mark.long
def test_a_result_is_opened(tmp_path: Path) -> None:
    """A result file comes up in the history, with its source."""
    import numpy as np

    run = wl.Device("H200").compile(SCALE)["scale"][4, 64](np.ones(256, np.float32), 3.0)
    path = run.save(str(tmp_path / "kept"))
    with served(path) as one:
        (entry,) = one.ask("start")["history"]

    assert entry["kernel"] == "scale" and entry["source"] == SCALE


@pytest.mark.long
def test_scripts_run(studio: Served) -> None:
    """A Python source runs as `warplens profile` runs it; a mistake in it has its line."""
    script = ("import numpy as np\nimport warplens as wl\n"
              f"kernel = wl.Device('H200').compile('''{SCALE}''')['scale']\n"
              "kernel[2, 32](np.ones(64, np.float32), 2.0)\n")  # fmt: skip
    told = studio.ask("run", file="use.py", source=script, gpu="H200")
    wrong = studio.ask("compile", file="use.py", source="x = (1\n", gpu="H200")

    assert [one["kernel"] for one in told["launches"]] == ["scale"]
    assert wrong["diagnostics"][0]["line"] == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [(["nothing.cu"], "no such file"), (["--port", "99999999"], "port"),
     (["--seconds", "0"], "positive")],
)  # fmt: skip
def test_broken_calls(words: list[str], reason: str, tmp_path: Path) -> None:
    """What cannot be opened is said before anything is served."""
    done = subprocess.run([sys.executable, "-m", "warplens.cli.main", "studio", *words],
                          cwd=tmp_path, capture_output=True, text=True, check=False)  # fmt: skip

    assert done.returncode == 2 and reason in done.stderr and "Traceback" not in done.stderr


def test_nothing_is_left(tmp_path: Path) -> None:
    """When the studio ends, so do its workers, and its folder of results is gone."""
    source = tmp_path / "scale.cu"
    source.write_text(SCALE)
    with served(source) as one:
        assert json.dumps(one.ask("compile", **{**LAUNCH, "file": "scale.cu"}))
        workers = one.workers()
        assert workers

    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
