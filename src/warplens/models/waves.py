"""Waves of blocks, the tail effect, and mixes of phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.models.scalars import FloatLike, Numbers, integers, numbers, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Waves:
    """How a grid fills a GPU.

    Attributes:
        capacity: blocks that run at once.
        full: waves that fill the GPU; tail_blocks: blocks in the last, partial one (0: none).
        waves: blocks / capacity, as a fraction.
        efficiency: the share of block slots used over all waves, if blocks take equally long.
    """

    capacity: Numbers
    full: Numbers
    tail_blocks: Numbers
    waves: Numbers
    efficiency: Numbers


def waves(blocks: npt.ArrayLike, blocks_per_sm: npt.ArrayLike, sm_count: npt.ArrayLike) -> Waves:
    """Waves and tail of a grid.

    Inputs: blocks of the grid; blocks that an SM holds (occupancy); SMs.
    Formula: capacity = SMs * blocks per SM; efficiency = blocks / (capacity * ceil(waves)).
    Source: definition; blocks of equal length.

    >>> w = waves(133, 1, 132)
    >>> w.full, w.tail_blocks, round(w.efficiency, 3)
    (1, 1, 0.504)
    """
    grid, capacity = integers("blocks", blocks, 1), integers("blocks_per_sm", blocks_per_sm, 1)
    capacity = capacity * integers("sm_count", sm_count, 1)
    return Waves(
        capacity=plain(capacity),
        full=plain(grid // capacity),
        tail_blocks=plain(grid % capacity),
        waves=plain(grid / capacity),
        efficiency=plain(grid / (capacity * -(-grid // capacity))),
    )


def amdahl(fraction: FloatLike, speedup: FloatLike) -> Numbers:
    """The speed-up of the whole when a part becomes faster.

    Inputs: the part's share of the time (a fraction); its speed-up.
    Formula: 1 / ((1 - f) + f / s).
    Source: G. Amdahl, AFIPS 1967.

    >>> amdahl(0.5, 2), round(amdahl(0.9, 1e9), 3)
    (1.3333333333333333, 10.0)
    """
    share = numbers("fraction", fraction, 0, 1)
    return plain(1.0 / ((1.0 - share) + share / numbers("speedup", speedup, 1e-12)))


def phase_mix(shares: Sequence[float], speedups: Sequence[float]) -> float:
    """The speed-up of a program whose phases become faster by different factors.

    Inputs: each phase's share of the time (together 1); its speed-up.
    Formula: 1 / sum(share_i / speedup_i).
    Source: Amdahl's law for several parts.

    >>> round(phase_mix((0.6, 0.4), (2, 1)), 4)
    1.4286
    """
    parts, gains = numbers("shares", shares, 0, 1), numbers("speedups", speedups, 1e-12)
    if parts.shape != gains.shape or abs(float(parts.sum()) - 1.0) > 1e-9:
        raise InputError(f"shares {shares!r} must be one per phase and sum to 1")
    return 1.0 / float((parts / gains).sum())


def phase_rate(amounts: Sequence[float], rates: Sequence[float]) -> float:
    """The overall rate of phases that process amounts at different rates.

    Inputs: amount of each phase; its rate, in amount per unit of time.
    Formula: sum(amounts) / sum(amount_i / rate_i): the weighted harmonic mean.
    Source: total amount over total time.

    >>> phase_rate((1, 1), (1, 3))
    1.5
    """
    amount, rate = numbers("amounts", amounts, 0), numbers("rates", rates, 1e-12)
    if amount.shape != rate.shape:
        raise InputError(f"amounts {amounts!r} and rates {rates!r} must be one per phase")
    return float(amount.sum() / (amount / rate).sum())


def combined_gain(gains: Sequence[float]) -> float:
    """The gain of steps that each speed up the result of the step before.

    Inputs: speed-up of each step.
    Formula: product of the gains.
    Source: definition.

    >>> round(combined_gain((1.7, 1.15)), 3)
    1.955
    """
    return float(np.prod(numbers("gains", gains, 0)))


def issue_limited_seconds(
    warp_instructions: float, sm_count: int, clock_mhz: float, schedulers: int = 4
) -> float:
    """The least time in which a GPU can issue a number of warp instructions.

    Inputs: warp instructions of the whole grid; SMs; SM clock in MHz; schedulers per SM.
    Formula: instructions / (SMs * schedulers * clock), one instruction per scheduler and cycle.
    Source: issue rate of every architecture from Volta on.

    >>> round(issue_limited_seconds(32768 * 1000, 132, 1980) * 1e6, 1)
    31.3
    """
    issued = float(numbers("warp_instructions", warp_instructions, 0))
    rate = float(integers("sm_count", sm_count, 1) * integers("schedulers", schedulers, 1))
    return issued / (rate * float(numbers("clock_mhz", clock_mhz, 1e-9)) * 1e6)
