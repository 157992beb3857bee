"""NANOSLEEP: a warp sleeps until the GPU's timer comes to a multiple of a power of two, the least
one above the time that it asks for (recorded on an H100, validation/data/sleeps_sm90.npz)."""

from __future__ import annotations

from warplens.timing import lsu
from warplens.timing.state import Record, Trace, stage

LEAST, MOST = 64, 1 << 20  # nanoseconds: no sleep for less; none is longer
NONE = 27  # cycles of `sleeping` where a warp does not sleep
# What the timer's last bits are when a launch begins: a third or two thirds of every power of two,
# so that neither the first sleep nor the sum of sleeps of all lengths is longer than on average.
_BEGIN = 0x55555


@stage
def period(wanted: int) -> int:
    """The power of two to whose multiples a warp sleeps; 0 if it does not."""
    if wanted < LEAST:
        return 0
    found = LEAST
    while found <= wanted and found < MOST:
        found *= 2
    return int(found)


@stage
def begin(spec: Record, inst: Record, trace: Trace, warp: Record, now: int) -> None:
    """Puts a warp to sleep: when it is woken, and when it can go on then."""
    least, every = now + inst.latency, 0
    warp.woken = now + NONE
    if lsu.has_access(trace, warp):
        access = trace.accesses[warp.access]
        warp.access += 1
        every = period(access.first_line)
        turns = int(spec.sleep_turn * (access.words - 1))
        least, warp.woken = least + turns, warp.woken + turns
    warp.resumed = least
    if every > 0:
        ticks = int((now / spec.timer + _BEGIN) / every) + 1
        until = int((ticks * every - _BEGIN) * spec.timer)
        warp.woken = max(until, least - spec.sleep_resume)
        warp.resumed = warp.woken + spec.sleep_resume
