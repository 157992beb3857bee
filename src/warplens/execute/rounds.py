"""Which SM the blocks of a grid come to, where they are alike.

Blocks are counted in rounds of as many as there are SMs. Those of the first wave come to all SMs
in turn, or nearly so. Later ones go wherever a place becomes free: of the second wave hardly any is
on the SM of the block a round before it, however alike blocks are (recorded on an H200,
validation/data/unlike_sm90.json). So of each later round an SM gets any one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_32_BITS = 0xFFFFFFFF


def _mixed(numbers: Ints) -> Ints:
    """Numbers of 32 bits without order, always the same."""
    found = numbers * 0x9E3779B1 & _32_BITS
    found = (found ^ found >> 15) * 0x45D9F3B & _32_BITS
    return np.asarray(found ^ found >> 16)


class Rounds(NamedTuple):
    """Rounds of a block for each of `sms` SMs.

    Of the first ones it is known by how many blocks they are `turned` against the very first; later
    ones are turned by any number, up to the round `whole`: what is left of the grid is not turned.
    """

    sms: int
    turned: tuple[int, ...] = (0,)
    whole: int = 0

    def turns(self, rounds: Ints) -> Ints:
        """By how many blocks some rounds are turned."""
        known = np.array(self.turned)[np.minimum(rounds, len(self.turned) - 1)]
        later = (_mixed(rounds) & 0xFFFFF) * self.sms >> 20
        found: Ints = np.where(rounds < len(self.turned), known, later)
        return np.where(rounds < self.whole, found, 0)

    def sm_of(self, blocks: Ints) -> Ints:
        """The SMs of some blocks."""
        found: Ints = (blocks - self.turns(blocks // self.sms)) % self.sms
        return found

    def blocks_of(self, sms: list[int], first: int, count: int) -> list[int]:
        """The blocks of some SMs in so many rounds from the `first` on, ascending."""
        rounds = np.arange(first, first + count)[:, None]
        places = (np.array(sms) + self.turns(rounds)) % self.sms
        found: list[int] = np.sort(rounds * self.sms + places, axis=None).tolist()
        return found
