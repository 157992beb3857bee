"""Calibrations of cards whose constants are known, and the files that they write."""

from __future__ import annotations

from pathlib import Path

import pytest

import warplens as wl
from tests.calibrate.made_up import MadeUpCard
from warplens.calibrate import assumed, calibrate, run
from warplens.calibrate.measure import measure
from warplens.cli.main import main
from warplens.errors import InputError
from warplens.gpus import find_gpu

CONSTANTS = {
    "clock.boost_mhz": 1755.0, "clock.tensor_mhz": 1620.0, "latency.l1_hit": 35.5,
    "latency.l2_hit": 301.0, "latency.dram": 702.0, "latency.shared": 24.5,
    "dram.read_fraction": 0.9, "dram.write_fraction": 0.8, "dram.copy_fraction": 0.85,
    "l2.read_bytes_per_cycle": 3900.0,
}  # fmt: skip


def test_constants_that_a_card_has_are_found() -> None:
    found = measure(MadeUpCard(CONSTANTS), find_gpu("H200"))
    for key, value in CONSTANTS.items():
        assert found[key][0] == pytest.approx(value, rel=0.005), key


def test_a_card_that_is_not_listed_is_taken_by_its_architecture() -> None:
    extends, told = assumed(MadeUpCard(CONSTANTS, "NVIDIA Something New"))
    assert extends == "sm_90"
    assert told["counts.sm"] == (132, "the driver")
    assert assumed(MadeUpCard(CONSTANTS)) == ("H200 SXM", {})


def test_the_file_is_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launches = list(run._launches())
    monkeypatch.setattr(run, "_launches", lambda: iter(launches[4:5]))  # one of them
    found = calibrate(MadeUpCard(CONSTANTS, "NVIDIA Something New"))
    path = tmp_path / "card.toml"
    path.write_text(found.toml())
    gpu = wl.Device(str(path)).gpu
    assert gpu.name == "NVIDIA Something New (calibrated)"
    assert gpu.value("latency.dram") == 702
    assert gpu.sm_count == 132
    assert gpu.numbers["latency.dram"].source.startswith("measured on this card")
    assert [one.name for one in found.held] == ["reduce"]
    assert found.held[0].after != found.held[0].before
    overhead = wl.Device("H200").gpu.value("launch.overhead_ns")
    assert found.held[0].measured == pytest.approx(1e6 + overhead)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = 'x'", "does not say which GPU"),
        ("extends = 'H200'\n[l2]\nsize = { value = 3 }", "l2.size"),
        ("extends = 'H200'\n[l2]\nsize_bytes = 3", "no table with a value"),
        ("extends = 'H200'\n[l2]\nsize_bytes = { value = 'big' }", "not a value like"),
        ("extends = 'H201'", "no GPU named"),
        ("extends = [", "not TOML"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "card.toml"
    path.write_text(text)
    with pytest.raises(wl.WarplensError, match=said):
        wl.Device(str(path))


def test_a_missing_file_and_a_missing_driver_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        find_gpu(str(tmp_path / "none.toml"))

    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("warplens.calibrate.card.ct.CDLL", missing)
    assert main(["calibrate", "-o", str(tmp_path / "card.toml")]) != 0
    assert "no NVIDIA driver" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
