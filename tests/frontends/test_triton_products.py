"""Triton's `tl.dot` on one GPU of each architecture, with no environment variable, beside NumPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
pytestmark = pytest.mark.long

PRODUCTS = Path(__file__).with_name("triton_products.py")
EVERYWHERE = ("float16", "bfloat16", "tf32", "ieee", "float8e5", "float64")  # e5m2 as float16
SINCE_AMPERE = (*EVERYWHERE, "int8")  # Triton compiles no integers for a T4
SINCE_ADA = (*SINCE_AMPERE, "float8e4nv")
TYPES = {
    "T4": EVERYWHERE, "A100": SINCE_AMPERE, "RTX 3090": SINCE_AMPERE, "RTX 4090": SINCE_ADA,
    "H200": SINCE_ADA, "B200": SINCE_ADA, "B300": SINCE_ADA, "RTX 5090": SINCE_ADA,
    "DGX Spark GB10": SINCE_ADA,
}  # fmt: skip
FLOAT16_BY = {"T4": [], "H200": ["HGMMA"], "B200": ["UTCHMMA"], "B300": ["UTCHMMA"]}


@pytest.mark.parametrize("gpu", TYPES)
def test_products(gpu: str) -> None:
    """Every type that Triton has there, on three tiles, within the type's rounding."""
    plain = {name: of for name, of in os.environ.items()
             if not name.startswith(("WARPLENS_GPU", "TRITON_"))}  # fmt: skip
    words = ["-m", "warplens.cli.main", "run", "--gpu", gpu, str(PRODUCTS), *TYPES[gpu]]
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, env=plain
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    used = [one["opcodes"] for one in found if one["type"] == "float16"]

    assert done.returncode == 0, done.stderr[-3000:]
    assert len(found) == 3 * len(TYPES[gpu])
    assert [one for one in found if not one["share"] <= one["allowed"]] == []
    assert used[-1] == FLOAT16_BY.get(gpu, ["HMMA"])
