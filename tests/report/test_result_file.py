"""Result files: what is written is read back; what is damaged, foreign or newer is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.report.results import RESULT, launch
from warplens.errors import ReportError
from warplens.result import LaunchResult, Result, Value, from_plain, load, save, to_plain

TEXT = st.text(max_size=12)
NUMBERS = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.builds(
    Value,
    NUMBERS,
    TEXT,
    st.sampled_from(("exact", "definition", "model", "spec")),
    st.lists(st.tuples(TEXT, st.integers() | st.floats(-1e300, 1e300)), max_size=2).map(tuple),
)


@given(values=st.dictionaries(TEXT, VALUES, max_size=4), name=TEXT, notes=st.lists(TEXT).map(tuple))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_plain_round_trip(values: dict[str, Value], name: str, notes: tuple[str, ...]) -> None:
    """Every launch survives JSON unchanged, types included."""
    before = launch(metrics=values, kernel_name=name, notes=notes)
    text = json.dumps(to_plain(before), allow_nan=False)
    after = from_plain(LaunchResult, json.loads(text))

    assert after == before
    numbers = [(type(v.number), type(values[k].number)) for k, v in after.metrics.items()]
    assert all(new is old for new, old in numbers)


@given(values=st.dictionaries(TEXT, VALUES, max_size=3))
@settings(max_examples=20, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
def test_file_round_trip(tmp_path: Path, values: dict[str, Value]) -> None:
    """A saved result loads equal, and the same result gives the same bytes."""
    result = Result(launches=(launch(metrics=values), launch(1, gpu="<&>")), writer="x")
    path = save(result, tmp_path / "r", overwrite=True)
    first = path.read_bytes()
    save(result, tmp_path / "r", overwrite=True)

    assert path.name == "r.wlens"
    assert load(tmp_path / "r") == result
    assert path.read_bytes() == first


def test_not_finite_becomes_missing() -> None:
    """JSON has no infinity: such a number is not available."""
    before = launch(metrics={"a": Value(float("inf"), "", "model")})

    assert from_plain(LaunchResult, to_plain(before)).metrics["a"].number is None


def test_existing_file_is_kept(tmp_path: Path) -> None:
    """Nothing is overwritten unasked."""
    path = save(RESULT, tmp_path / "r")
    with pytest.raises(ReportError, match="exists"):
        save(Result(launches=()), tmp_path / "r")

    assert load(path) == RESULT


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    """A target that cannot be written is a typed error."""
    with pytest.raises(ReportError):
        save(RESULT, tmp_path / "nowhere" / "r")


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    """A file cut anywhere is refused, never half read."""
    data = save(RESULT, tmp_path / "r").read_bytes()
    for length in range(0, len(data) - 1, max(1, len(data) // 97)):
        (tmp_path / "cut.wlens").write_bytes(data[:length])
        with pytest.raises(ReportError):
            load(tmp_path / "cut")


@given(position=st.integers(0, 10_000), value=st.integers(0, 255))
@settings(max_examples=150, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
def test_changed_bytes_never_crash(tmp_path: Path, position: int, value: int) -> None:
    """A damaged file is refused or reads as some result; nothing else happens."""
    data = bytearray(save(RESULT, tmp_path / "r", overwrite=True).read_bytes())
    data[position % len(data)] = value
    (tmp_path / "bad.wlens").write_bytes(data)
    try:
        found = load(tmp_path / "bad")
    except ReportError:
        return

    assert isinstance(found, Result)


def write(path: Path, manifest: object, **members: object) -> Path:
    """A zip file with these documents."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for name, document in members.items():
            archive.writestr(f"launches/{name}.json", json.dumps(document))
    return path


def test_newer_version_is_refused(tmp_path: Path) -> None:
    """A newer format says so and tells to upgrade."""
    manifest = {"format": "warplens-result", "version": 99, "launches": 0}
    with pytest.raises(ReportError, match="version 99"):
        load(write(tmp_path / "new.wlens", manifest))


@pytest.mark.parametrize(
    "manifest",
    [[], {}, {"format": "other"}, {"format": "warplens-result", "version": 1, "launches": -1},
     {"format": "warplens-result", "version": 1, "launches": 1}],
)  # fmt: skip
def test_foreign_manifest_is_refused(tmp_path: Path, manifest: object) -> None:
    """Other zip files and broken manifests are refused."""
    with pytest.raises(ReportError):
        load(write(tmp_path / "x.wlens", manifest))


@pytest.mark.parametrize(
    "change",
    [{"id": "0"}, {"grid": [1, 2]}, {"grid": [1, 2, True]}, {"extra": 1}, {"metrics": {"a": [1]}},
     {"sections": [{}]}, {"sections": 3}],
)  # fmt: skip
def test_wrong_types_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    """Every field is checked."""
    document = {**to_plain(launch()), **change}
    manifest = {"format": "warplens-result", "version": 1, "launches": 1}
    with pytest.raises(ReportError):
        load(write(tmp_path / "x.wlens", manifest, **{"0": document}))


def test_no_such_file(tmp_path: Path) -> None:
    """A missing file is named."""
    with pytest.raises(ReportError, match=r"none\.wlens"):
        load(tmp_path / "none")
