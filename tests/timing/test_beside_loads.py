"""A warp beside others at the SM's units, against an H200's clocks
(`validation/data/beside_loads_sm90.json`)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import recorded_rows, recorder_kernels, recorder_script

RECORDED = recorded_rows("beside_loads", 5)
# Where many wait: of the other sub-partitions, of all (few of one: row 327 of DEVIATIONS)
OTHERS = 0xEEEE, 0xEEEEEEEE, 0xFFFFFFFE
STORES = "STORES_4", "STORES_16"  # and what waits for them, within 50 %
# Square roots that take turns (row 326), loads of what others store to in part (row 327)
KNOWN = {("ROOT", "ROOTS_4", 0xFFFFFFFE), *product(["GLOBAL"], STORES, OTHERS)}
# Shuffles are as transposes; where their loop or that of square roots beside stores is among the
# machine code is not told by its jumps.
CASES = [
    (chain, traffic, *rest, others) for chain, traffic, *rest, others in RECORDED
    if others in OTHERS and chain != "SHUFFLE" and (chain, traffic, others) not in KNOWN
    and not (chain == "ROOT" and traffic in STORES)
]  # fmt: skip


@pytest.mark.parametrize("case", one_in(
    16, CASES, lambda case: "-".join(map(str, case)),
))
def test_a_warp_waits_as_long_beside_others(case: tuple[str, str, int, int, int]) -> None:
    """Cycles of a step within 35 %, or 20; of another warp's access within a fifth, or 4 (35 % of
    a store)."""
    chain, traffic, step, size, others = case
    with recorder_script("beside_loads") as recorder:
        turns, accesses = recorder.TURNS, recorder.ACCESSES
    launch = recorder_kernels("beside_loads", "H200")[f"{chain}_{traffic}"].predict[1, 1024](
        np.zeros(128, np.uint32), np.zeros(1 << 20, np.uint32),
        *(np.uint32(n) for n in (others, turns, accesses, step, size)),
    )  # fmt: skip
    cycles = sum(launch.timing.stalls_by_instruction().values())
    # Warps read the clock, the others have their loop then, behind its jump to the end the first
    # one has its own, and all read the clock again.
    texts = [one.text.strip() for one in launch.timing.question.kernel.instructions]
    reads = [place for place, text in enumerate(texts) if "CLOCKLO" in text]
    between = max(n for n in range(reads[0], reads[-1]) if texts[n].startswith("BRA"))
    recorded = RECORDED[case]
    within = 0.5 if traffic in STORES else 0.35
    a_step = cycles[between + 1 : reads[-1]].sum() / turns
    assert a_step == pytest.approx(recorded["cycles"], rel=within, abs=20)
    an_access = cycles[reads[0] : between + 1].sum() / accesses / others.bit_count() / 4
    within = 0.35 if traffic in STORES else 0.2
    assert an_access == pytest.approx(recorded["an_access"] / 4, rel=within, abs=4)
