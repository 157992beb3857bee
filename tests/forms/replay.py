"""Runs recorded forms of instructions on this engine, in the kernels that recorded them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl
from warplens.api import LaunchOptions
from warplens.errors import Unsupported
from warplens.lift.coverage import gaps_of
from warplens.lift.decode.gaps import bind_kernel

RECORDER = Path(__file__).parents[2] / "validation" / "recorder"
sys.path.insert(0, str(RECORDER))

import assembler  # noqa: E402
import slots  # noqa: E402
from build import Nvrtc  # noqa: E402

Item = tuple[int, slots.Form]  # the number that says where its inputs begin, and the form


@cache
def carrier() -> bytes:
    """The kernel whose code is replaced."""
    source = (RECORDER / "kernels" / "carrier.cu").read_text()
    return Nvrtc().compile(source, "carrier.cu", ("-arch=sm_90", "-std=c++17"))


def loaded(items: Sequence[Item]) -> Any:
    """The module of a kernel that runs these forms one after another."""
    code = slots.code_of([form for _, form in items],
                         [slots.first_row(n) for n, _ in items], is_light=True)  # fmt: skip
    cubin = assembler.carried(carrier(), code, slots.REGISTER_COUNT)
    options = LaunchOptions(timing=False, workers=1)
    return wl.Device("H200", options=options).load(cubin)


def results(items: Sequence[Item], inputs: slots.Words, threads: int) -> list[slots.Words]:
    """What each form leaves in its rows, [row, thread, 4]; threads beyond are left 0."""
    kernel = loaded(items)[assembler.CARRIER]
    rows = slots.FIRST_ROW + sum(form.rows for _, form in items)
    out = np.zeros((rows, slots.THREADS, 4), np.uint32)
    notes = np.zeros(slots.THREADS, np.uint32)
    kernel[1, threads](inputs, out, notes, slots.constants().tobytes())
    return slots.split(out, [form for _, form in items])


def refused(items: Sequence[Item], is_thorough: bool = False) -> dict[int, str]:
    """Which of these forms are refused, by position, and why; `is_thorough` lifts them, too."""
    kernel = loaded(items).sass(assembler.CARRIER)
    starts = slots.places([form for _, form in items], is_light=True)
    if is_thorough:
        gaps = {gap.offset: gap.reason for gap in gaps_of(kernel)}
    else:
        gaps = {inst.address: reason for inst, reason in bind_kernel(kernel)[1]}
    return {starts[at // 16]: why for at, why in gaps.items() if at // 16 in starts}


def accepted(items: Sequence[Item], inputs: slots.Words, threads: int) -> dict[int, slots.Words]:
    """The results of those forms that are executed, by position; see `results`."""
    left = dict(enumerate(items))
    for is_thorough in (False, True):
        own = list(left)
        for place in refused([left[i] for i in own], is_thorough):
            del left[own[place]]
        if not left:
            return {}
        try:
            found = results(list(left.values()), inputs, threads)
        except Unsupported:
            continue
        return dict(zip(left, found, strict=True))
    raise AssertionError("refused for no reason that is found beforehand")
