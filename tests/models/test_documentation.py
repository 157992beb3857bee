"""Every public formula is documented the same way, and its examples are true."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import pathlib
import pkgutil

import pytest

import warplens
import warplens.analysis
import warplens.gpus
import warplens.models

MODULES = [
    info.name
    for package in (warplens.models, warplens.analysis, warplens.gpus)
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
    if info.name.rpartition(".")[0] == "warplens.models"
    or info.name.rpartition(".")[2]
    in {"clusters", "launch_choices", "occupancy", "occupancy_curve", "occupancy_steps", "spec"}
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    """The doctests of the module pass."""
    result = doctest.testmod(importlib.import_module(name))

    assert result.failed == 0


@pytest.mark.parametrize("name", warplens.models.__all__)
def test_formulas_state_inputs_formula_and_source(name: str) -> None:
    """Each function says what goes in, how it is computed, and where that is from."""
    thing = getattr(warplens.models, name)
    text = inspect.getdoc(thing) or ""

    assert text.split("\n")[0].endswith((".", ":")), name
    if inspect.isfunction(thing):
        parts = {word for word in ("Inputs:", "Source:", ">>>") if word in text}
        assert parts == {"Inputs:", "Source:", ">>>"}, name


def test_the_reference_page_lists_every_formula() -> None:
    """docs/models.md names each public function once, with its first line."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "models.md").read_text()
    for name in warplens.models.__all__:
        thing = getattr(warplens.models, name)
        if inspect.isfunction(thing):
            assert page.count(f"| `{name}(") == 1, name
            assert (inspect.getdoc(thing) or "").split("\n")[0] in page, name


def test_the_code_of_the_occupancy_page_runs() -> None:
    """The Python block of docs/occupancy.md executes and its comments are true."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "occupancy.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, "docs/occupancy.md", "exec"), names)

    result = names["r"]
    assert isinstance(result, warplens.Occupancy)
    assert (result.blocks, result.warps, result.occupancy) == (6, 48, 0.75)
    assert "1 fewer register (32): 75 % -> 100 %" in output.getvalue()
