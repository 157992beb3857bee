"""The 21-bit scheduling code that every instruction carries."""

from __future__ import annotations

from functools import cache

from warplens.sass.model import Control

CONTROL_SHIFT = 105


@cache
def decode_control(code: int) -> Control:
    """Decodes the control code, the instruction word's bits 125 to 105."""
    return Control(
        stall=code & 15,
        keep=bool(code >> 4 & 1),
        write_barrier=code >> 5 & 7,
        read_barrier=code >> 8 & 7,
        wait_mask=code >> 11 & 63,
        reuse=code >> 17 & 7,
    )
