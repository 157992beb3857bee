"""What to change: the next step up in occupancy, and how far the next drop is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.gpus.spec import GpuSpec
from warplens.occupancy_calculator.occupancy import NO_LIMIT, Occupancy, _resolve, occupancy
from warplens.wording import count


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change of one resource and the occupancy it leads to.

    Attributes:
        resource: "registers", "shared", "threads", "barriers" or "carveout".
        change: the difference (negative: fewer), in registers, bytes, threads, barriers, percent.
        value: what the resource becomes.
        before, after: occupancy as fractions.
        text: the same as a sentence.
    """

    resource: str
    change: int
    value: int
    before: float
    after: float
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Changes that raise occupancy, and the smallest ones that would lower it."""

    point: Occupancy
    up: tuple[Step, ...]
    down: tuple[Step, ...]

    def __str__(self) -> str:
        return "\n".join(explain_lines(self))


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.4g} %"


_NOUNS = {
    "registers": ("register", ""),
    "dynamic_shared": ("byte of shared memory", "bytes of shared memory"),
    "static_shared": ("byte of shared memory", "bytes of shared memory"),
    "threads": ("thread per block", "threads per block"),
    "barriers": ("barrier", ""),
}


def _sentence(resource: str, change: int, value: int, before: float, after: float) -> str:
    word = "fewer" if change < 0 else "more"
    noun, plural = (f"{word} {name}" if name else "" for name in _NOUNS[resource])
    amount = count(abs(change), noun, plural)
    return f"{amount} ({value:,}): {_percent(before)} -> {_percent(after)}"


def _first(
    gpu: str | GpuSpec,
    point: Mapping[str, Any],
    resource: str,
    candidates: npt.NDArray[np.int64],
    higher: bool,
) -> Step | None:
    """The nearest candidate (they come nearest first) whose occupancy is higher or lower."""
    if candidates.size == 0:
        return None
    before = occupancy(gpu, **point).occupancy
    answers = occupancy(gpu, **{**point, resource: candidates}).occupancy
    better = np.flatnonzero(answers > before if higher else answers < before)
    if better.size == 0:
        return None
    value, after = int(candidates[better[0]]), float(answers[better[0]])
    if higher and resource == "threads":
        # A block size is free to choose: the best one is worth naming, not only the nearest.
        best = int(np.argmax(answers))
        value, after = int(candidates[best]), float(answers[best])
    change = value - point[resource]
    name = "shared" if resource.endswith("shared") else resource
    return Step(
        resource=name,
        change=change,
        value=value,
        before=before,
        after=after,
        text=_sentence(resource, change, value, before, after),
    )


def advise(
    gpu: str | GpuSpec,
    *,
    threads: int,
    registers: int,
    static_shared: int = 0,
    dynamic_shared: int = 0,
    carveout: int | None = None,
    barriers: int = 1,
    cluster: int | None = None,
) -> Advice:
    """The smallest change of each single resource that raises occupancy, or lowers it.

    >>> advise("A100", threads=512, registers=33).up[0].text
    '1 fewer register (32): 75 % -> 100 %'
    """
    point: dict[str, Any] = {
        "threads": threads,
        "registers": registers,
        "static_shared": static_shared,
        "dynamic_shared": dynamic_shared,
        "carveout": carveout,
        "barriers": barriers,
    }
    found = occupancy(gpu, **point, cluster=cluster)
    shared, room, largest, blocks = _candidates(gpu, point)
    used = point[shared]
    up = (
        _first(gpu, point, "registers", np.arange(registers - 1, 0, -1), True),
        _first(gpu, point, shared, np.arange(used - 1, -1, -1), True),
        _first(gpu, point, "threads", blocks, True),
        _first(gpu, point, "barriers", np.arange(barriers - 1, -1, -1), True),
        _more_carveout(gpu, point),
    )
    down = (
        _first(gpu, point, "registers", np.arange(registers + 1, largest + 1), False),
        _first(gpu, point, shared, used + np.arange(1, room + 1), False),
    )
    return Advice(
        point=found,
        up=tuple(step for step in up if step is not None),
        down=tuple(step for step in down if step is not None),
    )


def _candidates(
    gpu: str | GpuSpec, point: Mapping[str, Any]
) -> tuple[str, int, int, npt.NDArray[np.int64]]:
    """The kind of shared memory to change, the room it has, most registers, other block sizes."""
    rules, _, _ = _resolve(gpu)
    static, dynamic, threads = point["static_shared"], point["dynamic_shared"], point["threads"]
    shared = "dynamic_shared" if dynamic >= static else "static_shared"
    room = rules.shared_per_block_optin - static - dynamic
    if shared == "static_shared":
        room = min(room, rules.shared_per_block - static)
    sizes = np.arange(rules.warp_size, rules.max_threads_per_block + 1, rules.warp_size)
    nearest = sizes[np.argsort(np.abs(sizes - threads), kind="stable")]
    return shared, room, min(255, rules.registers_per_thread), nearest[nearest != threads]


def _more_carveout(gpu: str | GpuSpec, point: Mapping[str, Any]) -> Step | None:
    percent = point["carveout"]
    if percent is None:
        return None
    before = occupancy(gpu, **point).occupancy
    for value in range(percent + 1, 101):
        after = occupancy(gpu, **{**point, "carveout": value}).occupancy
        if after > before:
            change = f"{_percent(before)} -> {_percent(after)}"
            return Step(
                resource="carveout",
                change=value - percent,
                value=value,
                before=before,
                after=after,
                text=f"shared memory carve-out {value} % instead of {percent} %: {change}",
            )
    return None


def explain_lines(advice: Advice) -> list[str]:
    """The answer for one configuration as lines of text."""
    point = advice.point
    limits = {
        "registers": (point.limit_registers, f"{point.allocated_registers:,} registers per block"),
        "shared": (point.limit_shared, f"{point.allocated_shared:,} bytes per block"),
        "warps": (point.limit_warps, f"{count(point.warps_per_block, 'warp')} per block"),
        "blocks": (point.limit_blocks, "block slots"),
        "barriers": (point.limit_barriers, "block barriers"),
        "virtual": (point.limit_virtual, "virtual resources"),
    }
    lines = [
        f"{point.gpu}: {count(point.blocks, 'block')}, {point.warps} of {point.max_warps} warps "
        f"per SM, occupancy {_percent(point.occupancy)}",
    ]
    for name, (limit, what) in limits.items():
        if limit != NO_LIMIT:
            mark = "  <- limits" if name in point.limiters else ""
            blocks = f"{limit:>4} {'block ' if limit == 1 else 'blocks'}"
            lines.append(f"  {name:<9} {blocks}  ({what}){mark}")
    if point.cluster is not None:
        found = point.cluster
        lines.append(
            f"  clusters of {found.size}: {found.clusters} active on the GPU, "
            f"{_percent(found.occupancy)} of the blocks that fit without clusters (model)"
        )
    lines += [f"  up:   {step.text}" for step in advice.up]
    lines += [f"  down: {step.text}" for step in advice.down]
    return lines


def explain(gpu: str | GpuSpec, **point: Any) -> str:
    """Limits, limiters, the next steps up and the next drops, as text.

    >>> print(explain("A100", threads=512, registers=33).splitlines()[0])
    A100 80GB SXM: 3 blocks, 48 of 64 warps per SM, occupancy 75 %
    """
    return str(advise(gpu, **point))


__all__ = ["Advice", "Step", "advise", "explain", "explain_lines"]
