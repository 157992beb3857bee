"""Every public formula is documented the same way, and its examples are true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

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
