"""Devices: what CUDA C++ is compiled for and cubins are loaded into."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy.typing as npt

from warplens.errors import InputError, Unsupported
from warplens.execute.memory import DeviceMemory
from warplens.gpus.spec import GpuSpec
from warplens.session.arrays import DeviceArray
from warplens.session.module import Module
from warplens.session.options import LaunchOptions
from warplens.session.target import Target
from warplens.toolchain.cubin import ARCHITECTURES
from warplens.toolchain.source import SourceUnit


class Device(Target):
    """A GPU to compile for and to run on, simulated on this machine.

    Args:
        name: any name or alias of a GPU ("H200", "rtx 4090"), or "sm_90" for an architecture.
        clock: "base", "boost" or a frequency in MHz, for everything that is a time.
        options: how launches run.
        memory: where its allocations lie; its own if None.

    >>> Device("RTX 4060").gpu.sm_count
    24
    """

    def __init__(
        self,
        name: str | GpuSpec = "H200",
        *,
        clock: str | float = "base",
        options: LaunchOptions | None = None,
        memory: DeviceMemory | None = None,
    ) -> None:
        super().__init__(name, clock=clock, options=options, memory=memory)

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
                f"{self.gpu.name} is sm_{self.gpu.sm}; warplens compiles kernels for {known}",
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

    def to_device(self, array: npt.ArrayLike) -> DeviceArray:
        """Copies an array into the device's memory, where it stays until `.free()`."""
        return DeviceArray(self.memory, array)


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
            hint="A string that holds a newline or a brace is source text, any other a path.",
        ) from error
    full = path.resolve()
    return text, str(full), (full.parent,)
