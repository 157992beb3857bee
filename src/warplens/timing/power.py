"""The clock that a board's power leaves a kernel, by how busy it keeps the lanes for singles.

`clock.load_mhz` of a GPU's file is known from large products of single precision, which keep
`clock.load_busy` of the lanes busy. A kernel that calculates less draws less power, and keeps more
of the clock that is asked for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warplens.timing.clock import SINGLES, calculates_in_singles
from warplens.timing.model import PROBE, Model
from warplens.timing.stall import REASONS

_REST = 0.75  # of the power of such products is drawn without any arithmetic, at the same clock
_POWER = 3.0  # power grows with this power of the clock: the voltage grows along
_SELECTED = REASONS.index("selected")


def settled(model: Model) -> Model:
    """The model at the clock that the board's power leaves it: itself where that is its own."""
    q = model.question
    if q.clock_mhz != q.gpu.load_clock_mhz or not calculates_in_singles(q.kernel):
        return model
    kept = kept_by_power(q.clock_mhz, _busy(model) / float(q.gpu.value("clock.load_busy")))
    if min(kept, q.asked_mhz) <= q.clock_mhz:
        return model
    changed = Model(replace(q, clock_mhz=min(kept, q.asked_mhz)), model.sample)
    changed.touched, changed.sharing, changed.answer = model.touched, model.sharing, model.answer
    return changed


def kept_by_power(load_mhz: float, load: float) -> float:
    """The clock in MHz at which a kernel draws as much as large products at `load_mhz`; `load`: how
    busy it keeps the lanes, over how busy these do (1 and more: the same clock)."""
    power: float = _REST + (1.0 - _REST) * min(1.0, load)
    return float(load_mhz * power ** (-1.0 / _POWER))


def _busy(model: Model) -> float:
    """The share of the chip's lanes for singles that are busy at a time, of a short replay."""
    q = model.question
    replay = model.replay(limit=PROBE)
    issued = replay.counts.stalls[: len(q.kernel.instructions), _SELECTED]
    singles = np.array([one.opcode in SINGLES for one in q.kernel.instructions])
    lanes = float(q.gpu.value("pipes.fma")) * float(q.gpu.value("limits.sub_partitions"))
    of_sm = 32.0 * float(issued[singles].sum()) / lanes / max(1, replay.cycles)
    return of_sm * model.active_sms / q.gpu.sm_count
