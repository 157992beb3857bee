"""A whole launch over its time: ramp, steady phases and tail, made from the notes of one replay.

The replay's beginning and end stand at the launch's; what was not replayed between them is the
steady stretch of the replay, repeated. SMs that get a block more than others are kept apart where
that shows, so that the tail of a small grid is seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warplens.timing.extrapolate import launch_overhead_ns
from warplens.timing.model import Model
from warplens.timing.question import Replay
from warplens.timing.stall import REASONS
from warplens.timing.state import FIRST_PIPE, FIRST_REASON, PIPES, PROGRESS

Floats = npt.NDArray[np.float64]

# Per column; a pipe's busy cycles are "pipe_NAME", a state's warp cycles "state_NAME".
COLUMNS = (*PROGRESS, *(f"pipe_{p}" for p in PIPES), *(f"state_{r}" for r in REASONS))
_TIMES = (COLUMNS.index("now"), COLUMNS.index("cycles"))
_ENDS = 8  # of SMs that end at unlike times, as many as are told apart
_MIXED_WAVES = 3  # up to so many blocks per place, SMs with a block less are told apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Sums of one SM over its time: (point, column), the first point at the start."""

    times: Floats
    sums: Floats

    def at(self, times: Floats) -> Floats:
        """The sums at any times, (time, column)."""
        columns = [np.interp(times, self.times, column) for column in self.sums.T]
        return np.column_stack(columns)


