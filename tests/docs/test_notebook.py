"""The tutorial notebook: executed, without errors, and its cells still run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
PATH = ROOT / "examples" / "tutorial.ipynb"


def cells() -> list[dict[str, Any]]:
    """The code cells."""
    found = json.loads(PATH.read_text())["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_is_executed() -> None:
    """Every code cell was run, in order, without error, and what should show itself does."""
    counts = [cell["execution_count"] for cell in cells()]
    outputs = [output for cell in cells() for output in cell["outputs"]]
    shown = [output["data"] for output in outputs if "data" in output]

    assert counts == list(range(1, len(counts) + 1))
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert sum("text/html" in data for data in shown) >= 3


def test_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cells run one after another."""
    monkeypatch.chdir(ROOT / "examples")
    names: dict[str, Any] = {}
    for cell in cells():
        exec("".join(cell["source"]), names)

    assert names["total"][0] == names["data"].sum()
    assert max(len(words) for words in names["worst"].banks.values()) == 8
