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
from tests.timing.replayed import recorder_script

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
    each = {key: value / SMS / warps for key, value in launch.timing.answers.stalls.items()}
    return each | {"cycles": float(launch["sm__cycles_active.avg"])}


@pytest.mark.parametrize("name", ["f4x1/0/0", "f4x1/1/2", "f4x4/0/0", "f4x4/1/0", "f2x4/1/0"])
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
    assert mine["tex_throttle"] == pytest.approx(true["tex_throttle"], rel=0.3)