class Timeline:
    """Sums of the mean SM of the chip at any cycle of a launch."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.replay: Replay = model.result

    @cached_property
    def _overheads(self) -> tuple[float, float]:
        """Cycles before the first block, and after the last one until memory is quiet."""
        q, estimate = self.model.question, self.model.estimate
        busy = estimate.busiest_cycles / q.clock_mhz * 1e3
        launch = launch_overhead_ns(q.gpu, busy, estimate.active_sms) * 1e-3 * q.clock_mhz
        before = min(estimate.overhead_cycles, launch)
        return before, max(0.0, estimate.overhead_cycles - before)

    @cached_property
    def curve(self) -> Curve:
        """What was replayed, with the memory's traffic at the time it is served."""
        n = int(self.replay.sm["notes"])
        rows = self.replay.counts.progress[:n].astype(np.float64)
        at = {name: index for index, name in enumerate(COLUMNS)}
        begin = np.zeros((2, rows.shape[1]))
        begin[1, 0] = min(1.0, rows[0, 0] / 2)  # the first blocks start at once, and wait for code
        begin[1, at["started"]] = min(rows[0, at["started"]], self.model.question.resident)
        rows = np.vstack([begin, rows])
        after = rows[-1].copy()
        after[0] += max(1.0, self._overheads[1])
        after[at["l2_backlog"]] = after[at["dram_backlog"]] = 0.0
        rows = np.vstack([rows, after])
        rows[:, FIRST_PIPE:] = np.maximum.accumulate(rows[:, FIRST_PIPE:], axis=0)
        times = rows[:, 0].copy()
        self._serve(rows, at)
        return Curve(times=times, sums=rows)

    def _serve(self, rows: Floats, at: dict[str, int]) -> None:
        """Moves traffic from when it is asked for to when the memory gets to it."""
        spec = self.replay.spec
        asked = rows[:, at["l2_read"]] + rows[:, at["l2_write"]] + rows[:, at["l2_atomic"]]
        misses = rows[-1, at["dram_read"]] + rows[-1, at["dram_write"]]
        cost = 1.0 + (float(spec["l2_fill"]) - 1.0) * min(1.0, misses / max(1.0, asked[-1]))
        rate = float(spec["l2_rate"]) / 32.0 / cost
        served = np.maximum.accumulate(asked - np.minimum(asked, rows[:, at["l2_backlog"]] * rate))
        for name in ("l2_read", "l2_read_hit", "l2_write", "l2_atomic"):
            rows[:, at[name]] = np.interp(served, asked, rows[:, at[name]])
        busy = rows[:, at["dram_busy"]].copy()
        done = np.maximum.accumulate(busy - np.minimum(busy, rows[:, at["dram_backlog"]]))
        for name in ("dram_read", "dram_write", "dram_busy"):
            rows[:, at[name]] = np.interp(done, busy, rows[:, at[name]])

    @cached_property
    def _steady(self) -> tuple[float, float]:
        """The stretch of the replay that stands for what was not replayed."""
        n, resident = self.replay.blocks, self.model.question.resident
        end = float(self.replay.cycles)
        if not n:  # one long block, replayed in part: its later half
            return end / 2, end
        done = np.sort(self.replay.counts.done[:n, 0]).astype(np.float64)
        first, last = resident - 1, n - resident
        if last - first < max(2, resident // 2):
            return 0.0, float(done[-1])
        return float(done[first]), float(done[last])

    def _of_one(self, blocks: float, end: float, times: Floats) -> Floats:
        """Sums of an SM that runs so many blocks and ends at `end`, by cycles since its first."""
        n, curve = self.replay.blocks, self.curve
        last = float(curve.times[-1])
        begin, stop = self._steady
        ended = float(self.replay.counts.done[:n, 0].max()) if n else float(self.replay.cycles)
        period, missing = stop - begin, end - ended
        if n and blocks < n:
            return self._cut(blocks, end, times)
        if missing <= 0 or period <= 0:
            return curve.at(np.minimum(times, last))
        rounds, rest = np.divmod(np.clip(times - stop, 0.0, missing), period)
        whole, part = np.divmod(missing, period)
        a, b, c = curve.at(np.array([begin, stop, begin + part]))
        early = curve.at(np.minimum(times, stop))
        middle = b + rounds[:, None] * (b - a) + curve.at(begin + rest) - a
        late = curve.at(np.clip(times - missing, stop, last)) + whole * (b - a) + c - a
        chosen = np.where((times <= stop)[:, None], early, middle)
        return np.where((times > stop + missing)[:, None], late, chosen)

    def _cut(self, blocks: float, end: float, times: Floats) -> Floats:
        """The replay until an SM with fewer blocks than were replayed ends."""
        curve, issued = self.curve, COLUMNS.index("issued")
        sums = curve.at(np.minimum(times, end))
        here = float(curve.at(np.array([end]))[0, issued])
        whole = float(curve.sums[-1, issued])
        kept = sums[:, _TIMES]
        sums *= blocks / self.replay.blocks * whole / here if here else 1.0
        sums[:, _TIMES] = kept
        return sums

    def _of_unlike(self, active: Floats, times: Floats) -> Floats:
        """(time, column) of the mean busy SM where SMs end at unlike times: the replay, stretched
        to the ends of some of them."""
        ends = np.sort(active[active > 0])
        some = ends[((np.arange(_ENDS) + 0.5) * len(ends) / _ENDS).astype(np.int64)]
        some *= ends.mean() / some.mean()
        last = float(self.curve.times[-1])
        found = np.zeros((len(times), len(COLUMNS)))
        for end in some.tolist():
            stretch = max(1.0, end) / max(1.0, float(self.replay.cycles))
            sums = self.curve.at(np.minimum(times / stretch, last))
            sums[:, _TIMES] *= stretch
            found += sums / _ENDS
        return found

    def _unscaled(self, times: Floats) -> Floats:
        """(time, column) of the mean busy SM."""
        q, estimate = self.model.question, self.model.estimate
        inside = np.maximum(0.0, times - self._overheads[0])
        each = q.blocks / estimate.active_sms
        if self.model.grid is not None:
            return self._of_unlike(self.model.grid.placement.active, inside)
        mean = estimate.active_cycles * q.gpu.sm_count / estimate.active_sms
        most = -(-q.blocks // estimate.active_sms)
        share = each - (most - 1)  # of the SMs that run `most` blocks
        if each > _MIXED_WAVES * q.resident or not self.replay.blocks or share >= 1.0:
            return self._of_one(each, estimate.mean_cycles, inside)
        fewer = (mean - share * estimate.busiest_cycles) / (1.0 - share)
        return share * self._of_one(float(most), estimate.busiest_cycles, inside) + (
            1.0 - share
        ) * self._of_one(float(most - 1), fewer, inside)

    @cached_property
    def _scale(self) -> Floats:
        """Per column, what makes the timeline's sum that of the launch.

        Warp states keep the size that makes them add up to the resident warps.
        """
        estimate = self.model.estimate
        found = self._unscaled(np.array([self.cycles]))[0]
        wanted = self.curve.sums[-1] * estimate.scale / estimate.active_sms
        scale = np.ones(len(COLUMNS))
        np.divide(wanted, found, out=scale, where=(found > 0) & (wanted > 0))
        scale[[*_TIMES, *range(FIRST_REASON, len(COLUMNS))]] = 1.0
        return scale

    def sums(self, times: Floats) -> Floats:
        """(time, column) of the mean SM of the chip at cycles since the launch."""
        part = self.model.estimate.active_sms / self.model.question.gpu.sm_count
        return self._unscaled(times) * self._scale * part

    @property
    def cycles(self) -> float:
        """Cycles of the whole launch."""
        return self.model.estimate.elapsed_cycles
