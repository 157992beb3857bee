"""Times of textures and surfaces against an H100's: walks over what L1, L2 and DRAM hold, and whole
kernels.

`validation/data/texture_times_sm90.json`: one warp whose samples depend on each other, and 1 to 32
warps on one SM or all; the model is fitted to these. `texture_programs_sm90.json`: small kernels,
which are for validation. `validation/texture_times.py` predicts all of both.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import behind_itself, recorder_script

ROOT = Path(__file__).parents[2] / "validation"
with recorder_script("texture_time_cases") as CASES:
    WALKS = {one.name: one for one in CASES.walks()}
ADDRESSES = ("wrap", "clamp")
AS_INTEGER, NORMALISED = 1, 2
ACTIVE, TIME = "sm__cycles_active.avg", "gpu__time_duration.sum"
READ, LOOKED_UP = "l1tex__m_xbar2l1tex_read_sectors.sum", "lts__t_sectors_op_read.sum"
WRITTEN = "l1tex__m_l1tex2xbar_write_sectors.sum"
IMAGES = {
    "1": "array2/f4x1/0", "1 filtered": "array2/f4x1/1", "2": "array2/f4x2/0",
    "4": "array2/f4x4/0", "4 filtered": "array2/f4x4/1", "3d": "array3/f4x1/0",
    "fetch": "linear2/i4x1/0", "b8": "array2/u1x1/0", "b32": "array2/u4x1/0",
    "b128": "array2/u4x4/0", "read32": "array2/u4x1/0", "read128": "array2/u4x4/0",
    "write8": "array2/u1x1/0", "write32": "array2/u4x1/0", "write64": "array2/u4x2/0",
    "add32": "array2/u4x1/0",
}  # fmt: skip


@cache
def recorded(name: str) -> Any:
    """A recording."""
    return json.loads((ROOT / "data" / f"{name}_sm90.json").read_text())


def known(recording: str, name: str) -> dict[str, float]:
    """What was counted of a launch."""
    found = recorded(recording)
    return dict(zip(found["metrics"], found["values"][name], strict=True))


def walk(kind: str, kernel: str, rest: str) -> Any:
    """A walk, as `walk("rate", "1", "tile/l2/132/8")`."""
    return WALKS[f"{kind}_{kernel.split()[0]}/{IMAGES[kernel]}/{rest}"]


@pytest.fixture(scope="module")
def modules() -> tuple[wl.Module, wl.Module]:
    """The kernels of walks, and whole ones."""
    device = wl.Device("H100 SXM5", clock=1980)
    folder = ROOT / "recorder" / "kernels"
    texts = ((folder / f"{name}.cu").read_text() for name in ("texture_times", "texture_programs"))
    first, second = (device.compile(text) for text in texts)
    return first, second


def image_of(case: Any) -> Any:
    """The texture or surface of a case; none is object 0."""
    if case is None:
        return np.uint64(0)
    texels, channels = case.texels[0], case.texels[0].shape[3]
    is_layered = bool(case.array_flags & CASES.LAYERED)
    if channels == 1:
        texels = texels[..., 0]
    if case.kind == "linear":
        texels = texels[0, 0]
    elif case.rank < 3 and not is_layered:
        texels = texels[0]
    texels = np.ascontiguousarray(texels)
    if case.surface:
        return wl.Surface(texels, channels=channels)
    return wl.Texture(
        texels, channels=channels, layered=is_layered, filter="linear" if case.filter else "point",
        address=ADDRESSES[case.mode[0]], normalized=bool(case.flags & NORMALISED),
        read="element" if case.flags & AS_INTEGER else "normalized_float",
        linear_memory=case.kind == "linear",
    )  # fmt: skip


def launched(modules: tuple[wl.Module, wl.Module], case: Any) -> tuple[Any, dict[str, float]]:
    """The timing of a walk, and what was counted of it."""
    out = np.zeros(32 * case.warps * case.blocks, np.uint32)
    shift = 0.0 if case.image.surface or case.image.kind == "linear" else case.shift
    launch = modules[0][case.kernel].predict[(case.blocks,), (32 * case.warps,)](
        image_of(case.image.case()), out, *map(np.int32, case.numbers), np.float32(shift)
    )
    timing = launch.timing if case.is_cold else behind_itself(launch)
    return timing, known("texture_times", case.name)


@pytest.mark.parametrize("where", ["l1", "l2", "dram"])
@pytest.mark.parametrize(
    "kernel", ["1", "1 filtered", "2", "4", "4 filtered", "3d", "fetch", "b8", "b32", "b128"]
)
def test_latencies_are_those_of_where_texels_are(modules: Any, kernel: str, where: str) -> None:
    """Samples, texels by number and reads of surfaces, each at the last one's result."""
    case = walk("chase", kernel, f"same/{where}/1/1")
    timing, true = launched(modules, case)

    assert timing.answers.model.estimate.active_cycles == pytest.approx(true[ACTIVE], rel=0.09)
    if where != "l1":
        sectors = float(timing.value(READ))
        assert sectors == pytest.approx(true[READ], rel=0.01)


