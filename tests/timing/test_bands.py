"""Error bands depend on the kind of launch."""

from __future__ import annotations

import numpy as np
import pytest

import warplens as wl
from warplens.analysis.prediction import KINDS, error_percent
from warplens.gpus import find_gpu

SOURCE = """
__global__ void copy(float* out, const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    ((float4*)out)[i] = ((const float4*)in)[i];
}
__global__ void count(float* out, const float* in) { atomicAdd(out, in[threadIdx.x]); }
__global__ void unlike(float* out, const float* in) {
    float sum = 0.0f;
    for (int i = 0; i < 50 * (blockIdx.x % 32); i++) sum += in[i] * sum;
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


@pytest.mark.parametrize(
    ("kernel", "blocks", "kind"),
    [("copy", 1 << 14, "memory"), ("copy", 64, "short"), ("count", 1024, "atomic"),
     ("unlike", 4096, "uneven")],
)  # fmt: skip
def test_kind_of_a_launch(kernel: str, blocks: int, kind: str) -> None:
    module = wl.Device("H200", clock="boost").compile(SOURCE)
    out, values = (np.ones(blocks * 1024, np.float32) for _ in range(2))
    told = module[kernel].predict[blocks, 256](out, values).prediction()
    assert told.kind == kind
    assert told.error_percent == error_percent(find_gpu("H200"), kind)


def test_cards_without_recordings_have_a_wide_band() -> None:
    known = [error_percent(find_gpu("H200"), kind) for kind in KINDS]
    assert len(set(known)) > 3
    assert {error_percent(find_gpu("RTX 4090"), kind) for kind in KINDS} == {52.0}
    assert max(known) < 52.0
