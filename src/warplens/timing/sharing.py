"""How much of what the sampled blocks use the rest of the chip uses, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.timing.state import Ints
from warplens.timing.touched import Touched

Flags = npt.NDArray[np.bool_]
_LEAST_APART = 3  # SMs that are not beside each other, to tell from them what is shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Which part of what the chip's blocks share is seen in the sampled ones.

    Attributes:
        lines: that a wave of the sampled blocks uses; chip_lines: that the chip uses meanwhile.
        beside: SMs sampled beside each other, the replayed one first; the others are all over.
        ratio: SMs of the chip for each that is not beside others.
        part: of an SM's lines, those that it has to fetch itself; 0: as sampled.
    """

    lines: float = 1.0
    chip_lines: float = 1.0
    beside: int = 1 << 30
    ratio: float = 1.0
    part: float = 0.0


def sharing(touched: Touched, wave: int, active_sms: int, stride: int, *, blocks: int = 0,
            size_lines: float = 0.0) -> Sharing:  # fmt: skip
    """What a wave of `wave` sampled blocks shares with the blocks of all `active_sms` SMs.

    If all that the grid's `blocks` use fits into an L2 of `size_lines`, of the whole grid instead:
    lines then stay from wave to wave.
    """
    names = touched.blocks
    if not len(names):
        return Sharing()
    in_wave, everywhere = np.arange(len(names)) < wave, np.ones(len(names), np.bool_)
    places, place = np.unique(names % stride, return_inverse=True)
    lines = _lines_of(touched, in_wave)
    if len(places) >= active_sms:
        return Sharing(lines=lines, chip_lines=lines)
    beside = int(np.argmax(np.append(np.diff(places) != 1, True))) + 1
    apart = len(places) - beside + 1
    far = (place == 0) | (place >= beside)
    ratio = active_sms / apart
    if blocks > len(names) and apart >= _LEAST_APART:
        chip = _extrapolated(touched, np.arange(len(names)), far, blocks / int(far.sum()))
        if chip <= size_lines:
            mine = _pairs(touched, place, len(places), everywhere) / len(names)  # of a block
            return Sharing(
                lines=_lines_of(touched, everywhere), chip_lines=chip, beside=beside, ratio=ratio,
                part=chip / blocks / mine,
            )  # fmt: skip
    chip = _along(touched, place, beside, in_wave, active_sms)
    if apart >= _LEAST_APART:
        chip = min(chip, _extrapolated(touched, place, far & in_wave, ratio))
    chip = max(chip, lines)
    mine = _pairs(touched, place, len(places), in_wave) / len(places)
    return Sharing(
        lines=lines, chip_lines=chip, beside=beside, ratio=ratio, part=chip / active_sms / mine
    )


def _lines_of(touched: Touched, among: Flags) -> float:
    """Lines that some of the blocks use."""
    used = np.zeros(touched.n_lines, np.bool_)
    used[touched.used[among[touched.user]]] = True
    return float(np.count_nonzero(used))


def _users(touched: Touched, unit: Ints, units: int, among: Flags) -> Ints:
    """How many units (of blocks) use each line."""
    kept = among[touched.user]
    pairs = np.unique(touched.used[kept] * units + unit[touched.user[kept]])
    return np.bincount(pairs // units, minlength=1)


def _pairs(touched: Touched, unit: Ints, units: int, among: Flags) -> float:
    """Lines of each unit, all together."""
    return float(_users(touched, unit, units, among).sum())


def _along(touched: Touched, place: Ints, beside: int, in_wave: Flags, active_sms: int) -> float:
    """As many lines for every further SM as the second half of those beside each other adds to the
    first: what neighbours share. (Of one SM, its blocks.)"""
    mine = in_wave & (place < beside)
    unit, units, all_units = place, beside, float(active_sms)
    if beside == 1:
        unit, units = np.cumsum(mine) - 1, int(mine.sum())
        all_units = float(active_sms * units)
    if units == 1:
        return _lines_of(touched, mine) * all_units
    lines = _lines_of(touched, mine)
    added = (lines - _lines_of(touched, mine & (unit < units // 2))) / (units - units // 2)
    return lines + added * (all_units - units)


def _extrapolated(touched: Touched, unit: Ints, among: Flags, ratio: float) -> float:
    """From lines that one and that two of some units use follows how many are used that none of
    them uses (Chao's estimator), at most as many as if the former were each used by one alone."""
    users = _users(touched, unit, len(unit), among)
    once, twice = float((users == 1).sum()), float((users == 2).sum())
    unseen = once * (ratio - 1.0)
    if twice:
        unseen = min(unseen, once * (once - 1.0) / (2.0 * (twice + 1.0)))
    return float(np.count_nonzero(users)) + unseen
