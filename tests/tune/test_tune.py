"""Searches over small spaces, compared with predicting every configuration by hand."""

from __future__ import annotations

import json
import math
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.cli.main import main
from warplens.errors import InputError
from warplens.tune import Problem, Search, Space, Tuned, evaluate
from warplens.tune.evaluate import Answer, Task, answer
from warplens.tune.problem import Job

SOURCE = """
template <int PER> __global__ void twice(const float* a, float* b, int n) {
    int i = blockIdx.x * BX * PER + threadIdx.x;
#pragma unroll
    for (int k = 0; k < PER; k++, i += BX) if (i < n) b[i] = a[i] * (PER == WRONG ? 3 : 2);
}
"""
N = 1 << 15
SPACE = {"BX": [32, 64, 256, 2048], "PER": [1, 2, 4]}
A = np.arange(N, dtype=np.float32)


def search(wrong: int = 0, **options: Any) -> Tuned:
    """The small search of all tests."""
    settings: dict[str, Any] = {"processes": 1, "gpus": ["H200", "RTX 4060"], "confirm": 2}
    return wl.tune(
        SOURCE, kernel="twice<{PER}>", space=SPACE, restrictions=["BX * PER <= 2048"],
        grid=lambda c: (-(-N // (c["BX"] * c["PER"])),), block="BX",
        args=[A, np.zeros(N, np.float32), N], options=[f"-DWRONG={wrong}"],
        **{**settings, "reference": {1: 2 * A}} | options,
    )  # fmt: skip


def by_hand(gpu: str, bx: int, per: int) -> float:
    """The predicted time of one configuration."""
    module = wl.Device(gpu).compile(SOURCE, options=[f"-DBX={bx}", "-DWRONG=0"])
    launch = module[f"twice<{per}>"].predict[-(-N // (bx * per)), bx](A, np.zeros(N, np.float32), N)
    return float(launch["gpu__time_duration.sum"])


class Shuffled:
    """Answers whichever open task it likes, with a cost of its own."""

    size, has_one_cache = 3, False

    def __init__(self, seed: int) -> None:
        self.lot = np.random.default_rng(seed)
        self.asked: list[str] = []

    def results(self, work: Any, tasks: Any, group: Any = None) -> Iterator[tuple[int, Answer]]:
        """In no order."""
        done: set[int] = set()
        while len(done) < len(tasks):
            number = int(self.lot.choice(sorted(set(range(len(tasks))) - done)))
            done.add(number)
            yield number, self.answered(tasks[number])

    def answered(self, task: Task) -> Answer:
        """Facts, and a time with one valley."""
        options = dict(one[2:].split("=") for one in task.job.options)
        x, y = (math.log2(int(options[name])) for name in ("X", "Y"))
        if task.stage == "facts":
            return Answer(facts=dict.fromkeys(FACTS, 1.0) | {"work": x * y})
        if task.stage == "count":
            return Answer(metrics={evaluate.COUNTED: x * y})
        self.asked.append(f"{x:.0f} {y:.0f}")
        return Answer(metrics={evaluate.TIME: 10 + (x - 5) ** 2 + (y - x + 1) ** 2})

    def close(self) -> None:
        """Nothing."""


FACTS = ("registers", "local_bytes", "shared_bytes", "code_bytes", "instructions", "memory",
         "stalls", "waits", "work", "least", "occupancy", "blocks")  # fmt: skip


@pytest.mark.parametrize(("strategy", "most"), one_in(
    2, [("surrogate", 200), ("tpe", 40)],
    lambda case: "-".join(map(str, case)), first=1, several=True,
))
def test_whoever_answers_first(
    monkeypatch: pytest.MonkeyPatch, strategy: str, most: int
) -> None:  # fmt: skip
    """Rounds overlap where a strategy allows it, but what is predicted does not depend on the order
    in which answers come."""
    space = Space({"X": [2**i for i in range(1, 31)], "Y": [2**i for i in range(1, 31)]})
    problem = Problem(source="", kernel="k", space=space, grid=1, block=32, args=[])
    asked = []
    for seed in (1, 2, 3):
        runner = Shuffled(seed)
        monkeypatch.setattr("warplens.tune.run.runner_of", lambda *_, runner=runner: runner)
        found = Search(problem, ("H200",), strategy=strategy, confirm=0, evaluations=most).run()
        assert sum(row.status == "predicted" for row in found.rows) == most
        asked.append(runner.asked)

    assert sorted(asked[0]) == sorted(asked[1]) == sorted(asked[2])
    assert asked[0] != asked[1]


@pytest.fixture(scope="module")
def found() -> Tuned:
    """One exhaustive search."""
    return search()


@pytest.mark.parametrize("gpu", ["H200", "RTX 4060"])
def test_the_best_is_the_best(found: Tuned, gpu: str) -> None:
    """Predicted by hand, no configuration is faster than the one that was found."""
    times = {
        f"BX={bx} PER={per}": by_hand(gpu, bx, per)
        for bx in SPACE["BX"][:3] for per in SPACE["PER"]
    }  # fmt: skip
    rows = {row.name: row for row in found.of(gpu)}

    assert {name: row.time_ns for name, row in rows.items()} == pytest.approx(times, rel=1e-6)
    assert times[found.of(gpu)[0].name] == min(times.values())
    best = found.best_on(gpu)
    assert best is not None and best.status == "confirmed"
    assert best.confirmed_ns == pytest.approx(times[best.name], rel=0.05)


def test_failures_have_reasons(found: Tuned) -> None:
    """A block that no GPU takes is a row with its reason, and ends nothing."""
    failed = found.failures()

    assert {row.name for row in failed} == {"BX=2048 PER=1"}
    assert all("block x = 2,048" in row.problem for row in failed)
    assert found.stopped == ""


def test_regrets_and_compromise(found: Tuned) -> None:
    """Losses are against each GPU's best; the compromise has the smallest mean loss."""
    regrets = found.regrets()
    means = {name: sum(losses.values()) for name, losses in regrets.items() if len(losses) == 2}

    for gpu in found.gpus:
        assert min(losses[gpu] for losses in regrets.values() if gpu in losses) == 0
    assert means[str(found.compromise())] == min(means.values())


@pytest.mark.long  # test_failures has one
def test_a_wrong_result_is_no_result() -> None:
    """A configuration whose output differs from the reference is dropped for the next best."""
    usual = search(gpus=["H200"])
    assert usual.best is not None
    fastest = usual.best.configuration["PER"]
    other = search(wrong=fastest, gpus=["H200"])

    assert other.best is not None and other.best.configuration["PER"] != fastest
    wrong = [row for row in other.failures() if "wrong result in argument 1" in row.problem]
    assert wrong and {row.configuration["PER"] for row in wrong} == {fastest}


def test_how_far_a_result_may_be_off() -> None:
    """The bounds are those that are asked for."""
    near = {1: 2 * A * np.float32(1.0005)}

    assert search(gpus=["H200"], reference=near, rtol=1e-3).best is not None
    assert search(gpus=["H200"], reference=near).best is None


def test_a_record_is_resumed(tmp_path: Path) -> None:
    """What stands in the file is not computed again; a damaged line is named, one cut short at the
    end is dropped."""
    path = tmp_path / "known.jsonl"
    first = search(record=path, gpus=["H200"])
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines) + '\n{"stage": "pre')  # killed while it wrote
    again = search(record=path, gpus=["H200"])
    repeated = path.read_text().splitlines()[len(lines):]

    assert [(r.name, r.time_ns) for r in again.rows] == [(r.name, r.time_ns) for r in first.rows]
    assert {json.loads(line)["stage"] for line in repeated} == {"confirm"}
    path.write_text("\n".join([*lines[:3], "nonsense", *lines[3:]]) + "\n")
    with pytest.raises(InputError, match=r"known\.jsonl:4: not JSON"):
        search(record=path, gpus=["H200"])
    with pytest.raises(InputError, match="another kernel"):
        path.write_text("\n".join(lines) + "\n")
        search(record=path, gpus=["H200"], clock=1200)


def test_random_and_limits() -> None:
    """A seed gives the same choice; so many evaluations and no more are made."""
    runs = [search(strategy="random", seed=5, evaluations=4, gpus=["H200"]) for _ in range(2)]
    chosen = [{r.name for r in run.rows if r.time_ns is not None} for run in runs]

    assert chosen[0] == chosen[1] and len(chosen[0]) == 4
    assert search(budget="0s", gpus=["H200"]).stopped == "the budget is spent"


def test_occupancy_or_any_metric() -> None:
    """Another metric can be minimised."""
    found = search(objective="smsp__inst_executed.sum", gpus=["H200"], confirm=1)
    counts = {r.name: r.objective for r in found.of()}

    assert found.best is not None and counts[found.best.name] == min(counts.values())


@pytest.mark.parametrize(
    "options",
    [{"strategy": "luck"}, {"gpus": []}, {"budget": "soon"}],
)
def test_settings_that_make_no_sense(options: dict[str, Any]) -> None:
    """They are refused."""
    with pytest.raises(InputError):
        search(**options)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A specification in TOML, text and JSON out of it, and what is wrong with one."""
    (tmp_path / "k.cu").write_text(SOURCE)
    spec = tmp_path / "spec.toml"
    spec.write_text(
        f"""source = "k.cu"
kernel = "twice<{{PER}}>"
grid = "(n + BX * PER - 1) // (BX * PER)"
block = "BX"
args = ["f32[{N}]=arange", "f32[{N}]=0", "i32={N}"]
options = ["-DWRONG=0"]
restrictions = ["BX <= 64"]
gpus = ["RTX 4060"]
[constants]
n = {N}
[space]
BX = [32, 64, 256]
PER = [1, 2]
"""
    )
    assert main(["tune", str(spec), "--processes", "1", "--confirm", "1"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("RTX 4060: best is BX=") and "4 configurations with a value" in text
    cache = tmp_path / "cache.json"
    options = ["--processes", "1", "--confirm", "0"]
    assert main(["tune", str(spec), *options, "--json", "--cache-file", str(cache)]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 4
    assert main(["tune", str(spec), *options, "--measured", str(cache)]) == 0
    assert "Kendall's tau 1.00, the predicted best 0.0 %" in capsys.readouterr().out
    assert main(["tune", str(spec), "--t4", str(tmp_path / "new"), "--html", str(cache)]) == 2
    assert "cache.json already exists" in capsys.readouterr().err
    assert main(["tune", str(spec), "--t1", str(tmp_path / "new")]) == 2  # before it searches
    assert "T1 has no place for template arguments" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    spec.write_text(spec.read_text().replace("grid =", "gird ="))
    assert main(["tune", str(spec)]) == 2
    assert "'gird'" in capsys.readouterr().err


@pytest.mark.long
def test_processes_give_the_same(found: Tuned) -> None:
    """Two processes, a study of Optuna and a cluster of Dask find the same best configuration."""
    pytest.importorskip("optuna")
    pytest.importorskip("distributed")
    runs = [search(processes=2), search(strategy="tpe", seed=1), search(strategy="evolutionary"),
            search(scheduler="local")]  # fmt: skip

    for run in runs:
        assert {(r.gpu, r.name, r.time_ns) for r in run.rows} == {
            (r.gpu, r.name, r.time_ns) for r in found.rows
        }


def test_a_worker_that_dies(tmp_path: Path) -> None:
    """Killed in the middle, it costs its task a second try; the result has the same bytes."""
    plain = search(gpus=["RTX 4060"], confirm=0)
    problem = Problem(
        source=SOURCE, kernel="twice<{PER}>", space=Space(SPACE, ("BX * PER <= 2048",)),
        grid=lambda c: (-(-N // (c["BX"] * c["PER"])),), block="BX",
        args=[A, np.zeros(N, np.float32), N], options=["-DWRONG=0"],
    )  # fmt: skip
    killed: list[int] = []

    def kill_one(stage: str, done: int, total: int) -> None:
        children = multiprocessing.active_children()
        if stage == "compiled" and not killed and children:
            killed.append(children[0].pid or 0)
            children[0].kill()

    other = Search(problem, ("RTX 4060",), processes=2, confirm=0, progress=kill_one).run()

    assert killed and other.json() == plain.json()


@pytest.mark.long  # test_failures has one
def test_a_run_that_takes_too_long() -> None:
    """It is a failure of its configuration, and the next best is confirmed."""
    source = SOURCE.replace("twice(", "slow(").replace(
        "int i =", "if (PER == 4) for (volatile int spin = 0; spin >= 0;) spin = spin & 7; int i ="
    )
    found = wl.tune(
        source, kernel="slow<{PER}>", space={"BX": [64], "PER": [1, 4]}, timeout="1s",
        grid=lambda c: (N // (64 * c["PER"]),), block="BX", processes=1, confirm=2,
        args=[A, np.zeros(N, np.float32), N], options=["-DWRONG=0"],
    )  # fmt: skip

    assert [row.configuration["PER"] for row in found.of()] == [1]
    assert [row.configuration["PER"] for row in found.failures()] == [4]


def test_the_landscape(found: Tuned) -> None:
    """The best of each pair, shaded from 1; pairs without a value are empty; the page says why."""
    told = found.landscape()
    assert told is not None
    best = {
        (str(r.configuration[told.down]), str(r.configuration[told.across])): r.objective
        for r in reversed(found.of())
    }
    drawn = {
        (down, across): row.objective
        for down, line in zip(told.rows, told.cells, strict=True)
        for across, row in zip(told.columns, line, strict=True) if row is not None
    }  # fmt: skip

    assert drawn == best and {"BX", "PER"} == {told.down, told.across}
    text = str(found)
    assert "warps wait most for" in text and "L1 hit rate" in text and "1.00" in text
    assert found.html().count("<table>") == 2 and "http" not in found.html()


@pytest.mark.long
def test_a_script(tmp_path: Path) -> None:
    """The command line's settings take the place of the script's. In a process of its own: one
    keeps the GPUs that it has, and other tests have others."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, numpy as np, warplens as wl\n"
        "assert sys.argv[1:] == ['7']\n"
        f"wl.tune({'__global__ void k(float* a) { a[threadIdx.x] += BX; }'!r}, kernel='k',"
        "space={'BX': [32, 64]}, grid=1, block='BX', args=[np.zeros(64, np.float32)],"
        "gpus=['H200'], processes=1, confirm=3)\n"
    )

    def tuned(*options: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "warplens.cli.main", "tune", *options, str(script), "7"]
        return subprocess.run(words, capture_output=True, text=True, timeout=120)

    found = tuned("--gpu", "T4", "--confirm", "0", "--json")
    assert found.returncode == 0, found.stderr
    rows = json.loads(found.stdout)["rows"]
    assert {row["gpu"] for row in rows} == {"T4"} and len(rows) == 2
    assert {row["status"] for row in rows} == {"predicted"}
    assert tuned("--t4", "x.json").returncode == 2


@pytest.mark.long
def test_a_prediction_does_not_depend_on_what_was_predicted_before() -> None:
    """Where earlier launches left their arrays decided half a percent of a product's time."""
    source = Path(__file__).parents[2] / "validation" / "tuning" / "kernels" / "gemm.cu"
    n, k = 2048, 1024
    arrays = [np.zeros(size, np.float32) for size in (n * k, k * n, n * n)]

    def predicted(bm: int, bk: int, tm: int) -> dict[str, float] | None:
        bn, tn = 32, 4
        values = {"BM": bm, "BN": bn, "BK": bk, "TM": tm, "TN": tn, "PAD": 0, "PREFETCH": 0}
        options = tuple(f"-D{name}={value}" for name, value in values.items())
        job = Job(source=source, kernel="gemm", options=options, grid=(n // bn, n // bm),
                  block=(bm * bn // (tm * tn),), shared=0, cluster=None)  # fmt: skip
        task = Task(stage="predict", job=job, gpu="H200", clock="base", metrics=(),
                    arguments=(*arrays, n, k))  # fmt: skip
        return answer(task).metrics

    alone = predicted(32, 32, 4)
    evaluate._module.cache_clear()
    assert predicted(128, 8, 2)
    assert predicted(32, 32, 4) == alone
