"""The models of validation/ reproduce, bit for bit, what an H200 gave."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2] / "validation"
FUNCTIONS = ("RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH", "RCP64H", "RSQ64H")


@cache
def module(name: str) -> Any:
    """A module of the validation folder."""
    spec = importlib.util.spec_from_file_location(f"validation_{name}", ROOT / f"{name}.py")
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@cache
def recorded(name: str) -> dict[str, Any]:
    """The arrays of one recorded file."""
    with np.load(ROOT / "data" / f"{name}.npz") as file:
        return dict(file)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_function(name: str) -> None:
    """Edges of every exponent and a sample of whole binades."""
    data = recorded("mufu_sm90")
    inputs = data[f"{name}_input"].astype(np.int64)

    actual = module("mufu_model").FUNCTIONS[name](inputs) & 0xFFFFFFFF

    assert np.array_equal(data[f"{name}_result"], actual)


def test_no_input_of_all_differed() -> None:
    """The hardware compared its own results with the model for all 2**32 inputs."""
    report = json.loads((ROOT / "data" / "mufu_check.json").read_text())

    assert {name: report[name]["mismatches"] for name in FUNCTIONS} == dict.fromkeys(FUNCTIONS, 0)


def variants(*kinds: str) -> list[str]:
    """Names of the recorded matrix instructions of some operand kinds."""
    names = [k.removesuffix("_set") for k in recorded("mma_sm90") if k.endswith("_set")]
    return sorted(n for n in names if n.startswith(kinds) and not n.startswith("f64_8x"))


@pytest.mark.parametrize("name", variants("f16", "bf16", "tf32"))
def test_float_matrices(name: str) -> None:
    """HMMA on ordinary, cancelling, sparse, tiny and special operands."""
    data = recorded("mma_sm90")
    a, b, c, d = (data[f"{name}_{x}"] for x in "ABCD")
    kind, accumulator = name.split("_")[0], name.split("_")[-1]

    actual = module("mma_model").multiply_float(a, b, c, kind, accumulator)

    assert np.array_equal(d, actual)


@pytest.mark.parametrize("name", ["s8_k32_s32", "u8_k32_s32", "s8u8_k32_sat", "s8_k16_s32"])
def test_integer_matrices(name: str) -> None:
    """IMMA is exact, and wraps or saturates."""
    data = recorded("mma_sm90")
    a, b, c, d = (data[f"{name}_{x}"] for x in "ABCD")

    actual = module("mma_model").multiply_integer(a, b, c, name.split("_")[0], "sat" in name)

    assert np.array_equal(d, actual)


@pytest.mark.parametrize("name", ["f64_884", "f64_k4"])
def test_double_matrices(name: str) -> None:
    """DMMA is a chain of fused multiply-adds; NaNs are compared as a class."""
    data = recorded("mma_sm90")
    a, b, c, d = (data[f"{name}_{x}"] for x in "ABCD")

    actual = module("mma_model").multiply_double(a, b, c)

    both_nan = np.isnan(d.view(np.float64)) & np.isnan(actual.view(np.float64))
    assert np.array_equal(d[~both_nan], actual[~both_nan])
