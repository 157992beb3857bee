"""What the work of a program leaves in a GPU's L2 for the work that comes after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from warplens.gpus.spec import GpuSpec
from warplens.timing.ranges import Range

_MOST = 64  # pieces of work that are looked back at


class Residue:
    """The ranges that were used last, the latest first, and by what.

    Of a range as many other bytes were used since, or with it, L2 keeps all up to a part of its
    size, and nothing beyond another part. What the host copies in takes no other one's place: it
    stays where nothing was yet, of pinned memory not more than a small part of L2. All of it
    measured on an H200 (validation/data/warmth_sm90.json).
    """

    def __init__(self, spec: GpuSpec) -> None:
        self._size = size = float(spec.l2_size_bytes)
        self._sure = size * float(spec.value("host.l2_kept_fraction"))
        self._gone = size * float(spec.value("host.l2_lost_fraction"))
        self._pinned = size * float(spec.value("host.l2_pinned_fraction"))
        self._used: list[tuple[tuple[Range, ...], object]] = []
        self._is_full = False

    def held(self, by: object = None) -> tuple[Range, ...]:
        """What L2 holds, and of each range which share; `by`: what used it before finds it near."""
        found: list[Range] = []
        before = 0.0
        for group, last in self._used:
            before += sum(one.nbytes for one in group)
            share = (self._gone - before) / (self._gone - self._sure)
            if share <= 0.0:
                break
            near = last is by and last is not None
            found += [replace(r, share=min(1.0, share) * r.share, near=near) for r in group]
        return tuple(found)

    def used(self, ranges: Iterable[Range], by: object = None) -> None:
        """A kernel, a fill or a copy inside of the GPU has read or written these."""
        group = tuple(replace(one, share=1.0) for one in ranges)
        if not group:
            return
        self._take_away(group)
        self._used.insert(0, (group, by))
        del self._used[_MOST:]
        self._is_full = self._is_full or self._bytes() >= self._size

    def copied_in(self, one: Range, *, is_pinned: bool) -> None:
        """The host's copy engine has written a range."""
        room = 0.0 if self._is_full else self._size - self._bytes()
        if is_pinned:
            room = min(room, self._pinned)
        self._take_away((one,))
        share = min(1.0, room / one.nbytes) if is_pinned or one.nbytes <= room else 0.0
        if share > 0.0:
            self._used.append(((replace(one, share=share),), None))

    def _bytes(self) -> float:
        return sum(one.share * one.nbytes for group, _ in self._used for one in group)

    def _take_away(self, ranges: tuple[Range, ...]) -> None:
        for one in ranges:
            self._used = [
                (left, by) for group, by in self._used if (left := _without(group, one))
            ]


def _without(group: tuple[Range, ...], gone: Range) -> tuple[Range, ...]:
    """What is left of ranges without another one."""
    found = []
    for one in group:
        if one.start < min(one.end, gone.start):
            found.append(replace(one, end=min(one.end, gone.start)))
        if max(one.start, gone.end) < one.end:
            found.append(replace(one, start=max(one.start, gone.end)))
    return tuple(found)
