"""Which blocks of a grid are sampled: how many waves, of how many SMs, and how much of each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warplens.execute import recorder as tracing
from warplens.execute.rounds import Rounds

Ints = npt.NDArray[np.int64]
BUDGET = 4_000_000  # warp instructions run for a sample
LONG_BUDGET = 56_000_000  # the same for long blocks: what is not kept is quick
NEIGHBOURS = 80  # long blocks of other SMs that are worth a larger budget
WARM_UP = 2.0  # windows' worth of a block that pass before its window: caches are filled then
OVERRUN = 1.5  # a block that is cut runs on to the next back edges, and its barriers
REPLAYED = 1_200_000  # of one SM's blocks, less than the limit of a replay
_IN_WINDOWS = 700_000  # of one SM's blocks, where they are longer
WAVES = 4  # of an SM's resident blocks, more where blocks are short
MAX_WAVES = 48
_STEADY = 40_000  # warp instructions of one SM that give a steady rate
_BESIDE = 4  # SMs beside each other that are sampled, at most; others are spread over the chip
GOLDEN = (5**0.5 - 1.0) / 2.0  # multiples of it lie far apart, however many there are
_FILLED = 0.85  # of a table's capacity
LONG = 4  # times the ordinary tables, where one block fills them
LIGHT = 2.5  # the same for long blocks of other SMs: more take seconds and tell little


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Blocks to run, ascending; those of one SM are recorded whole, those of `sms - 1` others
    lightly.

    `rounds`: the SMs of blocks; `part`: how much of every block is kept, from its beginning;
    `first`: the SM that is recorded whole.
    """

    blocks: tuple[int, ...]
    rounds: Rounds
    sms: int
    part: float = 1.0
    first: int = 0

    @property
    def whole(self) -> Ints:
        """Those that are recorded whole."""
        blocks = np.array(self.blocks, np.int64)
        return np.asarray(blocks[self.rounds.sm_of(blocks) == self.first])

    def around(self, place: int, total: int) -> Plan:
        """As many blocks in the same places elsewhere in the grid; where each SM has one block,
        with that one recorded whole."""
        stride, rounds = self.rounds.sms, -(-len(self.blocks) // self.sms)
        last = max(0, -(-total // stride) - rounds)
        begin = min(max(0, place // stride - rounds // 2), last)
        first = place if total <= stride else self.first
        blocks = _of_neighbours(begin, rounds, self.rounds, self.sms, total, first)
        return replace(self, blocks=tuple(blocks), first=first)


def plan(total: int, turns: Rounds, resident: int, costs: tuple[float, ...],
         scale: int = 1, least_waves: int = WAVES, *, cut: bool = False,
         first: int = 0) -> Plan:  # fmt: skip
    """Chooses blocks. `turns`: the SMs of blocks; `costs`: instructions, entries, accesses, lines
    and global accesses of one.

    `scale` multiplies what may be run and kept; above 1, all waves are taken as far as they fit.
    `cut`: of long blocks, only what is kept is run. `first`: the SM that is recorded whole.
    """
    filled, budget = _FILLED * scale, float(BUDGET * scale)
    instructions, entries, accesses, lines, shared_by_all = (max(1.0, cost) for cost in costs)
    run, kept = instructions, 1.0
    sms = turns.sms
    per_sm = -(-total // sms)
    room = min(
        REPLAYED * scale / instructions, filled * tracing.MAX_ENTRIES / entries,
        filled * tracing.MAX_ACCESSES / accesses, filled * tracing.MAX_LINES / lines,
    )  # fmt: skip
    part = min(1.0, room / min(resident, per_sm))
    if part < 1.0:
        part *= _IN_WINDOWS / REPLAYED
        # All that is kept shrinks; what is run does so only if blocks can be cut.
        budget = LONG_BUDGET * scale
        run *= min(1.0, (WARM_UP + OVERRUN) * part) if cut else 1.0
        entries, accesses, lines = (part * cost for cost in (entries, accesses, lines))
        kept = 1.0 + WARM_UP  # of global accesses, those before the window, too
        shared_by_all *= kept * part
    whole = min(
        budget / instructions, filled * tracing.MAX_ENTRIES / entries,
        filled * tracing.MAX_ACCESSES / accesses, filled * tracing.MAX_LINES / lines,
    )  # fmt: skip
    if part < 1.0:
        whole = max(whole, float(min(resident, per_sm)))
    waves_in_grid = -(-per_sm // resident)
    wanted = min(MAX_WAVES, max(least_waves, int(_STEADY / (resident * instructions))))
    if part < 1.0:
        wanted = 1  # wherever the kinds of blocks are
    elif scale > 1:
        wanted = waves_in_grid
    waves = int(max(1, min(wanted, waves_in_grid, whole // min(resident, per_sm))))
    mine = max(1, int(min(whole, waves * resident, per_sm)))
    tables = _FILLED * max(scale, LIGHT)
    light = min(
        1.0 + (tables * tracing.MAX_ACCESSES / mine - accesses) / shared_by_all,
        tables * tracing.MAX_LINES / (mine * lines * kept),
    )  # fmt: skip
    budget = max(budget, min(LONG_BUDGET * scale, NEIGHBOURS * run))
    neighbours = int(max(1, min(sms, budget / run // mine, light)))
    chosen: list[int] = []
    # The middles of equal parts of the grid, so that blocks that differ are met in proportion, and
    # the last wave, which may be a small one.
    parts = max(1, waves - 1)
    picked = (2 * np.arange(parts) + 1) * waves_in_grid // (2 * parts)
    if waves > 1:
        picked = np.append(np.minimum(picked, waves_in_grid - 2), waves_in_grid - 1)
        picked = np.unique(picked)
    else:  # a part of a wave does not show how blocks run that fill an SM
        picked = np.minimum(picked, max(0, per_sm // resident - 1))
    if waves == waves_in_grid:
        picked = np.arange(waves)
    left = mine
    for done, wave in enumerate(picked.tolist()[::-1]):  # the last one may be small
        rounds = min(resident, per_sm - wave * resident, -(-left // (len(picked) - done)))
        chosen = _of_neighbours(wave * resident, rounds, turns, neighbours, total, first) + chosen
        left -= rounds
    return Plan(
        blocks=tuple(dict.fromkeys(chosen)), rounds=turns, sms=neighbours, part=part, first=first
    )


def _of_neighbours(begin: int, rounds: int, turns: Rounds, sms: int, total: int,
                   first: int = 0) -> list[int]:  # fmt: skip
    """The blocks of `sms` SMs in some rounds."""
    places = [(first + place) % turns.sms for place in spread(turns.sms, sms)]
    return [block for block in turns.blocks_of(places, begin, rounds) if block < total]


def spread(stride: int, sms: int) -> list[int]:
    """SMs to sample: some beside each other, whose blocks share what neighbours share, and others
    all over the chip, who tell how much is shared at all."""
    beside = sms if sms < 4 else min(_BESIDE, sms - 2)
    places = list(range(stride if sms >= stride else beside))
    turn = 0
    while len(places) < sms:
        turn += 1
        place = int(turn * GOLDEN % 1.0 * stride)
        if place not in places:
            places.append(place)
    return sorted(places)
