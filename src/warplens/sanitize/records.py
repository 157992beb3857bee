"""Findings as native records: hazards of one kind between the same instructions share a record."""

from __future__ import annotations

from warplens.compiled import native
from warplens.execute.native import poke64
from warplens.sanitize import state as st
from warplens.sanitize.native import peek64


@native
def field(head: int, slot: int) -> int:
    """An int64 slot of the header."""
    return peek64(head + 8 * slot)


@native
def claim(head: int, check: int, first: int, second: int, extra: int, more: int) -> int:
    """Address of a new record to fill in, or 0: counted in an old one, or there is no room."""
    mask = peek64(head + 8 * st.KEY_MASK)
    keys = peek64(head + 8 * st.KEYS)
    records = peek64(head + 8 * st.RECORDS)
    mixed = ((first * 1000003 + second) * 1000003 + check * 8191 + extra) * 0x9E3779B1
    place = (mixed ^ (mixed >> 17)) & mask
    while True:
        number = peek64(keys + 8 * place)
        if number == 0:
            break
        record = records + 8 * st.RECORD_SLOTS * (number - 1)
        if (
            peek64(record + 8 * st.R_CHECK) == check
            and peek64(record + 8 * st.R_FIRST) == first
            and peek64(record + 8 * st.R_SECOND) == second
            and peek64(record + 8 * st.R_EXTRA) == extra
        ):
            count = peek64(record + 8 * st.R_COUNT)
            poke64(record + 8 * st.R_COUNT, count + more)
            return 0
        place = (place + 1) & mask
    n = peek64(head + 8 * st.N_RECORDS)
    if n >= peek64(head + 8 * st.MAX_RECORDS):
        return 0
    poke64(head + 8 * st.N_RECORDS, n + 1)
    poke64(keys + 8 * place, n + 1)
    record = records + 8 * st.RECORD_SLOTS * n
    poke64(record + 8 * st.R_CHECK, check)
    poke64(record + 8 * st.R_FIRST, first)
    poke64(record + 8 * st.R_SECOND, second)
    poke64(record + 8 * st.R_EXTRA, extra)
    poke64(record + 8 * st.R_COUNT, more)
    return record


@native
def fill(record: int, slot: int, value: int) -> None:
    """Sets a field of a record."""
    poke64(record + 8 * slot, value)
