"""Frameworks whose versions were not tried are refused, with the range."""

from __future__ import annotations

import importlib.metadata

import pytest

from warplens.errors import Unsupported
from warplens.frontends.frontend import Frontend
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


def test_front_ends_are_found() -> None:
    """Every module of the package that declares a front-end is known."""
    assert {"numba.cuda", "triton", "cuda.core"} <= {one.module for one in known_frontends()}
