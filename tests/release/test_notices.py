"""The list of third-party packages is the list of dependencies."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert match is not None
    return match[0].lower()


def declared() -> dict[str, str]:
    """Every package that pyproject.toml names, with the extra that needs it ("" for none)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = {_name(one): "" for one in project["dependencies"]}
    for extra, packages in project["optional-dependencies"].items():
        for one in packages:
            if _name(one) != "warplens":  # an extra that includes others
                found.setdefault(_name(one), extra)
    return found


def noticed() -> dict[str, tuple[str, str, str]]:
    """Every package of the notices: its extra, licence and use."""
    rows: dict[str, tuple[str, str, str]] = {}
    for line in (ROOT / "THIRD_PARTY_NOTICES.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[0] in ("package", "---"):
            continue
        assert cells[0] not in rows, f"{cells[0]} stands there twice"
        rows[cells[0]] = (cells[1], cells[2], cells[3]) if len(cells) == 4 else ("", *cells[1:])
    return rows


def test_every_dependency_is_noticed() -> None:
    """Every package stands there once, under the extra that needs it, with licence and use."""
    rows = noticed()

    assert {name: extra for name, (extra, _, _) in rows.items()} == declared()
    assert all(licence and use for _, licence, use in rows.values())

LEFT_OUT = {"triton", "cutile", "cute", "tinygrad", "libraries", "kernel-tuner", "cupy", "warp",
            "pallas"}  # fmt: skip


@pytest.mark.parametrize("name", sorted(declared()))
def test_licence_is_the_one_the_package_names(name: str) -> None:
    """The first licence named in the notices is the one in the installed package's metadata."""
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        if declared()[name] not in LEFT_OUT:
            raise
        pytest.skip(f"{name} is not installed")
    fields = [metadata.get("License-Expression"), metadata.get("License"),
              *(metadata.get_all("Classifier") or ())]  # fmt: skip
    told = " ".join(field for field in fields if field)
    first = re.split(r"[ (;-]", noticed()[name][1])[0]
    word = {"CUDA": "LicenseRef-NVIDIA", "Matplotlib": "matplotlib"}.get(first, first)

    assert word.lower() in told.lower(), told


def test_extras_hold_something() -> None:
    """An extra is declared only when packages belong to it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert all(project["optional-dependencies"].values())
