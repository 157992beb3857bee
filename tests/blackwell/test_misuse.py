"""Tensor memory used wrongly: each way has its words, and the same kernel without it runs."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in
from warplens import Device
from warplens.errors import WarplensError

CASES = {
    "not_freed": "ended with tensor memory allocated .columns 0 to 63.",
    "not_allocated": r"lane \d+, column 64 is not allocated",
    "freed_before": r"lane \d+, column 0 is not allocated",
    "freed_twice": "trap",
    "lanes_of_others": r"lane \d+, column 0 belongs to other warps",
    "part_of_a_warp": "by a part of the warp's lanes",
    "not_committed": "has not been committed",
    "not_awaited": "no thread has waited",
    "outside_of_shared": "invalid __shared__ access of size 16 bytes at 0x3f800",
    "of_hopper": "matrix descriptor 0x[0-9a-f]{16} is not one that is understood",
    "no_such_type": "names a type or form",
    "no_such_shape": "names a shape",
    "sparse": "where its metadata lie is not known",
    "from_lane_16": "lane 16, column 0 is not where",
}


@lru_cache(maxsize=1)
def module() -> Any:
    """The kernels."""
    return Device("sm_100").compile(Path(__file__).parent / "misuse.cu",
                                    options=["-arch=sm_100a"])  # fmt: skip


@pytest.mark.parametrize("name", one_in(3, list(CASES), str))
def test_it_is_named(name: str) -> None:
    """The message says what is wrong, and where."""
    with pytest.raises(WarplensError, match=CASES[name]) as caught:
        module()[name][1, 128](np.zeros(128, np.uint32))

    assert f"{name}+0x" in caught.value.message and "misuse.cu:" in caught.value.message


def test_nothing_is_said_of_what_is_right() -> None:
    """The same kernel, committed, waited for and freed."""
    out = np.ones(128, np.uint32)

    launch = module()["right"][1, 128](out)

    assert not out.any()
    assert any("inferred" in note and "tcgen05" not in note for note in launch.notes())


def test_sanitizers_find_nothing_in_what_is_right() -> None:
    """The books that an allocation keeps in shared memory, and the commit's arrival, are fine."""
    report = module()["right"].sanitize[1, 128](np.ones(128, np.uint32))

    assert not report.findings
