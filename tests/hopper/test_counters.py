"""Counters of products of warpgroups and of tensor copies are an H200's, where time plays no part.

Four of the 36 recorded kernels; `validation/hopper_times.py --counters` compares all of them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorder_script
from warplens.toolchain.nvrtc import compile_source

DATA = Path(__file__).parents[2] / "validation" / "data"
EXACT = (
    "smsp__inst_executed.sum", "smsp__thread_inst_executed.sum",
    "sm__inst_executed_pipe_tensor_op_gmma.sum", "sm__sass_inst_executed_op_shared_gmma.sum",
    "sm__sass_data_bytes_mem_shared_op_gmma.sum",
    "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
    "sm__pipe_tensor_op_hmma_type_hmma_hgmma_qgmma_cycles_active.sum",
    "smsp__inst_executed_pipe_uniform.sum", "smsp__sass_inst_executed_op_tma.sum",
    "sm__ops_path_tensor_op_hgmma_src_fp16.sum",
)  # fmt: skip
with (
    recorder_script("gemm_cases") as GEMMS, recorder_script("gemm_kernels") as KERNELS,
    recorder_script("hopper") as HOPPER, recorder_script("cuda_driver") as CUDA,
    recorder_script("further_cases") as FURTHER, recorder_script("further_kernels") as OTHERS,
):  # fmt: skip
    TEXTS = KERNELS.sources() | OTHERS.sources()


@cache
def large() -> dict[str, Any]:
    """All large launches; their operands are hundreds of megabytes, drawn by lot."""
    return {case.name: case for case in GEMMS.large() + FURTHER.large()}


def launched(case: Any) -> wl.Launch:
    """A launch of a recorded kernel."""
    with wl.cuda("H200", timed=False) as gpu:
        driver = CUDA.Driver()
        cubin = compile_source(TEXTS[case.unit], sm=90).cubin
        HOPPER.run(driver, driver.load(cubin), case)
        return gpu.launches[-1]


CASES = "gemm_f16_32+", "gemm_cooperative+", "convolution+", "copy_rank2+"


@pytest.mark.parametrize("name", one_in(4, CASES, str, first=1))
def test_counters_are_an_h200s(name: str) -> None:
    """Instructions, passes and bytes of products, cycles of the tensor cores, copies."""
    known: dict[str, float] = {}
    for file in ("gemm_times_sm90.json", "further_times_sm90.json"):
        known |= json.loads((DATA / file).read_text())["rows"].get(name, {})
    launch = launched(large()[name])

    assert {one: float(launch.metric(one)) for one in EXACT} == {one: known[one] for one in EXACT}
