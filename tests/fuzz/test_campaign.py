"""Campaigns by several workers: the same findings, and a crash is known by its seed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.__main__ import Campaign, main
from tests.fuzz.campaign import Batch, Tally
from warplens.workers import Lost


class Crashing:
    """A runner whose worker dies at one seed."""

    size, has_one_cache = 1, True

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def results(
        self, work: Callable[[Any], Any], tasks: Sequence[Any], group: Any = None
    ) -> Iterator[tuple[int, Any]]:
        """Nothing is run; the last comes first."""
        for number, batch in reversed(list(enumerate(tasks))):
            crashes = self.seed in batch.seeds
            yield number, Lost() if crashes else Tally(len(batch.seeds), len(batch.seeds))

    def close(self) -> None:
        """Nothing."""


def test_a_crash_is_known_by_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are halved until one program is left; all others count."""
    options = argparse.Namespace(
        family="numeric", programs=21, seed=100, archs="sm_86", batch=8, workers=1, scheduler=None,
        seconds=None, json=None, stop_after=10, shrink=True,
    )  # fmt: skip
    campaign = Campaign(options)
    monkeypatch.setattr(campaign, "runner", lambda: Crashing(110))
    campaign.run()

    assert campaign.total.programs == 21
    [failure] = campaign.total.failures
    assert failure.kind == "crash" and failure.program.seed == 110
    assert Batch(range(3, 4), ("sm_86",), "numeric").halves() == []


@pytest.mark.long
def test_two_processes_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte, but for times and the number of workers."""
    found = []
    for workers in ("1", "2"):
        out = tmp_path / f"{workers}.json"
        monkeypatch.setattr(sys, "argv", [
            "fuzz", "--programs", "6", "--batch", "2", "--archs", "sm_86", "--workers", workers,
            "--json", str(out),
        ])  # fmt: skip
        assert main() == 0
        told = json.loads(out.read_text())
        found.append({key: value for key, value in told.items()
                      if key not in ("seconds", "core_seconds", "workers")})  # fmt: skip

    assert found[0] == found[1] and found[0]["programs"] == 6
