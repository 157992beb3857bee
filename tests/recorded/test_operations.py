"""warplens computes what an H200 computed, for the operations of the recorder's kernels.

The ordinary run takes every eighth operation; `-m long` takes all.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from warplens.api import LaunchOptions

ROOT = Path(__file__).parents[2] / "validation"
FAMILIES = ("integer", "float", "double", "half", "convert", "lanes")
# Results that depend on the order in which lanes win a 64-bit compare-and-swap loop on shared
# memory, or that mix the payload of a double NaN into a checksum
UNORDERED = frozenset(
    {"atom_add64_shared", "atom_and64_shared", "atom_addd_shared", "atom_addd_global"}
)


@cache
def module() -> Any:
    """The recorder's kernels, compiled for the H200."""
    device = wl.Device("H200", options=LaunchOptions(timing=False))
    return device.compile(str(ROOT / "recorder" / "kernels" / "operations.cu"))


def operands(data: Any) -> list[Any]:
    """Copies of the six input arrays."""
    return [data[f"input_{k}"].copy() for k in "ABCXYZ"]


def is_nan(name: str, words: np.ndarray) -> np.ndarray:
    """Lanes whose result is a NaN made by double arithmetic, whose payload is not modelled."""
    from_double = name.startswith(("f64_", "cvt_f64_", "cvt_f32_f64"))
    if not from_double:
        return np.zeros(words.shape, bool)
    if words.itemsize == 8:
        return np.isnan(words.view(np.float64))
    if name.endswith(("f16", "bf16")):
        return words & 0x7FFF > (0x7F80 if name.endswith("bf16") else 0x7C00)
    return np.isnan(words.view(np.float32))


def compare(family: str, step: int) -> None:
    """Runs every `step`-th kernel of a family and lists those that differ."""
    with np.load(ROOT / "data" / f"operations_{family}.npz") as file:
        data = dict(file)
    names = [n for n in data if not n.startswith("input_") and n != "metadata"]
    different = {}
    for name in names[::step]:
        if name in UNORDERED:
            continue
        expected = data[name]
        out = np.zeros(4 * expected.size, expected.dtype)
        module()[name][32, 32](*operands(data), out)
        actual = out[: expected.size]
        both_nan = is_nan(name, expected) & is_nan(name, actual)
        wrong = np.flatnonzero((actual != expected) & ~both_nan)
        if len(wrong):
            i = wrong[0]
            different[name] = (len(wrong), hex(expected[i]), hex(actual[i]))

    assert different == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_eighth_operation(family: str) -> None:
    """Results equal the recorded ones, bit for bit."""
    compare(family, 8)


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_every_operation(family: str) -> None:
    """Results equal the recorded ones, bit for bit."""
    compare(family, 1)
