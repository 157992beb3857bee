"""`warplens gpus --for`: the order, the bands and the prices, computed here from the profile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from warplens.cli.main import main
from warplens.gpus.find import find_gpu
from warplens.result import load

SOURCE = "__global__ void k(const float* a, float* b) { int i = blockIdx.x * 256 + threadIdx.x;" \
    " b[i] = 2 * a[i]; }"  # fmt: skip
CARDS = ("H200", "RTX 4060", "T4")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A profile on three cards."""
    folder = tmp_path_factory.mktemp("cards")
    (folder / "k.cu").write_text(SOURCE)
    arguments = ["--arg", "f32[1<<18]=rand", "--arg", "f32[1<<18]=0"]
    gpus = [word for card in CARDS for word in ("--gpu", card)]
    code = main(["profile", str(folder / "k.cu"), "--grid", "1024", "--block", "256", *arguments,
                 *gpus, "-o", str(folder / "all")])  # fmt: skip
    assert code == 0
    return folder / "all.wlens"


def rows(result: Path, capsys: Any, *options: str) -> list[dict[str, Any]]:
    """What the verb says as JSON."""
    capsys.readouterr()
    assert main(["gpus", "--for", str(result), "--json", *options]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_order_and_bands(result: Path, capsys: Any) -> None:
    """The fastest first; times and bands are those of the launches, watts those of the cards."""
    told = {one.gpu: one.properties for one in load(result).launches}
    found = rows(result, capsys)

    assert [c["gpu"] for c in found] == sorted(told, key=lambda g: float(told[g]["predicted_ns"]))
    for card in found:
        time = float(told[card["gpu"]]["predicted_ns"])
        factor = 1 + float(told[card["gpu"]]["error_percent"]) / 100
        watts = find_gpu(card["gpu"]).value("board.power_watts")
        assert (card["low"], card["high"]) == pytest.approx((time / factor, time * factor))
        assert card["joules_at_tdp"] == pytest.approx(time * 1e-9 * watts)


def test_by_price(result: Path, capsys: Any) -> None:
    """Time times price decides; a card without a price comes last."""
    found = rows(result, capsys, "--sort", "price", "--price", "H200=1e6", "--price", "T4=1")

    assert [c["gpu"] for c in found] == ["T4", find_gpu("H200").name, "RTX 4060"]


@pytest.mark.parametrize("option", ["A100=5", "H200", "H200=free", "H200=0"])
def test_prices_that_make_no_sense(result: Path, capsys: Any, option: str) -> None:
    """A card that was not profiled, no price, no number, nothing."""
    assert main(["gpus", "--for", str(result), "--price", option]) == 2
    assert "price" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["result", "nothing", "pipe", "folder"])
def test_a_process_ends(result: Path, tmp_path: Path, what: str) -> None:
    """A process of its own: it says the table, or at once that there is no such file. A pipe that
    nobody writes to would be waited for without end."""
    file = result if what == "result" else tmp_path / what
    if what == "pipe":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    command = [sys.executable, "-m", "warplens.cli.main", "gpus", "--for", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert done.returncode == (0 if what == "result" else 2)
    assert ("to fastest" in done.stdout) == (what == "result")
    assert (f"{file} is not a file" in done.stderr) == (what in ("pipe", "folder"))
