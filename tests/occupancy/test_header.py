"""Occupancy equals NVIDIA's header, asked directly where there is a compiler and from a table."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import occupancy_header as header
import pytest

TABLE = pathlib.Path(__file__).parents[1] / "data" / "occupancy_header.npz"


@pytest.fixture(scope="module")
def recorded() -> dict[str, np.ndarray]:
    """The table of points with the header's answers."""
    with np.load(TABLE) as table:
        return {name: table[name] for name in table.files}


def _part(recorded: dict[str, np.ndarray], capability: header.Capability, side: str):
    rows = (recorded["major"] == capability.major) & (recorded["minor"] == capability.minor)
    prefix = side + "_"
    return {
        name.removeprefix(prefix): column[rows]
        for name, column in recorded.items()
        if name.startswith(prefix)
    }


def test_the_recorded_table_agrees(recorded: dict[str, np.ndarray]) -> None:
    """All recorded points (at least 5,000, every capability) agree in every field."""
    compared = 0
    for capability in header.capabilities():
        points = _part(recorded, capability, "in")
        expected = _part(recorded, capability, "out")
        actual = header.ask_warplens(capability, points)

        assert len(points["threads"]) > 100, capability
        assert not header.differences(expected, actual).any(), capability
        compared += len(points["threads"])

    assert compared == len(recorded["major"]) >= 5000
    assert "nvidia-cuda-runtime" in str(recorded["header"]) and str(recorded["date"])


def test_the_comparison_notices_a_wrong_rule(recorded: dict[str, np.ndarray]) -> None:
    """One register unit, block slot or barrier factor off is found by the table."""
    capability = next(c for c in header.capabilities() if c.rules.name == "sm_90")
    points, expected = _part(recorded, capability, "in"), _part(recorded, capability, "out")
    for change in (
        {"register_unit": 512},
        {"max_blocks_per_sm": 24},
        {"barrier_factor": 1},
        {"shared_reserved": 0},
        {"shared_unit": 256},
    ):
        wrong = dataclasses.replace(capability.rules, **change)
        other = dataclasses.replace(capability, rules=wrong)

        assert header.differences(expected, header.ask_warplens(other, points)).any(), change


@pytest.mark.skipif(
    header.compiler() is None or header.header_folder() is None,
    reason="needs a C++ compiler; the recorded table is tested instead",
)
def test_the_compiled_header_agrees(tmp_path: pathlib.Path) -> None:
    """20,000 random points over every capability agree in every field with the header itself."""
    done, wrong, shown = header.run(20_000, 7, header.build(tmp_path))

    assert (done, wrong) == (20_000, 0), "\n".join(shown)
