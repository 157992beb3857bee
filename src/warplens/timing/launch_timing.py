"""The timing of one launch: what the launch keeps, and what is asked of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warplens.result import ScheduleWindow
from warplens.timing.ablate import AblationTable, ablate, saving, tail_saving
from warplens.timing.answers import Answers
from warplens.timing.causes import CAUSES, saving_without
from warplens.timing.clock import why_lowered
from warplens.timing.ground import Sample
from warplens.timing.model import Model
from warplens.timing.pm_sampling import PmSampling, Sampled
from warplens.timing.question import Question
from warplens.timing.ranges import Range
from warplens.timing.stall import REASONS
from warplens.timing.view import Schedule, schedule, window
from warplens.timing.warmth import Moved, rounded, spans, translated
from warplens.wording import count, number

_STATES = 4  # states of L2 for which a launch's model is kept


class LaunchTiming:
    """A launch's sample with the question that the model answers when a value is asked."""

    def __init__(self, question: Question, sample: Sample, unlimited_blocks: int,
                 sampling: PmSampling | None = None,
                 model: Model | None = None) -> None:  # fmt: skip
        self.question = question
        self.sampling = sampling
        self.sample = sample
        self._unlimited_blocks = unlimited_blocks
        self.model = model or Model(question, sample)  # it replays when first asked
        self._arrays: tuple[tuple[int, int], ...] = ()
        self._traced: tuple[tuple[int, int], ...] = ()

    def lie_at(self, arrays: tuple[tuple[int, int], ...]) -> None:
        """Says where the launch has its arrays (base, size): those of the trace, if none are known,
        else the same ones elsewhere."""
        self._arrays, self._traced = arrays, self._traced or arrays

    @property
    def _moved(self) -> tuple[Moved, ...]:
        pairs = zip(self._arrays, self._traced, strict=False)
        return tuple(Moved(base, size, traced) for (base, size), (traced, _) in pairs)

    def used(self) -> tuple[Range, ...]:
        """What the launch uses of its arrays."""
        known = self.model.kept
        if "used" not in known:
            known["used"] = spans(self.model.touched, self._traced)
        return translated(known["used"], self._moved, back=True)

    def after(self, held: tuple[Range, ...]) -> LaunchTiming:
        """The same launch where L2 holds something of its arrays."""
        ranges = rounded(translated(held, self._moved))
        if not ranges:
            return self
        known = self.model.kept
        if ranges not in known:
            states = [key for key in known if isinstance(key, tuple)]
            for oldest in states[: len(states) + 1 - _STATES]:
                del known[oldest]
            known[ranges] = Model(replace(self.question, held=ranges), self.sample)
        return LaunchTiming(
            known[ranges].question, self.sample, self._unlimited_blocks, self.sampling,
            known[ranges],
        )  # fmt: skip

    def again(self, sampling: PmSampling | None) -> LaunchTiming:
        """The same for another launch that does the same, with one model."""
        other = LaunchTiming(
            self.question, self.sample, self._unlimited_blocks, sampling, self.model
        )
        other._traced = self._traced
        if "answers" in vars(self):
            other.answers = self.answers.again(sampling)
        return other

    @cached_property
    def answers(self) -> Answers:
        """Values under ncu's names."""
        return Answers(self.model, self.sampling)

    def value(self, name: str) -> float | None:
        """The value of a metric that needs time; None where the model has none."""
        return self.answers.value(name)

    def samples(self, name: str) -> tuple[tuple[str, float], ...]:
        """(ns since the launch, value) of a `pmsampling:` metric at every sample."""
        return self.answers.sampled.samples(name)

    def resample(self, sampling: PmSampling) -> None:
        """Samples counters over time in another way from now on."""
        self.answers.sampled = Sampled(self.model, sampling)

    def schedule(self, *, sm: int = 0, cycles: int = 200, first: int = 0) -> Schedule:
        """The first cycles of an SM, warp by warp."""
        return schedule(self.model, sm=sm, first=first, cycles=cycles)

    def window(self, first: int | None = None, cycles: int = 128) -> ScheduleWindow:
        """Some cycles of an SM as plain data for reports."""
        return window(self.model, first=first, cycles=cycles)

    def ablate(self, *, pairs: bool = True) -> AblationTable:
        """What each resource costs: the replayed duration with it made ideal."""
        return ablate(self.model, self._unlimited_blocks, pairs=pairs)

    def saving(self, name: str) -> float:
        """The share of the time that one ideal resource, or another cause, costs; one replay."""
        if name == "tail":
            return tail_saving(self.model)
        if name in CAUSES:
            return saving_without(self.model, name)
        return saving(self.model, self._unlimited_blocks, name)

    def stalls_by_instruction(self) -> dict[str, npt.NDArray[np.float64]]:
        """Warp cycles of the whole launch in each state, by instruction."""
        size = len(self.question.kernel.instructions)
        counts = self.model.result.counts.stalls[:size].astype(np.float64)
        launch = np.array([self.answers.stalls[name] for name in REASONS])
        table = counts * (launch / np.maximum(1.0, counts.sum(axis=0)))
        return {name: table[:, index] for index, name in enumerate(REASONS)}

    def note(self) -> str:
        """How the time was found, for reports."""
        trace, q = self.sample.trace, self.question
        blocks = f"{len(trace.blocks):,} of {count(q.blocks, 'block')} replayed on one SM"
        why = why_lowered(q.gpu, q.kernel, q.clock_mhz)
        note = f"Times are modelled at an SM clock of {number(q.clock_mhz)} MHz{why}: {blocks}."
        if q.held:
            held = sum(one.share * one.nbytes for one in q.held)
            note += f" L2 holds {count(round(held), 'byte')} of its arrays from earlier work."
        works = self.sample.works
        if works is not None and works.differ:
            least, most = float(works.whole.min()), float(works.whole.max())
            note += f" Blocks execute {least:,.0f} to {most:,.0f} warp instructions"
            ran = f"{len(works.places):,} of {count(works.total, 'block')}"
            note += f" ({ran} executed), and are placed on all SMs."
            if not works.is_known:
                note += (
                    f" Their mean is only known to {100 * works.error:.0f} %, so the modelled time"
                    " is a rough estimate."
                )
        if self.sample.execution.spinning:
            note += " Blocks wait for each other, so the modelled time is a rough estimate."
        return note
