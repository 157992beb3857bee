"""Products of tensor memory with NaN beside zeros, and with sums that a word does not hold."""

from __future__ import annotations

import numpy as np
import pytest

from tests.blackwell.images import along_k, instruction, scaled_instruction
from tests.blackwell.test_products import bits16, bytes_of, run
from tests.in_turn import one_in


@pytest.mark.parametrize(("is_b", "number"), one_in(
    3, [(False, np.inf), (False, np.nan), (True, np.inf), (True, np.nan)],
    lambda case: "-".join(map(str, case)), several=True,
))  # fmt: skip
def test_no_number_meets_zeros(is_b: bool, number: float) -> None:
    """An infinity or NaN times zero is NaN, and only in its row or column."""
    a, b = np.ones((128, 16)), np.ones((16, 16))
    (b if is_b else a)[3, 5] = number
    (a if is_b else b)[:, 5] = 0
    first, da = along_k(bytes_of(bits16(a, 0)), 2, 0)
    second, db = along_k(bytes_of(bits16(b, 0)), 2, len(first))

    after = run("f16", np.concatenate([first, second]), da, db,
                instruction(128, 16, a=0, b=0, d=1), np.zeros((128, 16), np.uint32))  # fmt: skip

    wanted = np.full((128, 16), 15.0, np.float32)
    (wanted.T if is_b else wanted)[3] = np.nan
    assert np.array_equal(after[:, :16].view(np.float32), wanted, equal_nan=True)


@pytest.mark.parametrize(("name", "power", "none"), [("mxf4", 1, 255), ("nvf4", 0, 127)])
def test_scales_that_are_no_numbers(name: str, power: int, none: int) -> None:
    """A row whose scale is NaN is NaN, though all of its numbers are zeros."""
    first, da = along_k(np.zeros((128, 32), np.uint8), 2, 0)
    second, db = along_k(np.full((16, 32), 0x22, np.uint8), 2, len(first))
    one = 127 if power else 0x38
    before = np.zeros((128, 40), np.uint32)
    before[:, 32:] = one * 0x01010101
    before[3, 32] = one * 0x01010100 | none
    operands = np.concatenate([first, second])
    form = scaled_instruction(128, 16, a=1, b=1, power=power)

    after = run(name, operands, da, db, form, before, adds=0, scales=(32, 36))

    wanted = np.zeros((128, 16), np.float32)
    wanted[3] = np.nan
    assert np.array_equal(after[:, :16].view(np.float32), wanted, equal_nan=True)


@pytest.mark.parametrize("d", [0, 1])
def test_sums_beyond_a_word(d: int) -> None:
    """Sixteen largest products of an exponent and an old number: 2**31 of the last kept bit."""
    most = 2 - 2.0**-10
    a, b = np.full((128, 16), most), np.full((16, 16), most)
    b[1::2] *= -1
    old = np.where(np.arange(16) % 2, -most, most) * np.ones((128, 1))
    first, da = along_k(bytes_of(bits16(a, 0)), 2, 0)
    second, db = along_k(bytes_of(bits16(b, 0)), 2, len(first))
    before = old.astype(np.float32).view(np.uint32) if d else bits16(old, 0).astype(np.uint32)

    after = run("f16", np.concatenate([first, second]), da, db,
                instruction(128, 16, a=0, b=0, d=d), before)  # fmt: skip

    exact = a @ b.T + old  # of 27 bits
    if d:
        cut = exact.view(np.uint64) & np.uint64(-(1 << 29) & 2**64 - 1)
        assert np.array_equal(after[:, :16].view(np.float32), cut.view(np.float64))
    else:
        found = after[:, :16].astype(np.uint16).view(np.float16)
        assert np.array_equal(found, exact.astype(np.float16))
