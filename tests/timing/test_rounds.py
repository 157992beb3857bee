"""Which blocks an SM is sampled with (execute/rounds.py), against what an H200 gave its SMs
(`validation/data/unlike_sm90.json`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.timing.replayed import recording
from tests.timing.touching import accesses
from warplens.execute.rounds import Rounds
from warplens.timing import extrapolate, rows
from warplens.timing.extrapolate import keeps_up
from warplens.timing.plans import plan
from warplens.timing.sample import _sm_of_all_kinds
from warplens.timing.touched import Touched
from warplens.timing.works import Works

SMS = 132
RECORDED = recording("unlike")
ROWS = [dict(zip(RECORDED["columns"], row, strict=True)) for row in RECORDED["rows"]]
SEVERAL_WAVES = [row for row in ROWS if len(row["sms"]) // SMS > row["blocks_an_sm"]]


def of_grid(blocks: int, held: int) -> Rounds:
    return Rounds(SMS, (0,) * held, blocks // SMS)


def again(sms: np.ndarray, first: int) -> float:
    """The part of blocks of a grid from `first` on that are on the SM of the one a round before."""
    later = np.arange(max(first, SMS), len(sms) // SMS * SMS)
    return float((sms[later] == sms[later - SMS]).mean())


@pytest.mark.parametrize("held", [1, 2, 4])
def test_blocks_of_later_waves_come_to_another_sm_than_those_before(held: int) -> None:
    """Of the first wave most come in turn, of later ones hardly any, however alike they are."""
    some = [row for row in SEVERAL_WAVES if row["blocks_an_sm"] == held]
    assert len(some) >= 6
    for row in some:
        sms, begin = np.array(row["sms"]), SMS * held
        ours = of_grid(len(sms), held).sm_of(np.arange(len(sms)))
        assert again(sms, begin) < 0.15
        assert again(ours, begin) < 0.15
        if held > 1:
            assert again(sms[:begin], 0) > 0.4
            assert again(ours[:begin], 0) == 1.0


@pytest.mark.parametrize("held", [1, 2])
def test_an_sm_gets_any_block_of_a_round(held: int) -> None:
    """The next one of an SM's blocks of later waves stands in any quarter of a round behind it."""

    def quarters(sms: np.ndarray) -> np.ndarray:
        later = np.arange(SMS * held, len(sms) // SMS * SMS)
        steps = np.concatenate([np.diff(later[sms[later] == sm]) for sm in range(SMS)])
        return np.bincount(steps % SMS * 4 // SMS, minlength=4) / len(steps)

    for row in SEVERAL_WAVES:
        if row["kind"] == "drawn" and row["blocks_an_sm"] == held:
            assert quarters(np.array(row["sms"])) == pytest.approx(0.25, abs=0.13)
    blocks = np.arange(200 * SMS)
    ours = of_grid(len(blocks), held).sm_of(blocks)
    assert quarters(ours) == pytest.approx(0.25, abs=0.08)


@pytest.mark.parametrize(("total", "held"), [(1000, 2), (5000, 8), (132, 1), (100_000, 3)])
def test_each_sm_has_a_block_of_every_round(total: int, held: int) -> None:
    rounds = of_grid(total, held)
    sms = rounds.sm_of(np.arange(total))
    whole = total // SMS * SMS
    assert (np.sort(sms[:whole].reshape(-1, SMS), axis=1) == np.arange(SMS)).all()
    assert (sms[whole:] == np.arange(total - whole)).all()
    mine = rounds.blocks_of([3], 0, total // SMS)
    assert mine == np.flatnonzero(sms[:whole] == 3).tolist()


def test_the_blocks_of_one_sm_are_recorded_whole() -> None:
    total, held = 132 * 40, 4
    chosen = plan(total, of_grid(total, held), held, (1e4, 1e3, 1e3, 100.0, 100.0), first=7)
    whole = chosen.whole
    assert (chosen.rounds.sm_of(whole) == 7).all()
    assert len(whole) == len(np.unique(whole // SMS)) == len(chosen.blocks) // chosen.sms
    assert len(np.unique(whole % SMS)) > len(whole) // 2  # not those a round apart
    beside = np.array(chosen.blocks)
    assert np.isin(whole + 1, beside).mean() > 0.9  # the SM beside it has the block beside


def test_an_sm_gets_blocks_of_all_kinds() -> None:
    """Of blocks of unlike work as many long and short ones as there are, so that what is replayed
    is the grid's mean."""
    total, held = 132 * 16, 8
    work = np.random.default_rng(3).lognormal(9.0, 1.0, total)
    works = Works(grid=(total, 1, 1), places=np.arange(total), whole=work, longest=work)
    rounds, first, mean = _sm_of_all_kinds(works, of_grid(total, held), held)
    mine = np.flatnonzero(rounds.sm_of(np.arange(total)) == first)
    later = work[mine[held:]]
    assert mean == work[mine].mean()
    assert work[mine].sum() == pytest.approx(work.mean() * 16, rel=0.2)
    edges = np.quantile(work[held * SMS :], [0.25, 0.5, 0.75])
    assert (np.bincount(np.searchsorted(edges, later), minlength=4) > 0).all()


def test_reads_of_an_sm_wait_as_long_whatever_other_sms_read() -> None:
    """How long DRAM takes for a row follows from the order in which the SM comes to it."""
    lines = 16 * np.arange(64)
    alone = rows.lots(_touched(lines, np.zeros(64, np.int32)))
    others = np.repeat(lines, 3) + 5000 * np.tile([0, 1, -1], 64) + 10_000
    mine = np.tile([True, False, False], 64)
    found = rows.lots(_touched(others, np.where(mine, 0, -1).astype(np.int32)))

    assert np.allclose(found[mine], alone)
    assert not found[~mine].any()
    assert alone.mean() == pytest.approx(1.0, abs=0.1)


def _touched(lines: np.ndarray, entry: np.ndarray) -> Touched:
    return Touched.of(accesses(len(lines), entry=entry), lines << 4 | 15)


@pytest.mark.parametrize(("gap", "error", "expected"), [
    (0.9, 0.0, True), (1.1, 0.02, False), (1.1, 0.2, True), (1.4, 0.2, False),
])  # fmt: skip
def test_a_replay_that_is_not_steady_yet_may_keep_up(gap: float, error: float, expected: bool,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extrapolate, "steady_gap", lambda *_: gap * 159.0)
    monkeypatch.setattr(extrapolate, "_steady", lambda *_: (1.0, error))

    assert keeps_up(None, 8, 159.0) is expected  # type: ignore[arg-type]
