"""How closely SMs are in step that fetch the same lines: how long those wait that ask for what
another SM is only just fetching.

SMs go in step that wait for the same fetches. Where each has some of its own none does; where
neighbours, which begin together, have some in common they do, and come one group after another to
what SMs of several groups use: the later ones find it, or soon have it (measured,
validation/data/pitches_sm90.json).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warplens.timing.sharing import Sharing
from warplens.timing.state import Floats, Ints
from warplens.timing.touched import distinct

LOOP = 16  # steps in which an SM fetches, from which it is a loop
_PLACES = 59  # of other SMs among the bits of who uses a fetch, above the replayed one's
_BESIDE = 5  # SMs beside each other, the replayed one among them, that have bits of their own
_FEW, _MOST = 0.1, 0.8  # of an SM's fetches, of the SMs
# What groups of SMs wait for that come apart, of what they would wait for in step, and SMs that all
# do, of what those wait for that begin together
_APART, _ALL_APART = 0.2, 0.45


def bit_of(place: Ints) -> Ints:
    """The bit of another SM, by its place behind the replayed one."""
    others = _BESIDE - 1 + (place - _BESIDE) % (_PLACES - _BESIDE + 1)
    return np.asarray(np.where(place < _BESIDE, place - 1, others))


def counts(users: Ints, beside: int) -> tuple[Ints, Ints]:
    """Per fetch how many SMs of some beside each other use it, and how many that are not, the
    replayed one among both."""
    near = _counted(users, min(beside, _PLACES + 1))
    return near, _counted(users, _PLACES + 1) - near + (users & 1)


def in_step(users: Ints, is_mine: npt.NDArray[np.bool_], when: Ints, share: Sharing,
            sampled: int) -> npt.NDArray[np.float32]:  # fmt: skip
    """Per fetch that the replayed SM asks for as it is made (`is_mine`) how much of it those wait
    for, in long loops, that ask for it after the first of its users does. `when`: in which step;
    `sampled`: SMs."""
    beside = min(share.beside, sampled, _BESIDE)
    found, at = np.ones(len(users), np.float32), np.flatnonzero(is_mine)
    near, far = counts(users[at], beside)
    apart = max(1, min(sampled, _PLACES + 1) - beside)
    ratio = max(1.0, share.ratio * (sampled - min(sampled, share.beside) + 1) / (apart + 1))
    number = np.maximum(near, np.where(far > 1, far * ratio, 1.0))
    own = number <= 1.0
    if len(distinct(when[at[~own]])) >= LOOP:
        found[at] = _waited_for(near, far, number, apart, beside, (apart + 1) * ratio)
    return found


def _waited_for(near: Ints, far: Ints, number: Floats, apart: int, beside: int,
                every: float) -> Floats:  # fmt: skip
    """The same of fetches that the replayed SM asks for, which so many SMs use: of those `beside`
    each other, of those `apart`, and of all in all."""
    found = np.ones(len(number))
    close, wide = (near - 1) / max(1, beside - 1), (far - 1) / apart
    by_all = (wide >= _MOST) & (near == beside)
    by_near = (close >= 0.5) & (close > 2.0 * wide) & ~by_all
    by_far = (far > 1) & ~by_near & ~by_all
    n_own, n_near, n_far = map(np.count_nonzero, (number <= 1.0, by_near, by_far))
    n_all = len(number)
    if n_own > _FEW * n_all:
        return _part(number, n_own / n_all, _ALL_APART)
    if n_near > _FEW * n_all:
        size = float(number[by_near].mean())
        share_near = n_near / (n_near + n_far)
        found = np.where(by_near, found, _part(np.minimum(number, every / size), share_near))
        if n_far:
            size = float(number[by_far].mean())
            crossed = _part(np.minimum(number, every / size), 0.5 - share_near)
            found = np.where(by_near, crossed, found)
    elif n_far > _FEW * n_all:
        size = float(number[by_far].mean())
        found = np.where(by_all, _part(number / size, n_far / n_all), found)
    return found


def _part(groups: Floats, share: float, least: float = _APART) -> Floats:
    """What one waits for on average who asks for what `groups` use that come apart, of what he
    would wait for in step. `share`: of the fetches, those that keep each group together."""
    found = least + (1.0 - least) / np.sqrt(np.maximum(1.0, groups))
    return np.asarray(found ** min(1.0, max(0.0, 2.0 * share)))


def _counted(numbers: Ints, bits: int) -> Ints:
    """How many of the lowest bits are set."""
    found: Ints = np.bitwise_count(numbers & ((1 << bits) - 1)).astype(np.int64)
    return found
