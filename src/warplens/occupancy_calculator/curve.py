"""Occupancy along one resource: the curve with its cliffs, as ranges of equal occupancy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.errors import InputError
from warplens.gpus.spec import GpuSpec
from warplens.occupancy_calculator.occupancy import Occupancy, _resolve, occupancy

AXES = {
    "block": ("threads", "threads per block"),
    "registers": ("registers", "registers per thread"),
    "shared": ("dynamic_shared", "dynamic shared memory per block in bytes"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Values from `first` to `last` that all give the same occupancy; limiters are `first`'s."""

    first: int
    last: int
    blocks: int
    warps: int
    occupancy: float
    limiters: tuple[str, ...]
    is_present: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Occupancy for every value of one resource, all else equal.

    Attributes:
        axis: "block", "registers" or "shared"; `label` says the same with its unit.
        values, occupancy: one entry per value.
        present: the value of the configuration that was asked about.
        present_occupancy: the occupancy there.
        ranges: the same curve as steps.
    """

    gpu: str
    axis: str
    label: str
    values: npt.NDArray[np.int64]
    occupancy: npt.NDArray[np.float64]
    present: int
    present_occupancy: float
    ranges: tuple[Range, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values: the present point and the ranges."""
        rows = [
            {name: getattr(entry, name) for name in Range.__slots__} for entry in self.ranges
        ]
        return {
            "gpu": self.gpu,
            "axis": self.axis,
            "label": self.label,
            "present": self.present,
            "present_occupancy": self.present_occupancy,
            "ranges": rows,
        }


def curve(gpu: str | GpuSpec, axis: str, **point: Any) -> Curve:
    """The occupancy over all values of `axis`, with the other inputs of `occupancy` fixed.

    >>> found = curve("A100", "registers", threads=512, registers=33)
    >>> [(r.first, r.last, r.occupancy) for r in found.ranges[:2]]
    [(1, 32, 1.0), (33, 40, 0.75)]
    """
    if axis not in AXES:
        raise InputError(f"sweep {axis!r} is not one of {', '.join(AXES)}")
    name, label = AXES[axis]
    rules, _, gpu_name = _resolve(gpu)
    point.pop("cluster", None)  # packing clusters into the GPU does not change what an SM holds
    present = int(point.get(name, 0))
    if axis == "block":
        warp = rules.warp_size
        values = np.arange(warp, rules.max_threads_per_block + 1, warp)
        values = np.union1d(values, [present])
    elif axis == "registers":
        values = np.arange(1, min(255, rules.registers_per_thread) + 1)
    else:
        top = rules.shared_per_block_optin - int(point.get("static_shared", 0))
        # Allocation goes in units: the last size of one and the first of the next are the steps.
        steps = np.arange(-int(point.get("static_shared", 0)), top + 1, rules.shared_unit)
        values = np.unique(np.concatenate([steps, steps + 1, [0, present, top]]))
        values = values[(values >= 0) & (values <= top)]
    answer = occupancy(gpu, **{**point, name: values})
    here = occupancy(gpu, **point)
    return Curve(
        gpu=gpu_name,
        axis=axis,
        label=label,
        values=values.astype(np.int64),
        occupancy=answer.occupancy,
        present=present,
        present_occupancy=here.occupancy,
        ranges=_ranges(values, answer, present),
    )


def _ranges(
    values: npt.NDArray[np.int64], answer: Occupancy, present: int
) -> tuple[Range, ...]:
    """Runs of values with equal warps per SM."""
    changes = (np.flatnonzero(np.diff(answer.warps)) + 1).tolist()
    return tuple(
        Range(
            first=int(values[start]),
            last=int(values[end - 1]),
            blocks=int(answer.blocks[start]),
            warps=int(answer.warps[start]),
            occupancy=float(answer.occupancy[start]),
            limiters=answer.limiters[start],
            is_present=bool(values[start] <= present <= values[end - 1]),
        )
        for start, end in zip([0, *changes], [*changes, len(values)], strict=True)
    )
