"""Calibrates a card: measures it, predicts kernels before and after, writes its TOML file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from math import prod
from statistics import mean, median
from typing import Any

import numpy as np

from warplens.calibrate.card import Card
from warplens.calibrate.measure import Measured, measure
from warplens.errors import UnknownGpu
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec, Sourced, renamed
from warplens.session.device import Device
from warplens.toolchain.nvrtc import compile_source

_N, _SIDE, _BODIES = 1 << 25, 4096, 1 << 14
_TURNS = 5
_FLUSHED = 1 << 28


@dataclass(frozen=True, slots=True)
class Held:
    """A kernel that nothing is fitted to: measured and predicted times in nanoseconds."""

    name: str
    measured: float
    before: float
    after: float

    def error(self, predicted: float) -> float:
        """How far a prediction is off, as a part of what was measured."""
        return abs(predicted / self.measured - 1.0)


@dataclass(frozen=True, slots=True)
class Calibration:
    """A calibrated card.

    Attributes:
        extends: the GPU or architecture that its file names.
        base: what was assumed of it before; gpu: with the measured constants.
        measured: those constants by key of a GPU's file, each with how it was found.
        held: kernels that no constant was fitted to.
    """

    extends: str
    base: GpuSpec
    gpu: GpuSpec
    measured: Measured
    held: tuple[Held, ...]

    @property
    def before(self) -> float:
        """Mean error of the held kernels' times without the calibration, as a part."""
        return mean(one.error(one.before) for one in self.held)

    @property
    def after(self) -> float:
        """Mean error with it."""
        return mean(one.error(one.after) for one in self.held)

    def toml(self) -> str:
        """The file that `Device("card.toml")` takes."""
        tables: dict[str, list[str]] = {}
        for key, (value, how) in self.measured.items():
            table, _, name = key.rpartition(".")
            line = f'{name} = {{ value = {value:g}, source = "measured on this card: {how}" }}'
            tables.setdefault(table, []).append(line)
        text = "".join(f"\n[{name}]\n" + "\n".join(rows) + "\n" for name, rows in tables.items())
        return f'name = "{self.gpu.name}"\nextends = "{self.extends}"\n{text}'


def assumed(card: Card) -> tuple[str, Measured]:
    """The GPU of the card's name, or else its architecture with what the driver tells."""
    for name in (card.name, card.name.removeprefix("NVIDIA "), card.name.rpartition(" ")[0]):
        try:
            return find_gpu(name).name, {}
        except UnknownGpu:
            continue
    major, minor = card.capability
    return f"sm_{major}{minor}", {key: (value, "the driver") for key, value in
                                  card.attributes.items()}  # fmt: skip


def calibrate(card: Card, report: Callable[[str], None] = lambda _: None) -> Calibration:
    """Measures a card in less than two minutes.

    Args:
        card: the GPU, see `RealCard`.
        report: told what is being done.
    """
    extends, told = assumed(card)
    base = _with(find_gpu(extends), card.name, told) if told else find_gpu(extends)
    report(f"{card.name}: measuring")
    for file in ("kernels.cu", "held.cu"):
        card.load(compile_source(_text(file), name=file, sm=base.sm).cubin)
    measured = told | measure(card, base)
    mhz = measured["clock.boost_mhz"][0]
    measured["latency.measured_clock_mhz"] = mhz, "the clock of these measurements"
    gpu = _with(base, f"{card.name} (calibrated)", measured)
    report("kernels that nothing is fitted to")
    nothing = median(card.launch("nothing", (1,), (32,)) for _ in range(8 * _TURNS))
    held = tuple(_held(card, Device(base, clock=mhz), Device(gpu, clock=mhz), nothing, report))
    return Calibration(extends, base, gpu, measured, held)


def _with(gpu: GpuSpec, name: str, measured: Measured) -> GpuSpec:
    changes = {key: Sourced(value, how) for key, (value, how) in measured.items()}
    return renamed(gpu, name, changes)


def _text(file: str) -> str:
    return (resources.files("warplens.calibrate") / file).read_text(encoding="utf-8")


def _launches() -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...], tuple[Any, ...]]]:
    """Name, grid, block and arguments: a count stands for an array of so many words."""
    n, side = np.uint32(_N), np.uint32(_SIDE)
    square, tiles = _SIDE * _SIDE, (_SIDE // 32, _SIDE // 32)
    yield "saxpy", (_N // 256,), (256,), (_N, _N, np.float32(2), n)
    yield "strided", (_N // 256,), (256,), (_N, _N, n)
    yield "transpose", tiles, (32, 8), (square, square, side)
    yield "transpose_tiled", tiles, (32, 8), (square, square, side)
    yield "reduce", (2048,), (256,), (2048, _N, n)
    yield "stencil", (_SIDE // 32, _SIDE // 8), (32, 8), (square, square, side)
    small = np.uint32(1024)
    yield "multiply", (32, 32), (32, 32), (1 << 20, 1 << 20, 1 << 20, small)
    yield "attract", (_BODIES // 128,), (128,), (_BODIES, 4 * _BODIES, np.uint32(_BODIES))
    yield "gather", (_N // 512,), (256,), (_N // 2, _N, np.uint32(_N // 2))
    yield "histogram", (1024,), (256,), (256, _N, n)


def _held(card: Card, before: Device, after: Device, nothing: float,
          report: Callable[[str], None]) -> Iterator[Held]:  # fmt: skip
    text = _text("held.cu")
    modules = [device.compile(text) for device in (before, after)]
    spare, overhead = card.alloc(_FLUSHED), before.gpu.value("launch.overhead_ns", 1850.0)
    own = float(str(overhead))
    for name, grid, block, arguments in _launches():
        places = [card.alloc(4 * a) if isinstance(a, int) else a for a in arguments]
        times = []
        for _ in range(_TURNS + 1):  # the first time the kernel is brought to the card
            card.launch("stream_read", (1024,), (256,), spare, spare, _FLUSHED // 16)
            times.append(card.launch(name, grid, block, *places))
        predicted = []
        for module in modules:
            words = [np.zeros(a, np.uint32) if isinstance(a, int) else a for a in arguments]
            launch = module[name].predict[grid, block](*_typed(name, words))
            predicted.append(launch.prediction().nanoseconds)
        # Events tell what launching takes, too: their time beyond an empty kernel's, and that one's
        yield Held(name, median(times[1:]) - nothing + own, *predicted)
        report(f"  {name}: {prod(grid)} blocks")


def _typed(name: str, arguments: list[Any]) -> list[Any]:
    """Arrays as the kernel's parameters want them."""
    if name == "histogram":
        return arguments
    return [a.view(np.float32) if isinstance(a, np.ndarray) else a for a in arguments]
