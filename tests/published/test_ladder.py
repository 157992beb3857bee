"""The public ladder of matrix products: what was recorded of it, code brought from elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "validation"))

import old_nvrtc
import sgemm_ladder


def test_recorded_cycles_of_both_compilers() -> None:
    old, new = sgemm_ladder.recorded("12.1.105"), sgemm_ladder.recorded("13.5")
    assert set(old) == set(new) == set(range(2, 12))
    assert old[10] == pytest.approx(8_663_924, abs=1)  # with all its blocks, not with fewer
    assert sgemm_ladder.recorded("11.0") == {}


def test_package_that_is_there_is_not_brought_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvrtc-12.1.105").mkdir()
    asked: list[str] = []
    monkeypatch.setattr(old_nvrtc, "_bring", lambda version, place: asked.append(version))
    with pytest.raises(RuntimeError, match="brought again"):  # nothing in it
        old_nvrtc.OldNvrtc("12.1.105", tmp_path)
    assert not asked
