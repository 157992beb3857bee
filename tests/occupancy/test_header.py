"""Occupancy equals NVIDIA's header, asked directly where there is a compiler and from a table."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import pytest

from tests.occupancy import occupancy_header as header
from warplens.errors import InputError
from warplens.occupancy_calculator.launch_choices import (
    available_dynamic_shared,
    max_potential_block_size,
)

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


def _points(count: int, **columns: np.ndarray) -> dict[str, np.ndarray]:
    """Harness inputs with what is not given left neutral."""
    neutral = dict.fromkeys(header.INPUTS, 0)
    neutral |= {"optin": 1, "max_dynamic": 1 << 29, "barriers": 1, "carveout": -1}
    return {
        name: np.broadcast_to(np.asarray(columns.get(name, value), np.int32), (count,))
        for name, value in neutral.items()
    }


@pytest.mark.skipif(header.compiler() is None or header.header_folder() is None, reason="no C++")
def test_room_for_dynamic_shared_memory_agrees(tmp_path: pathlib.Path) -> None:
    """`available_dynamic_shared` equals the header's function, refusals included."""
    program, rng, count = header.build(tmp_path), np.random.default_rng(3), 60
    accepted = 0
    for capability in header.capabilities():
        if capability.major < 7:  # without opt-in the header takes the whole SM as the cap
            continue
        points = _points(
            count,
            threads=rng.choice([32, 64, 128, 256, 512, 1024], count),
            registers=rng.choice([16, 24, 32, 40, 64, 128], count),
            static_shared=rng.choice([0, 0, 1000, 8192, 40000], count),
            dynamic_shared=rng.integers(1, 12, count),
            carveout=rng.choice([-1, -1, 0, 25, 50, 90], count),
        )
        answer = header.ask_header(program, capability, points, mode=1)
        for at in range(count):
            percent = int(points["carveout"][at])
            question = {
                "threads": int(points["threads"][at]),
                "registers": int(points["registers"][at]),
                "static_shared": int(points["static_shared"][at]),
                "blocks": int(points["dynamic_shared"][at]),
                "carveout": None if percent < 0 else percent,
            }
            if answer["status"][at]:
                with pytest.raises(InputError):
                    available_dynamic_shared(capability.rules.name, **question)
            else:
                room = available_dynamic_shared(capability.rules.name, **question)

                assert room == answer["blocks"][at], (capability.rules.name, question)
                accepted += 1

    assert accepted > 500


@pytest.mark.skipif(header.compiler() is None or header.header_folder() is None, reason="no C++")
def test_block_size_suggestion_agrees(tmp_path: pathlib.Path) -> None:
    """`max_potential_block_size` equals the header's function."""
    program, rng, count = header.build(tmp_path), np.random.default_rng(4), 40
    for capability in header.capabilities():
        points = _points(
            count,
            threads=rng.choice([1024, 1024, 2048, 256, 100, 33], count),
            registers=rng.integers(8, 256, count),
            static_shared=rng.choice([0, 0, 1000, 8192], count),
            dynamic_shared=rng.choice([0, 0, 5000, 30000], count),
        )
        answer = header.ask_header(program, capability, points, mode=2)
        for at in range(count):
            found = max_potential_block_size(
                capability.rules.name,
                registers=int(points["registers"][at]),
                static_shared=int(points["static_shared"][at]),
                dynamic_shared=int(points["dynamic_shared"][at]),
                max_threads=int(points["threads"][at]),
            )

            assert found.threads == answer["flags"][at], (capability.rules.name, at)
            assert found.blocks_per_sm * 8 == answer["blocks"][at]
