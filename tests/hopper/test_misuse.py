"""Misuse of tensor copies and mbarriers is named: the copy or the wait, and what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from tests.hopper.test_tensor_copies import HEAD, _load, module
from warplens import Deadlock, Device, MemoryFault, TensorMap

BYTES, PIECES = 1024, 64  # of the box, and of shared memory


def boxes() -> TensorMap:
    """A map whose box is 16 rows of 64 bytes."""
    return TensorMap(np.zeros((64, 64), np.float16), box=(16, 32))


def out() -> np.ndarray:
    """What a block's shared memory is copied to."""
    return np.zeros(4 * PIECES, np.uint32)


@pytest.mark.parametrize(
    ("expected", "message"),
    [(2 * BYTES, r"expects 1,024 more bytes"),
     (BYTES // 2, r"expects 512 bytes fewer than have come")],
)  # fmt: skip
def test_unbalanced_transaction_bytes(expected: int, message: str) -> None:
    """A phase that expects other bytes than come never ends; the wait says how many it lacks."""
    with pytest.raises(Deadlock, match=message):
        module()["load2"][1, 128, 0, 4096](boxes(), 0, 0, 0, 0, 0, expected, PIECES, out())


def test_a_missing_arrival() -> None:
    """A barrier made for two arrivals that gets one."""
    text = (HEAD + _load(2)).replace("b64 [%0], 1;", "b64 [%0], 2;")
    with pytest.raises(Deadlock, match="expects 1 more arrival"):
        Device("H200").compile(text)["load2"][1, 128, 0, 4096](
            boxes(), 0, 0, 0, 0, 0, BYTES, PIECES, out()
        )


def test_a_box_beyond_shared_memory() -> None:
    """The box does not fit into the launch's dynamic shared memory."""
    with pytest.raises(MemoryFault, match=r"invalid __shared__ access.*\n.*UTMALDG"):
        module()["load2"][1, 128, 0, 512](boxes(), 0, 0, 0, 0, 0, BYTES, 32, out())


def test_a_box_at_a_place_between() -> None:
    """Boxes begin at multiples of 128 bytes of shared memory."""
    text = (HEAD + _load(2)).replace('(box)), "l"(&map)', '(box) + 64), "l"(&map)')
    with pytest.raises(MemoryFault, match=r"misaligned __shared__ access of size 128"):
        Device("H200").compile(text)["load2"][1, 128, 0, 4096](
            boxes(), 0, 0, 0, 0, 0, BYTES, PIECES, out()
        )
