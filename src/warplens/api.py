"""Devices, modules, kernels and launches: what a Python program uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy.typing as npt

from warplens.arrays import DeviceArray
from warplens.errors import InputError, Unsupported
from warplens.execute.memory import DeviceMemory
from warplens.gpus.spec import GpuSpec, find_gpu
from warplens.kernel import ConfiguredKernel, Kernel, LaunchShape
from warplens.launch import Launch
from warplens.module import Module, SourceUnit
from warplens.timing.pm_sampling import PmSampling
from warplens.toolchain.cubin import ARCHITECTURES

__all__ = [
    "ConfiguredKernel",
    "Device",
    "Kernel",
    "Launch",
    "LaunchOptions",
    "LaunchShape",
    "Module",
    "PmSampling",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """How launches of a device are run.

    Attributes:
        deterministic: order-dependent kernels run their blocks one after another.
        workers: threads that run blocks; None takes all cores.
        max_steps, max_seconds: limits that stop a runaway kernel.
        progress: called with (blocks done, blocks) now and then, in place of the bar.
        show_progress: on a terminal, runs over a second draw a progress bar.
        timing: keep a trace of sampled blocks, from which times are modelled when asked for.
        exact_timing: replay all blocks of an SM as far as memory allows instead of a sample.
        scheduler: warp scheduling policy of the model: oldest-block (as measured), gty (greedy,
            then youngest), gto, lrr.
        carveout: preferred shared memory in percent of the most that an SM has, as
            cudaFuncAttributePreferredSharedMemoryCarveout; None: as much as the blocks need.
        pm_sampling: interval, buffer and passes of counters sampled over the launch's time.
    """

    deterministic: bool = True
    workers: int | None = None
    max_steps: int | None = None
    max_seconds: float | None = None
    progress: Callable[[int, int], None] | None = None
    show_progress: bool = True
    timing: bool = True
    exact_timing: bool = False
    scheduler: str = "oldest-block"
    carveout: int | None = None
    pm_sampling: PmSampling = field(default_factory=PmSampling)


class Device:
    """A GPU to compile for and to run on, simulated on this machine.

    Args:
        name: any name or alias of a GPU ("H200", "rtx 4090"), or "sm_90" for an architecture.
        clock: "base", "boost" or a frequency in MHz, for everything that is a time.
        options: how launches run.

    >>> Device("RTX 4060").gpu.sm_count
    24
    """

    def __init__(
        self,
        name: str | GpuSpec = "H200",
        *,
        clock: str | float = "base",
        options: LaunchOptions | None = None,
    ) -> None:
        self.gpu = find_gpu(name)
        self.clock_mhz = self.gpu.clock_mhz(clock)
        self.options = options or LaunchOptions()
        self.memory = DeviceMemory()

    @property
    def name(self) -> str:
        """The GPU's name."""
        return self.gpu.name

    def compile(
        self,
        source: str | Path,
        *,
        options: Sequence[str] = (),
        include_dirs: Sequence[str | Path] = (),
        name_expressions: Sequence[str] = (),
    ) -> Module:
        """Compiles CUDA C++: a path, or source text if it holds a newline or a brace.

        Args:
            options: NVRTC options, such as "-maxrregcount=32" or "-DN=8".
            include_dirs: searched before CUDA's own headers.
            name_expressions: template instances to compile at once; `module["f<3>"]` also does it.

        Raises:
            CompileError: the source has errors; `.log` holds NVRTC's messages.
        """
        if isinstance(options, str) or isinstance(name_expressions, str):
            raise InputError("options and name_expressions are sequences of strings")
        if self.gpu.sm not in ARCHITECTURES:
            known = ", ".join(f"sm_{sm}" for sm in ARCHITECTURES)
            raise Unsupported(
                f"{self.gpu.name} is sm_{self.gpu.sm}; kernels are compiled for {known}",
                hint="Occupancy works for every GPU of `warplens list gpus`.",
            )
        text, name, folders = _source(source)
        unit = SourceUnit(
            text=text,
            name=name,
            sm=self.gpu.sm,
            options=tuple(options),
            include_dirs=(*folders, *map(Path, include_dirs)),
        )
        return Module(self, unit=unit, expressions=tuple(name_expressions))

    def load(self, cubin: bytes | str | Path) -> Module:
        """Loads a cubin (its bytes or a path). Its parameters have sizes but no types."""
        return Module(self, cubin=_cubin_bytes(cubin))

    def recompiled(self, unit: SourceUnit, options: Sequence[str]) -> Module:
        """A module of the same source with further options."""
        return Module(self, unit=replace(unit, options=(*unit.options, *options)))

    def to_device(self, array: npt.ArrayLike) -> DeviceArray:
        """Copies an array into the device's memory, where it stays until `.free()`."""
        return DeviceArray(self.memory, array)

    def __repr__(self) -> str:
        return f"Device({self.gpu.name!r}, clock={self.clock_mhz:g})"


def _cubin_bytes(cubin: bytes | str | Path) -> bytes:
    if not isinstance(cubin, str | Path):
        return bytes(cubin)
    path = Path(cubin)
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _source(source: str | Path) -> tuple[str, str, tuple[Path, ...]]:
    """Text, name and folder of a source given as text or path."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return source, "kernel.cu", ()
    path = Path(source)
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise InputError(
            f"{path}: {getattr(error, 'strerror', None) or error}",
            hint="A string with a newline or a brace is source text, any other one a path.",
        ) from error
    full = path.resolve()
    return text, str(full), (full.parent,)
