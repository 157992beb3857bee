"""What a cause costs that is not one of the resources of `ablate`: the replay without it.

Each cause changes one thing of the model: the trace, the code, a cache or the resident blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from warplens.execute.trace import lines_of, picked
from warplens.gpus.spec import override
from warplens.timing import l2_answer
from warplens.timing.lsu import ATOMIC, GLOBAL, READ
from warplens.timing.model import Model
from warplens.timing.rewrite import without
from warplens.timing.state import PIPES, Records

_L1_BYTES = 32 << 20  # more than the blocks of an SM touch
_LINE, _SECTOR_WORDS = 128, 8
_FP64 = PIPES.index("fp64")
_FMA = PIPES.index("fma")


def saving_without(model: Model, cause: str) -> float:
    """The share of the time that goes with a cause of `CAUSES`."""
    return saved(model, CAUSES[cause](model))


def saved(model: Model, changed: Model) -> float:
    """The share of the time by which a changed launch is shorter."""
    return 1.0 - changed.estimate.elapsed_cycles / model.estimate.elapsed_cycles


def _single_precision(model: Model) -> Model:
    """Double-precision instructions run on the pipe of single precision, without conversions."""
    code = model.code.copy()
    slow = code["pipe"] == _FP64
    gpu = model.question.gpu
    code["interval"][slow] = max(1, round(32 / float(gpu.value("pipes.fma", 32))))
    code["latency"][slow] = int(gpu.value("latency.fma", 4))
    code["pipe"][slow] = _FMA
    conversions = [
        index for index, one in enumerate(model.question.kernel.instructions)
        if one.opcode == "F2F" and "F64" in one.modifiers
    ]  # fmt: skip
    return _rewritten(model, code, conversions)


def without_instructions(model: Model, dropped: Sequence[int]) -> Model:
    """The launch of a program that does not have some instructions."""
    return _rewritten(model, model.code, dropped)


def _rewritten(model: Model, code: Records, dropped: Sequence[int]) -> Model:
    trace, left = without(model.sample.trace, code, dropped)
    part = trace.instructions() / max(1, model.sample.trace.instructions())
    question = replace(model.question, instructions=model.question.instructions * part)
    changed = Model(question, model.rewritten(lambda one: without(one, code, dropped)[0]))
    changed.code = left
    for new, old in zip((changed, *changed.others), (model, *model.others), strict=True):
        new.answer = old.answer
    return changed


def _endless_l1(model: Model) -> Model:
    """L1 keeps every line that it has fetched."""
    gpu = override(model.question.gpu, {"l1.size_bytes": _L1_BYTES}, source="an endless L1")
    return Model(replace(model.question, gpu=gpu), model.sample)


def _endless_l2(model: Model) -> Model:
    """L2 keeps every line that it has fetched; what is written goes to DRAM as before."""
    changed = model.variant()
    changed.answer = endless_answer(model)
    changed.machine = model.machine
    return changed


def endless_answer(model: Model) -> l2_answer.L2Answer:
    """What an L2 without end would hold when the sampled blocks ask."""
    return model.answer_of(8.0 * max(1 << 20, model.answer.footprint))


CAUSES: dict[str, Callable[[Model], Model]] = {
    "fp64": _single_precision,
    "l1_capacity": _endless_l1,
    "l2_capacity": _endless_l2,
}


def with_blocks(model: Model, blocks: int) -> Model:
    """The launch with another number of resident blocks."""
    return model.variant(resident=max(1, blocks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """How loads use L1: the share of sectors found there, now and if nothing were displaced."""

    hit_rate: float
    endless_hit_rate: float
    footprint_bytes: int  # of one wave of resident blocks
    size_bytes: int


def l1_reuse(model: Model) -> Reuse | None:
    """The reuse of global and local loads; None where there are none."""
    trace, sm = model.sample.trace, model.result.sm
    accesses = trace.accesses
    loads = picked(accesses, (accesses["kind"] == READ) & (accesses["space"] == GLOBAL))
    looked = float(sm["l1_looked"][0])
    rows = trace.lines[lines_of(loads)]
    if not len(rows) or not looked:
        return None
    lines, position = np.unique(rows >> 4, return_inverse=True)
    held = np.zeros(len(lines), np.int64)
    np.bitwise_or.at(held, position, rows & 15)
    new = float(sum(int(((held >> bit) & 1).sum()) for bit in range(4)))
    total = float(sum(int(((rows >> bit) & 1).sum()) for bit in range(4)))
    waves = max(1.0, len(trace.blocks) / max(1, model.question.resident))
    return Reuse(
        hit_rate=float(sm["l1_found"][0]) / looked,
        endless_hit_rate=1.0 - new / total,
        footprint_bytes=int(len(lines) * _LINE / waves),
        size_bytes=model.machine.l1_lines * _LINE,
    )


def updates_per_word(model: Model) -> float:
    """How often the sampled blocks' atomics update a word of global memory, at least."""
    trace = model.sample.trace
    atomics = picked(trace.context, trace.context["kind"] == ATOMIC)
    if not atomics["n_lines"].any():
        return 0.0
    found = np.unique(trace.lines[lines_of(atomics)])
    sectors = sum(len(np.unique(found[found >> bit & 1 == 1] >> 4)) for bit in range(4))
    lanes = float(atomics["lanes"].sum())
    return lanes / (_SECTOR_WORDS * sectors)


def l2_refetched(model: Model) -> float:
    """Bytes that the sample's blocks bring into L2, over those of an L2 that forgets nothing."""
    once = endless_answer(model).footprint
    return model.answer.footprint / once if once else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CarveOut:
    """A setting of the shared-memory carve-out, with the blocks it holds and what it saves."""

    bytes: int
    blocks: int
    saving: float


def best_carveout(model: Model, sizes: tuple[int, ...], block_bytes: int) -> CarveOut | None:
    """The smaller carve-out (bytes, ascending) that saves most time; None if none saves any."""
    q = model.question
    best: CarveOut | None = None
    for size in sizes:
        blocks = min(q.resident, size // max(1, block_bytes))
        if size >= q.carveout_bytes or blocks < 1:
            continue
        changed = Model(replace(q, carveout_bytes=size, resident=blocks), model.sample)
        found = CarveOut(bytes=size, blocks=blocks, saving=saved(model, changed))
        if found.saving > (best.saving if best else 0.0):
            best = found
    return best
