"""Tensor copies of interleaved channels leave what an H200 leaves, and the driver makes their maps.

The recorder itself runs here, on the simulated driver.
"""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import recorder_script
from warplens.driver.status import DriverError
from warplens.driver.tensor_maps import encoded
from warplens.toolchain.nvrtc import compile_source

with recorder_script("interleaved") as RECORDER, recorder_script("cuda_driver") as CUDA:
    pass
RECORDED = json.loads(
    (Path(__file__).parents[2] / "validation/data/interleaved_sm90.json").read_text()
)
COPIES = [one for one in RECORDER.copies() if one.name in RECORDED["copies"]]
_PARTS = 6


@pytest.mark.parametrize("part", one_in(_PARTS, range(_PARTS), str))
def test_copies_leave_an_h200s_bytes(part: int) -> None:
    """Ranks, slices, edges, steps, swizzles, types, fills, im2col; loads, stores, sums."""
    found, expected = {}, {}
    with wl.cuda("H200"):
        driver = CUDA.Driver()
        module = driver.load(compile_source(RECORDER.sources()["interleaved"], sm=90).cubin)
        for one in COPIES[part :: 6 * _PARTS]:
            left = RECORDER._launch(SimpleNamespace(driver=driver), module, one)
            data = left["image"][: RECORDER.IMAGE_BYTES].tobytes() if "image" in left else b""
            if "places" in left:
                data = left["places"].tobytes() + left["bytes"].tobytes()
            digest = hashlib.sha256(data).hexdigest()[:24]
            found[one.name] = "refused" if "refused" in left else digest
            expected[one.name] = RECORDED["copies"][one.name]
    assert found == expected


@pytest.mark.parametrize("one", list(RECORDER.maps()), ids=lambda one: str(one[0]))
def test_our_map_is_the_drivers(one: tuple[str, object, int]) -> None:
    """What the driver refuses is refused; else flags, strides, sizes, steps and boxes are its."""
    name, given, off = one
    theirs = RECORDED["maps"][name]
    words = ("kind", "sizes", "strides", "box", "steps", "interleave", "swizzle", "fill")
    asked = {word: getattr(given, word) for word in words}
    address = 1 << 30
    if theirs == "refused":
        with pytest.raises(DriverError):
            encoded(address=address + off, **asked)
        return
    found = struct.unpack("<32I", encoded(address=address + off, **asked))
    assert list(found[2:16]) == theirs[2:16]