RATES = [
    ("1", "tile/l1/132/32"), ("1", "tile/l2/132/4"), ("1", "tile/l2/132/32"),
    ("1", "tile/dram/132/4"), ("1", "tile/dram/132/32"), ("1", "row/l2/132/16"),
    ("1", "far/l1/132/32"), ("1", "far/dram/132/8"), ("1 filtered", "tile/l2/132/16"),
    ("1 filtered", "tile/dram/132/32"), ("2", "row/l2/132/8"), ("2", "row/dram/132/32"),
    ("4", "row/l1/132/32"), ("4", "row/dram/132/16"), ("4 filtered", "tile/l2/132/16"),
    ("4 filtered", "tile/dram/132/16"), ("3d", "tile/l2/132/16"), ("fetch", "row/l2/132/32"),
    ("fetch", "row/dram/132/16"), ("fetch", "far/dram/132/32"), ("read32", "tile/l2/132/16"),
    ("read32", "row/dram/132/16"), ("read128", "row/l1/132/32"), ("write32", "row/l2/132/16"),
    ("write32", "row/l2/1/8"), ("write64", "row/l2/132/8"), ("add32", "same/l2/132/8"),
    ("add32", "row/l2/132/32"), ("add32", "far/l2/1/8"), ("add32", "tile/l2/1/32"),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "rest"), one_in(6, RATES, "-".join, several=True))
def test_many_warps_take_as_long_as_recorded(modules: Any, kernel: str, rest: str) -> None:
    """The units' turns, what L2 and DRAM give, what surfaces send."""
    case = walk("rate", kernel, rest)
    timing, true = launched(modules, case)

    assert timing.answers.model.estimate.active_cycles == pytest.approx(true[ACTIVE], rel=0.17)
    for name in (READ, WRITTEN):
        if true[name] > 1000 and "l1/" not in rest:
            assert float(timing.value(name)) == pytest.approx(true[name], rel=0.07), name


def test_whole_kernels(modules: Any) -> None:
    """Filters, rotations, volumes, gathers, surfaces that are read, changed and added to: none of
    them was fitted. What SMs get of L2 and what L2 looks up is right, too, but where a volume's
    rows fall on few sets of L1."""
    errors = {}
    for case in CASES.programs((512,)):
        name = case.name
        if case.texture is not None and case.texture.kind == "pitch":
            continue
        out = np.zeros(case.floats * case.width * case.height, np.float32)
        sizes = np.int32(case.width), np.int32(case.height)
        found = modules[1][case.kernel][case.grid, case.block](
            image_of(case.texture), image_of(case.surface), case.given, out, *sizes
        )
        true = known("texture_programs", name)
        errors[name] = float(found[TIME]) / true[TIME] - 1
        if case.kernel in ("march", "box9"):
            continue
        assert float(found[READ]) == pytest.approx(true[READ], rel=0.05), name
        assert float(found[LOOKED_UP]) == pytest.approx(true[LOOKED_UP], rel=0.16), name

    assert mean(map(abs, errors.values())) < 0.08, errors
    assert max(map(abs, errors.values())) < 0.25, errors
