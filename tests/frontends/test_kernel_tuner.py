"""Kernel Tuner's scripts run on the simulated GPU; strategies, caches and answers are its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens

pytest.importorskip("kernel_tuner")
pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernel Tuner leaves sources that it could not compile in the working folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def script(gpu: Any) -> Any:
    """The script, imported when the GPU is in place."""
    from tests.frontends import kernel_tuner_script

    return kernel_tuner_script


def predicted_ms(source: str, block: int, per: int, n: int) -> float:
    """The same launch, predicted by hand."""
    options = [f"-Dblock_size_x={block}", f"-DPER={per}", "-DWRONG=0"]
    kernel = warplens.Device("H200").compile(source, options=options)["scaled"]
    arrays = np.zeros(n, np.float32), np.arange(n, dtype=np.float32)
    launch = kernel.predict[-(-n // (block * per)), block, 0, 4 * block](*arrays, n)
    return float(launch["gpu__time_duration.sum"]) / 1e6


def test_a_search(script: Any, tmp_path: Path) -> None:
    """Every configuration that a GPU takes has the time that warplens predicts, the others an
    error; Kernel Tuner's cache holds them and is read again."""
    cache = tmp_path / "cache.json"
    results, environment = script.tuned(cache=str(cache))
    times = {(r["block_size_x"], r["PER"]): r["time"] for r in results if "__error__" not in r}
    stored = json.loads(cache.read_text())

    assert environment["device_name"] == "NVIDIA H200 SXM (warplens)"
    assert set(times) == {(b, p) for b in (32, 128, 512) for p in (1, 4)}
    assert times[128, 4] == pytest.approx(predicted_ms(script.SOURCE, 128, 4, script.N))
    assert set(stored["cache"]) >= {f"{b},{p}" for b, p in times}
    again, _ = script.tuned(cache=str(cache))
    assert [r["time"] for r in again if "__error__" not in r] == list(times.values())


def test_a_strategy(script: Any) -> None:
    """A strategy of Kernel Tuner's finds the best of what it looked at."""
    results, environment = script.tuned(
        strategy="random_sample", strategy_options={"fraction": 0.5}, seed=3
    )
    known = [r["time"] for r in results if "__error__" not in r]

    assert 0 < len(known) < 7
    assert environment["best_config"]["time"] == min(known)


def test_parallel(script: Any) -> None:
    """What asks for Kernel Tuner's parallel runner gets the same times, without Ray."""
    found, _ = script.tuned(parallel=True)
    alone, _ = script.tuned()
    times = [[r["time"] for r in rows if "__error__" not in r] for rows in (found, alone)]

    assert times[0] == times[1] and len(times[0]) == 6


def test_a_wrong_answer(script: Any) -> None:
    """Results are compared in full runs: a wrong one stops Kernel Tuner, as on a GPU."""
    with pytest.raises(RuntimeError, match="verification failed"):
        script.tuned(wrong=4)
