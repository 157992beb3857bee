"""Warps that sample textures again and again, against an H100's cycles and states.

`validation/data/texture_states_sm90.json`: 132 blocks, one an SM, of 1 to 32 warps that each sample
sixteen times (`rate` of `validation/recorder/kernels/textures.cu`).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import behind_itself, recorder_script

ROOT = Path(__file__).parents[2] / "validation"
SMS = 132
with recorder_script("texture_cases") as CASES:
    RATES = {
        case.name.removesuffix("/32"): case for case in CASES.cases()
        if case.name.startswith("clocks/") and case.name.endswith("/32")
    }  # fmt: skip


@cache
def recorded() -> Any:
    """The recording."""
    return json.loads((ROOT / "data" / "texture_states_sm90.json").read_text())


def known(name: str, warps: int) -> dict[str, float]:
    """Cycles of an SM and of a warp in each state."""
    found = dict(zip(recorded()["metrics"], recorded()["values"][f"{name}/{warps}"], strict=True))
    start = "smsp__warps_issue_stalled_"
    each = {key.removeprefix(start).removesuffix(".sum"): value / SMS / warps
            for key, value in found.items() if key.startswith(start)}  # fmt: skip
    return each | {"cycles": found["sm__cycles_active.avg"]}


@pytest.fixture(scope="module")
def module() -> wl.Module:
    text = (ROOT / "recorder" / "kernels" / "textures.cu").read_text()
    return wl.Device("H100 SXM5", clock=1980).compile(text)


def predicted(module: wl.Module, name: str, warps: int) -> dict[str, float]:
    """The same as the model has it."""
    case = RATES[name]
    texels, channels = case.texels[0][0], case.texels[0].shape[3]
    image = np.ascontiguousarray(texels if channels > 1 else texels[..., 0])
    texture = wl.Texture(image, channels=channels, filter="linear" if case.filter else "point")
    out = np.zeros(4 * SMS * 32 * warps, np.uint32)
    launch = module[case.kernel].predict[(SMS,), (32 * warps,)](
        texture, np.ascontiguousarray(case.coordinates[0]), out, np.int32(64)
    )
    answers = behind_itself(launch).answers  # each counter's pass is one more launch
    each = {key: value / SMS / warps for key, value in answers.stalls.items()}
    return each | {"cycles": answers.model.estimate.active_cycles}


@pytest.mark.parametrize("name", one_in(
    2, ["f4x1/0/0", "f4x1/1/2", "f4x4/0/0", "f4x4/1/0", "f2x4/1/0"], str,
))
def test_units_are_as_fast_as_recorded(module: wl.Module, name: str) -> None:
    """What 32 warps take: words and four words, point and linear, lanes side by side and not."""
    true, mine = (of(f"clocks/{name}", 32) for of in (known, lambda *a: predicted(module, *a)))

    assert mine["cycles"] == pytest.approx(true["cycles"], rel=0.08)


@pytest.mark.parametrize(("name", "warps"), [("f4x1/0/0", 16), ("f4x1/0/0", 32), ("f4x4/1/0", 32)])
def test_queues_are_full(module: wl.Module, name: str, warps: int) -> None:
    """Warps wait most for places in the queue of the texture units."""
    true, mine = known(f"clocks/{name}", warps), predicted(module, f"clocks/{name}", warps)
    names = set(true) - {"cycles", "selected"}

    assert max(names, key=lambda state: true[state]) == "tex_throttle"
    assert max(set(mine) - {"cycles", "selected"}, key=lambda state: mine[state]) == "tex_throttle"
    assert mine["tex_throttle"] == pytest.approx(true["tex_throttle"], rel=0.33)


SOURCE = r"""
extern "C" __global__ void pixels(cudaTextureObject_t t, float* out, int times) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < times; ++k) sum += tex2D<float>(t, x + 0.5f, y + 0.5f);
    out[y * gridDim.x * 32 + x] = sum;
}
"""
SIDE = 512


@pytest.mark.parametrize("times", [1, 3])
def test_each_sm_reads_a_sector_once(times: int) -> None:
    """An image of which each block has its own part: all of it comes from DRAM, through L2, once,
    however often it is looked at."""
    kernel = wl.Device("H200").compile(SOURCE)["pixels"]
    image, out = np.ones((SIDE, SIDE), np.float32), np.zeros((SIDE, SIDE), np.float32)

    launch = kernel[(SIDE // 32, SIDE // 8), (32, 8)](wl.Texture(image), out, np.int32(times))

    sectors = image.nbytes / 32
    for name in (
        "l1tex__m_xbar2l1tex_read_sectors_mem_texture", "dram__sectors_read",
        "l1tex__t_sectors_pipe_tex_mem_texture_lookup_miss", "lts__t_sectors_srcunit_tex_op_read",
    ):  # fmt: skip
        assert float(launch[f"{name}.sum"]) == pytest.approx(sectors, rel=0.02), name
    # half of them are asked for in both parts of L2
    assert float(launch["lts__t_sectors_op_read.sum"]) == pytest.approx(1.5 * sectors, rel=0.02)
    looked = float(launch["l1tex__t_sectors_pipe_tex_mem_texture.sum"])
    rate = float(launch["l1tex__t_sector_pipe_tex_mem_texture_hit_rate.ratio"])
    assert rate == pytest.approx(1 - sectors / looked, abs=0.01)
    assert float(launch["lts__t_sectors_srcunit_tex.sum"]) == pytest.approx(
        2 * sectors, rel=0.02
    )  # those written as well
