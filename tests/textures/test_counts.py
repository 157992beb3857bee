"""Requests, sectors and sets of tags of textures and surfaces equal an H100's counters.

One warp's accesses, in patterns (`validation/recorder/texture_count_cases.py`): arrays of one to
three dimensions, layers, cubes, levels, pitched and plain memory, filters, fetches, gathers;
surfaces. The recorder itself runs here, on the simulated driver.
"""

from __future__ import annotations

import ctypes as ct
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorder_script
from warplens.toolchain.nvrtc import compile_source

ROOT = Path(__file__).parents[2] / "validation"
NAMES = ("t_requests", "t_sectors", "t_set_accesses")
with (
    recorder_script("texture_count_cases") as CASES,
    recorder_script("textures") as RECORDER,
):
    ALL = list(CASES.cases())
# What L1 does not hold and L2 sends: of one warp, every sector once.
MISSING = ("t_sectors_pipe_tex_mem_texture_lookup_miss", "m_xbar2l1tex_read_sectors_mem_texture")
FAR_APART = 0.07  # of filters that take lanes by two, where neighbours look at unlike places


@cache
def recorded() -> Any:
    """The recording."""
    return json.loads((ROOT / "data" / "texture_counts_sm90.json").read_text())


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """The simulated H200, and the recorder's driver calls over it."""
    text = (ROOT / "recorder" / "kernels" / "textures.cu").read_text()
    with wl.cuda("H200") as found:
        yield found, RECORDER.Machine(compile_source(text, sm=90).cubin)


def launched(session: Any, case: Any) -> Any:
    """The launch of a case."""
    found, machine = session
    plain, data = RECORDER.described(case), [level.tobytes() for level in case.texels]
    resource, made = RECORDER.resource_of(machine, plain, data)
    handle = RECORDER.texture_of(machine, plain, resource)
    places, out = machine.memory(case.coordinates.tobytes()), machine.memory(bytes(16 * 32))
    machine.launch(case.kernel, (1, 32), handle, places, out, ct.c_int(plain["n"]))
    RECORDER.release(machine, plain, made)
    return found.launches[-1]


def is_paired(case: Any) -> bool:
    """Whether a filter takes lanes by two: of volumes, and of texels of 16 bytes."""
    texel = case.texels[0].itemsize * case.texels[0].shape[3]
    return bool(case.filter and (case.kernel == "tex3" or texel == 16))


@pytest.mark.parametrize("case", one_in(30, ALL, lambda case: str(case.name)))
def test_counters_are_an_h100s(session: Any, case: Any) -> None:
    """Of every pattern; sectors of lanes by two that look at unlike places to 7 percent."""
    launch = launched(session, case)
    kind = "surface" if case.surface else "texture"
    names = recorded()["metrics"][kind]
    known = dict(zip(names, recorded()["values"][case.name], strict=True))
    is_near = is_paired(case) and case.name.split("/")[2].startswith(("near", "lot"))
    for name in NAMES:
        metric = f"l1tex__{name}_pipe_tex_mem_{kind}.sum"
        tolerance = FAR_APART if is_near and name != "t_requests" else 0
        assert float(launch[metric]) == pytest.approx(known[metric], rel=tolerance), name
    for op in ("ld", "st", "red", "tex"):
        name = f"l1tex__t_requests_pipe_tex_mem_{kind}_op_{op}.sum"
        assert name not in known or float(launch[name]) == known[name], name
    for name in () if case.surface else MISSING:
        metric = f"l1tex__{name}.sum"
        assert float(launch[metric]) == known[metric], name
    if case.surface and "write" in case.kernel:
        name = "l1tex__m_l1tex2xbar_write_sectors_mem_surface_op_st.sum"
        assert float(launch[name]) == known[name]


def test_all_of_l1(session: Any) -> None:
    """Counters of both pipes are their sum."""
    case = next(one for one in ALL if one.name == "2d/f4x1/x1/1")
    launch = launched(session, case)
    for name in ("t_requests", "t_sectors", "t_bytes"):
        parts = [float(launch[f"l1tex__{name}_pipe_{pipe}.sum"]) for pipe in ("lsu", "tex")]
        assert float(launch[f"l1tex__{name}.sum"]) == sum(parts) and all(parts)
