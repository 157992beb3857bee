"""Runs recorded forms of instructions on this engine, in the kernels that recorded them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import warplens as wl
from warplens.api import LaunchOptions
from warplens.errors import Unsupported
from warplens.lift.coverage import gaps_of
from warplens.lift.decode.gaps import bind_kernel
from warplens.sass import parser
from warplens.toolchain import nvdisasm
from warplens.toolchain.nvdisasm import ListedInstruction

RECORDER = Path(__file__).parents[2] / "validation" / "recorder"
sys.path.insert(0, str(RECORDER))

import assembler  # noqa: E402
import slots  # noqa: E402
from build import Nvrtc  # noqa: E402

Item = tuple[int, slots.Form]  # the number that says where its inputs begin, and the form
Edit = Callable[[ListedInstruction], ListedInstruction]  # another text of an instruction


@cache
def carrier() -> bytes:
    """The kernel whose code is replaced."""
    source = (RECORDER / "kernels" / "carrier.cu").read_text()
    return Nvrtc().compile(source, "carrier.cu", ("-arch=sm_90", "-std=c++17"))


def loaded(items: Sequence[Item], edits: Mapping[int, Edit] | None = None) -> Any:
    """The module of a kernel that runs these forms one after another.

    `edits` change what the disassembler says of some of them, by position.
    """
    forms = [form for _, form in items]
    code = slots.code_of(forms, [slots.first_row(n) for n, _ in items], is_light=True)
    cubin = assembler.carried(carrier(), code, slots.REGISTER_COUNT)
    options = LaunchOptions(timing=False, workers=1)
    module = wl.Device("H200", options=options).load(cubin)
    if edits:
        with mock.patch.object(parser, "disassemble", _edited(forms, edits)):
            module.sass(assembler.CARRIER)  # read now, and kept
    return module


def _edited(forms: Sequence[slots.Form], edits: Mapping[int, Edit]) -> Any:
    starts = slots.places(forms, is_light=True)

    def disassemble(*args: Any, **options: Any) -> dict[str, tuple[ListedInstruction, ...]]:
        listing = nvdisasm.disassemble(*args, **options)
        own = list(listing[assembler.CARRIER])
        for at, place in starts.items():
            if place in edits:
                own[at] = edits[place](own[at])
        return listing | {assembler.CARRIER: tuple(own)}

    return disassemble


def results(items: Sequence[Item], inputs: slots.Words, threads: int,
            edits: Mapping[int, Edit] | None = None) -> list[slots.Words]:  # fmt: skip
    """What each form leaves in its rows, [row, thread, 4]; threads beyond are left 0."""
    kernel = loaded(items, edits)[assembler.CARRIER]
    rows = slots.FIRST_ROW + sum(form.rows for _, form in items)
    out = np.zeros((rows, slots.THREADS, 4), np.uint32)
    notes = np.zeros(slots.THREADS, np.uint32)
    kernel[1, threads](inputs, out, notes, slots.constants().tobytes())
    return slots.split(out, [form for _, form in items])


def refused(items: Sequence[Item], is_thorough: bool = False,
            edits: Mapping[int, Edit] | None = None) -> dict[int, str]:  # fmt: skip
    """Which of these forms are refused, by position, and why; `is_thorough` lifts them, too."""
    kernel = loaded(items, edits).sass(assembler.CARRIER)
    starts = slots.places([form for _, form in items], is_light=True)
    if is_thorough:
        gaps = {gap.offset: gap.reason for gap in gaps_of(kernel)}
    else:
        gaps = {inst.address: reason for inst, reason in bind_kernel(kernel)[1]}
    return {starts[at // 16]: why for at, why in gaps.items() if at // 16 in starts}


def accepted(items: Sequence[Item], inputs: slots.Words, threads: int,
             edits: Mapping[int, Edit] | None = None) -> dict[int, slots.Words]:  # fmt: skip
    """The results of those forms that are executed, by position; see `results`."""
    left = dict(enumerate(items))
    for is_thorough in (False, True):
        own = list(left)
        for place in refused(list(left.values()), is_thorough, _of(own, edits)):
            del left[own[place]]
        if not left:
            return {}
        try:
            found = results(list(left.values()), inputs, threads, _of(list(left), edits))
        except Unsupported:
            continue
        return dict(zip(left, found, strict=True))
    raise AssertionError("refused for no reason that is found beforehand")


def _of(places: Sequence[int], edits: Mapping[int, Edit] | None) -> dict[int, Edit]:
    """The edits of these items, by their position among them."""
    return {i: edits[place] for i, place in enumerate(places) if edits and place in edits}
