"""DEPBAR with a set of scoreboards, as NVIDIA's tile compiler emits it."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from tests.forms.patched import compiled, patched
from tests.in_turn import one_in
from warplens.sass.model import Token
from warplens.sass.parser import load_kernels

SOURCE = """
extern "C" __global__ void copies(const float4* in, float4* out) {
    __shared__ float4 staged[64];
    int i = threadIdx.x;
    unsigned place = (unsigned)__cvta_generic_to_shared(staged + i);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.commit_group;\\n"
                 "cp.async.wait_group 0;" :: "r"(place), "l"(in + i) : "memory");
    __syncthreads();
    out[i] = staged[63 - i];
}
"""


def _waits_for_all(word: int) -> int:
    """`DEPBAR {5,4,3,2,1,0}` instead of `DEPBAR.LE SB0, 0x0`."""
    return word & ~(0x3FF << 38) | 0x3F << 32


@pytest.mark.parametrize("architecture", one_in(6, [80, 86, 89, 90, 100, 120], str))
def test_set_of_scoreboards(architecture: int) -> None:
    """It is parsed as one operand, runs, and waits in the timing model as the plain form does."""
    plain = compiled(SOURCE, architecture)
    cubin = patched(plain, "copies", {r"^DEPBAR\.LE SB0, 0x0": _waits_for_all})
    waits = [i for i in load_kernels(cubin)["copies"].instructions if i.opcode == "DEPBAR"]
    assert [(i.modifiers, i.operands) for i in waits] == [((), (Token("{5,4,3,2,1,0}"),))]

    rows = np.random.default_rng(3).standard_normal((64, 4)).astype(np.float32)
    cycles = []
    for form in (plain, cubin):
        out = np.zeros_like(rows)
        launch = wl.Device(f"sm_{architecture}").load(form)["copies"][1, 64](rows, out)
        np.testing.assert_array_equal(out, rows[::-1])
        cycles.append(launch.metric("sm__cycles_active.avg"))
    assert cycles[0] == cycles[1]
