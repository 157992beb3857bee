"""The page's editor is made while a package is built, and a build does without it if it must."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from warplens.errors import ToolchainError
from warplens.studio import bundle

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The build hook, and what it says."""
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    said: list[str] = []
    app = SimpleNamespace(display_warning=said.append)
    made = module.WheelHook(str(ROOT), {}, None, None, "", "wheel", app)
    made.said = said
    return made


def test_a_build_goes_on_without_the_editor(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where npm fails, the build says so and ends well."""

    def fails() -> Path:
        raise ToolchainError("npm failed: no network")

    monkeypatch.setattr(bundle, "is_current", lambda: False)
    monkeypatch.setattr(bundle, "has_npm", lambda: True)
    monkeypatch.setattr(bundle, "build", fails)
    monkeypatch.setattr(hook, "_library", dict)
    hook.initialize("standard", {})

    assert hook.said == ["The studio gets a plain text area: npm failed: no network"]


def test_an_old_editor_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was built from other packages or another entry.js is not kept."""
    target = tmp_path / "editor.js"
    monkeypatch.setattr(bundle, "TARGET", target)
    assert not bundle.is_current()
    target.write_text("// built from something else\n")
    assert not bundle.is_current()
    target.write_text(f"{bundle._mark()}\ncode\n")
    assert bundle.is_current()
