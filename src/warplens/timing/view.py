"""The scheduler made visible: which warp issued what in every cycle, and why the others did not."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from warplens.errors import InputError
from warplens.result import STATE_LETTERS, ScheduleWindow
from warplens.timing.model import Model
from warplens.timing.question import Replay
from warplens.timing.stall import REASONS, SELECTED
from warplens.wording import count

_EVENTS = 400_000
_WINDOW = 128  # cycles that a report shows
_LONGEST = 2000
_LATEST = 4000  # cycle at which they begin at the latest


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A warp in one state during [begin, end): at which instruction, and why."""

    warp: int
    block: int
    begin: int
    end: int
    reason: str
    pc: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The first cycles of one SM."""

    sm: int
    first: int
    cycles: int
    sub_partitions: int
    warps: int
    spans: tuple[Span, ...]

    def __str__(self) -> str:
        parts = [
            f"SM {self.sm}, cycles {self.first} to {self.first + self.cycles - 1}; "
            "one column per warp: "
            + ", ".join(f"{sign} {name}" for name, sign in STATE_LETTERS.items() if self._has(name))
        ]
        for sub in range(self.sub_partitions):
            parts.append(self._sub(sub))
        return "\n".join(parts)

    def _has(self, reason: str) -> bool:
        return any(span.reason == reason for span in self.spans)

    def _sub(self, sub: int) -> str:
        warps = list(range(sub, self.warps, self.sub_partitions))
        width = max(3, *(len(str(w)) + 1 for w in warps)) if warps else 3
        end = self.first + self.cycles
        rows = [["."] * len(warps) for _ in range(self.cycles)]
        texts = [""] * self.cycles
        for span in self.spans:
            if span.warp % self.sub_partitions != sub:
                continue
            column = span.warp // self.sub_partitions
            for cycle in range(max(span.begin, self.first), min(span.end, end)):
                rows[cycle - self.first][column] = STATE_LETTERS[span.reason]
                if span.reason == "selected":
                    texts[cycle - self.first] = f"warp {span.warp}: {span.text}"
        lines = [f"\nsub-partition {sub}", " cycle " + "".join(f"{w:>{width}}" for w in warps)]
        repeated = 0
        for index, (row, text) in enumerate(zip(rows, texts, strict=True)):
            if index and not text and row == rows[index - 1] and index + 1 < self.cycles:
                repeated += 1
                continue
            if repeated:
                lines.append(f"     … {count(repeated, 'more cycle')} like this")
                repeated = 0
            cells = "".join(f"{cell:>{width}}" for cell in row)
            lines.append(f"{self.first + index:6d} {cells}  {text}".rstrip())
        return "\n".join(lines)

    def json(self) -> str:
        """The spans as JSON."""
        return json.dumps({
            "sm": self.sm, "first": self.first, "cycles": self.cycles,
            "spans": [
                {"warp": s.warp, "block": s.block, "sub_partition": s.warp % self.sub_partitions,
                 "begin": s.begin, "end": s.end, "state": s.reason, "pc": s.pc, "sass": s.text}
                for s in self.spans
            ],
        })  # fmt: skip

    def perfetto(self) -> str:
        """A trace for ui.perfetto.dev (Trace Event Format): one track per warp; 1 us is a cycle."""
        events: list[dict[str, object]] = [
            {
                "name": "process_name",
                "ph": "M",
                "pid": sub,
                "args": {"name": f"sub-partition {sub}"},
            }
            for sub in range(self.sub_partitions)
        ]
        for s in self.spans:
            name = s.text if s.reason == "selected" else s.reason
            events.append({
                "name": name, "cat": s.reason, "ph": "X", "ts": s.begin, "dur": s.end - s.begin,
                "pid": s.warp % self.sub_partitions, "tid": s.warp,
                "args": {"pc": s.pc, "block": s.block, "sass": s.text},
            })  # fmt: skip
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})


def _replayed(model: Model, cycles: int) -> Replay:
    """The beginning of a launch with every warp's states, so many cycles of it at least."""
    return model.replay(events=_EVENTS, limit=max(2000, cycles * 8))


def schedule(
    model: Model, *, sm: int = 0, first: int = 0, cycles: int = 200, replay: Replay | None = None
) -> Schedule:
    """Replays the beginning of a launch and keeps every warp's state."""
    replay = replay or _replayed(model, first + cycles)
    known = replay.counts.events
    if int(replay.sm["n_events"]) >= len(known) and int(known[-1][1]) < first + cycles:
        raise InputError(
            f"cycles {first:,} to {first + cycles - 1:,} exceed the recorded schedule",
            hint=f"Choose cycles before {int(known[-1][1]):,}.",
        )
    kernel = model.question.kernel
    trace = model.sample.trace
    spans = []
    begins, ends = known[:, 1], known[:, 2]
    is_shown = (ends > begins) & (ends > first) & (begins < first + cycles)
    for warp, begin, end, reason, pc, source in known[is_shown].tolist():
        spans.append(
            Span(
                warp=warp,
                block=int(trace.blocks[source // trace.warps_per_block]),
                begin=begin,
                end=end,
                reason=REASONS[reason],
                pc=int(kernel.instructions[pc].address),
                text=kernel.instructions[pc].text,
            )
        )
    spans.sort(key=lambda span: (span.begin, span.warp, span.reason != REASONS[SELECTED]))
    return Schedule(
        sm=sm,
        first=first,
        cycles=cycles,
        sub_partitions=model.question.gpu.sub_partitions,
        warps=model.machine.resident * model.question.warps_per_block,
        spans=tuple(spans),
    )


def window(model: Model, *, first: int | None = None, cycles: int = _WINDOW) -> ScheduleWindow:
    """Some cycles as plain data; without a first one, near the middle of the first blocks, from
    a cycle in which an instruction is issued."""
    if not 1 <= cycles <= _LONGEST:
        raise InputError(f"a report shows 1 to {_LONGEST:,} cycles of a schedule, not {cycles:,}")
    replay = None
    if first is None:
        n = model.result.blocks
        ends = int(model.result.counts.done[:n, 0].min()) if n else model.result.cycles
        near = max(0, min(ends // 2 - cycles // 2, _LATEST))
        replay = _replayed(model, near + 2 * cycles)
        first = _busy(replay, near, cycles)
    found = schedule(model, first=first, cycles=cycles, replay=replay)
    index = {one.address: i for i, one in enumerate(model.question.kernel.instructions)}
    end = first + cycles
    blocks: dict[tuple[int, int], int] = {}
    for span in found.spans:
        blocks.setdefault((span.warp, span.block), max(first, span.begin))
    return ScheduleWindow(
        sm=found.sm,
        first=first,
        cycles=cycles,
        sub_partitions=found.sub_partitions,
        warps=found.warps,
        states=REASONS,
        spans=tuple(
            (s.warp, max(first, s.begin), min(end, s.end), REASONS.index(s.reason), index[s.pc])
            for s in found.spans
        ),
        blocks=tuple((warp, begin, block) for (warp, block), begin in blocks.items()),
    )


def _busy(replay: Replay, near: int, cycles: int) -> int:
    """The issue nearest to a cycle that begins a window with half as many issues as any other."""
    known = replay.counts.events[: int(replay.sm["n_events"])]
    begins = known[(known[:, 3] == SELECTED) & (known[:, 2] > known[:, 1]), 1]
    issues = np.sort(begins[begins <= near + cycles])
    if not len(issues):
        return near
    held = np.searchsorted(issues, issues + cycles) - np.arange(len(issues))
    rich = issues[2 * held >= held.max()]
    return int(rich[np.argmin(np.abs(rich - near))])
