"""Frameworks whose versions were not tried are refused, with the range."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

from warplens.errors import Unsupported
from warplens.frontends.frontend import Frontend
from warplens.frontends.triton_lines import kept_lines
from warplens.frontends.watch import known_frontends


@pytest.mark.parametrize(
    ("version", "is_supported"),
    [("1.2.0", True), ("1.2.9.post1", True), ("1.10", True), ("1.1.9", False), ("2.0rc1", False)],
)
def test_range(version: str, is_supported: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions compare by number; the refusal says what to install."""
    frontend = Frontend(module="m", package="p", first="1.2", before="2")
    monkeypatch.setattr(importlib.metadata, "version", lambda _: version)

    if is_supported:
        frontend.check_version()
    else:
        with pytest.raises(Unsupported, match=r'pip install "p>=1.2,<2"'):
            frontend.check_version()


@pytest.mark.parametrize("frontend", known_frontends(), ids=lambda one: str(one.module))
def test_every_front_end_refuses_other_versions(
    frontend: Frontend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version behind its range and one before it, by name and range; both ends are taken."""
    wanted = re.escape(f'pip install "{frontend.package}>={frontend.first},<{frontend.before}"')
    for version in (frontend.before, "0.0.1"):
        monkeypatch.setattr(importlib.metadata, "version", lambda _, found=version: found)
        with pytest.raises(Unsupported, match=rf"{frontend.package} {version}(?s:.)*{wanted}"):
            frontend.check_version()
    monkeypatch.setattr(importlib.metadata, "version", lambda _: frontend.first)
    frontend.check_version()


def test_an_import_is_refused(tmp_path: Path) -> None:
    """A framework of another version cannot be imported once the simulated GPU is in place."""
    for path, text in (
        ("tinygrad/__init__.py", ""),
        ("tinygrad-9.9.dist-info/METADATA", "Metadata-Version: 2.1\nName: tinygrad\nVersion: 9.9"),
    ):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport warplens.cuda, tinygrad"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "tinygrad 9.9 is not supported by the simulated driver" in done.stderr
    assert 'pip install "tinygrad>=0.14,<0.15"' in done.stderr


def test_front_ends_are_found() -> None:
    """Every module of the package that declares a front-end is known."""
    assert {"numba.cuda", "triton", "cuda.core"} <= {one.module for one in known_frontends()}


def test_inline_assembly_of_triton_keeps_its_line() -> None:
    """A piece's first line is that of all its instructions; what stands around it is as it was."""
    before, after = "\t.loc\t1 6 9\n", "\t.loc\t1 7 9\nadd\n"
    places = [f"\t.loc\t1 {line} 9\nld{line}\n" for line in (6, 7, 8)]
    text = f"{before}// begin inline asm\n{''.join(places)}\n// end inline asm\n{after}"

    found = kept_lines(text)

    assert found == text.replace("1 7 9\nld", "1 6 9\nld").replace("1 8 9\nld", "1 6 9\nld")
    assert found.endswith(after)
