"""Reductions of single-precision values over a warp (CREDUX.F32 of sm_100a)."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from tests.forms.patched import compiled
from tests.in_turn import one_in

FORMS = ("min", "max", "min.abs", "max.abs", "min.NaN", "max.NaN", "min.abs.NaN", "max.abs.NaN")
SOURCE = f"""
extern "C" __global__ void reduce(const float* in, float* out) {{
    int i = threadIdx.x, lane = i & 31;
    float v = in[i], r;
    unsigned mask = __ballot_sync(~0u, lane % 3 != 1);
    if (lane % 3 == 1) return;
    {" ".join(f'asm("redux.sync.{form}.f32 %0, %1, %2;" : "=f"(r) : "f"(v), "r"(mask));'
              f" out[{n} * 128 + i] = r;" for n, form in enumerate(FORMS))}
}}
"""


@pytest.mark.parametrize("architecture", one_in(2, [100, 103], str))
def test_single_precision_reductions(architecture: int) -> None:
    """The result is NumPy's over the lanes of the mask; NaN loses, or wins with `.NaN`."""
    rng = np.random.default_rng(7)
    values = rng.standard_normal(128).astype(np.float32)
    values[[40, 50, 52, 69]] = np.nan  # the third warp has one, the last only infinities and NaN
    values[96:] = np.where(np.arange(32) % 3 == 0, np.float32(-np.inf), np.float32(np.nan))
    taking_part = np.arange(128) % 32 % 3 != 1
    out = np.zeros((len(FORMS), 128), np.float32)
    cubin = compiled(SOURCE, architecture, f"-arch=sm_{architecture}a")
    wl.Device(f"sm_{architecture}").load(cubin)["reduce"][1, 128](values, out)

    for row, form in zip(out, FORMS, strict=True):
        operation, *marks = form.split(".")
        function = {
            ("min", True): np.min, ("max", True): np.max,
            ("min", False): np.nanmin, ("max", False): np.nanmax,
        }[operation, "NaN" in marks]  # fmt: skip
        for first in range(0, 128, 32):
            lanes = first + np.flatnonzero(taking_part[first : first + 32])
            chosen = np.abs(values[lanes]) if "abs" in marks else values[lanes]
            np.testing.assert_array_equal(row[lanes], function(chosen), err_msg=form)
