"""Tensor maps of tiles that NVIDIA's driver made on an H200 have the form of ours."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from warplens.driver.tensor_maps import encoded
from warplens.lift.layout import TMA_FLAGS, TMA_L2

RECORDED = Path(__file__).parents[2] / "validation/data/driver_maps_sm90.json"
MAPS = [  # interleaved maps and sizes beyond 2^31 are refused here
    one for one in json.loads(RECORDED.read_text())["maps"]
    if one["call"] == "tiled" and not one["interleave"] and max(one["sizes"]) <= 1 << 31
]  # fmt: skip
_READ = 16  # words that hold what a copy needs; behind them are sizes that follow from these


@pytest.mark.parametrize("one", MAPS, ids=[str(i) for i in range(len(MAPS))])
def test_our_map_is_the_drivers(one: dict[str, Any]) -> None:
    """Address, type, sizes, strides, box, steps, swizzle and fill stand where it puts them."""
    asked = ("kind", "address", "sizes", "strides", "box", "steps", "swizzle", "fill")
    found = list(struct.unpack("<32I", encoded(**{name: one[name] for name in asked},
                                               interleave=0)))[:_READ]  # fmt: skip
    theirs = list(struct.unpack("<32I", bytes.fromhex(one["map"])))[:_READ]
    assert theirs[TMA_FLAGS] >> TMA_L2[0] & 3 == one["l2"]
    theirs[TMA_FLAGS] &= ~TMA_L2[1]
    assert found == theirs
