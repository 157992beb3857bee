"""What each configuration of a Triton kernel would cost, on any list of GPUs: from sampled blocks.

    from warplens.frontends.triton_configurations import configurations
    print(configurations(kernel, a, b, c, n, grid=grid, gpus=["A100", "H200"]))

Nothing is launched on the process's own GPU, and the arguments stay as they are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from warplens.errors import InputError, WarplensError
from warplens.frontends.triton import SimulatedDevice, active
from warplens.frontends.triton_arguments import Arguments, Mapped, Scratch
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec
from warplens.session.device import Device
from warplens.session.launch import Launch

_CONFLICTS = "derived__memory_l1_wavefronts_shared_excessive"
_HEAD = ("GPU", "configuration", "predicted", "occupancy", "registers", "spills", "shared",
         "bank conflicts", "limited by")  # fmt: skip
Grid = Sequence[int] | Callable[[dict[str, Any]], Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One configuration on one GPU; `refused` says why there are no numbers.

    Attributes:
        nanoseconds: the predicted duration.
        occupancy: theoretical, in percent; spills: bytes of local memory of a thread.
        conflicts: wavefronts of shared memory above the ideal, of the whole launch.
        launch: everything else, for reports: `row.launch.save("a")`, then `warplens compare a b`.
    """

    gpu: str
    configuration: str
    nanoseconds: float = float("inf")
    occupancy: float = 0.0
    registers: int = 0
    spills: int = 0
    shared: int = 0
    conflicts: float = 0.0
    limiter: str = ""
    refused: str = ""
    launch: Launch | None = None

    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        if self.refused:
            return (self.gpu, self.configuration, self.refused, *[""] * 6)
        return (
            self.gpu, self.configuration, f"{self.nanoseconds / 1000:,.2f} us",
            f"{self.occupancy:.0f} %", str(self.registers), f"{self.spills:,} B",
            f"{self.shared:,} B", f"{self.conflicts:,.0f}", self.limiter,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Configurations:
    """The rows, GPU by GPU, the fastest first."""

    rows: tuple[Row, ...]

    def best(self, gpu: str) -> Row:
        """The fastest on a GPU.

        Raises:
            InputError: none was tried there, or all were refused.
        """
        name = find_gpu(gpu).name
        found = next((row for row in self.rows if row.gpu == name and not row.refused), None)
        if found is None:
            raise InputError(f"no configuration runs on {name}")
        return found

    def __str__(self) -> str:
        table = [_HEAD, *(row.cells() for row in self.rows)]
        wide = [row for row in table if len(row[2]) < 20]
        widths = [max(len(row[i]) for row in wide) for i in range(len(_HEAD))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        )


def configurations(
    kernel: Any, *arguments: Any, grid: Grid, gpus: Iterable[str | GpuSpec] = (),
    configs: Sequence[Any] = (), **options: Any,
) -> Configurations:  # fmt: skip
    """Predicts a launch with each configuration on each GPU.

    Args:
        kernel: a function under `@triton.autotune`, or one under `@triton.jit` alone.
        arguments, grid, options: as for a launch.
        gpus: their names; the process's GPU if none is given.
        configs: `triton.Config`s; the kernel's own if none is given.
    """
    function = kernel if hasattr(kernel, "device_caches") else kernel.fn
    chosen = list(configs or getattr(kernel, "configs", ()))
    if not chosen:
        raise InputError("there are no configurations", hint="Pass configs=[triton.Config(...)].")
    device = active()
    specs = [find_gpu(gpu) for gpu in gpus] or [device.simulated.gpus[0].spec]
    rows = []
    for spec in specs:
        found = [_row(device, function, arguments, grid, spec, c, options) for c in chosen]
        rows += sorted(found, key=lambda row: row.nanoseconds)
    return Configurations(tuple(rows))


def _row(
    device: SimulatedDevice, function: Any, arguments: Sequence[Any], grid: Grid, spec: GpuSpec,
    config: Any, options: dict[str, Any],
) -> Row:  # fmt: skip
    every = {**options, **config.all_kwargs()}
    try:
        launch, spills = _predicted(device, function, arguments, grid, spec, every)
        told = launch.prediction()
    except WarplensError as error:
        return Row(gpu=spec.name, configuration=str(config), refused=error.message)

    def number(name: str) -> float:
        return float(launch.metric(name) or 0)

    return Row(
        gpu=spec.name, configuration=str(config), nanoseconds=told.nanoseconds,
        occupancy=number("sm__maximum_warps_per_active_cycle_pct"),
        registers=int(number("launch__registers_per_thread")), spills=spills,
        shared=int(number("launch__shared_mem_per_block")), conflicts=number(_CONFLICTS),
        limiter=told.limiter, launch=launch,
    )  # fmt: skip


def _predicted(
    device: SimulatedDevice, function: Any, arguments: Sequence[Any], grid: Grid, spec: GpuSpec,
    options: dict[str, Any],
) -> tuple[Launch, int]:  # fmt: skip
    """The predicted launch, and the bytes that a thread spills."""
    device.pretended = spec
    try:
        compiled = function.warmup(*arguments, grid=(1,), **options)
        binder = function.device_caches[device.get_current_device()][4]
        bound = binder(*arguments, **options)[0]
    finally:
        device.pretended = None
    three = tuple(grid(bound) if callable(grid) else grid)
    gx, gy, gz = (*three, 1, 1)[:3]
    backend = importlib.import_module("triton.backends.driver")
    packing = Arguments(compiled.src, compiled.metadata, backend)
    other = Device(spec)
    kernel = other.load(compiled.asm["cubin"])[compiled.metadata.name]
    mapped, scratch = Mapped(other.memory), Scratch(other.memory)
    try:
        shape = packing.shape((gx, gy, gz))
        values = packing.packed(tuple(bound.values()), shape.grid[0] * gy * gz, mapped, scratch)
        configured = kernel.predict[shape.grid, shape.block, 0, shape.shared, shape.cluster]
        launch = configured(*values[: len(kernel.sass.parameters)])
    finally:
        mapped.release()
        scratch.release()
    return launch, kernel.sass.local_bytes
