"""A library's call while it is served: its handle and stream, what it does, how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from warplens.driver.cells import put_bytes
from warplens.driver.timeline import NodeKind, Stream
from warplens.models.roofs import roofline
from warplens.programs.libraries import arrays
from warplens.programs.libraries.arrays import Array
from warplens.programs.libraries.table import LibraryEntry, LibraryFault
from warplens.programs.program import Program
from warplens.programs.timeline import Noted
from warplens.result.system import KERNEL

_TENSOR = {"fp16": "fp16_fp32acc", "bf16": "bf16_fp32acc", "int8": "int8",
           "fp8": "fp8_fp32acc"}  # fmt: skip
_LEAST_NS = 2000.0  # an empty kernel's time, about

Kind = TypeVar("Kind")


@dataclass(slots=True, eq=False)
class Handle:
    """What every library's handle holds."""

    library: str
    stream: int = 0
    on_device: bool = False  # scalars lie on the device
    modes: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Call:
    """One call; `size` of a matrix's or vector's elements is the type's."""

    program: Program
    entry: LibraryEntry
    handle: Handle | None = None

    def thing(self, number: int, kind: type[Kind]) -> Kind:
        """What a handle stands for."""
        found = self.program.libraries.get(number)
        if not isinstance(found, kind):
            raise LibraryFault(self.entry.library.not_initialized, f"{number:#x} is no handle")
        return found

    def invalid(self, message: str) -> LibraryFault:
        """The library's code for arguments that make no sense."""
        return LibraryFault(self.entry.library.invalid, message)

    def vector(self, address: int, n: int, step: int, dtype: Any) -> Array:
        """A vector in place."""
        return arrays.vector(self.program, address, n, step, dtype)

    def matrix(self, address: int, rows: int, columns: int, leading: int, dtype: Any) -> Array:
        """A matrix in place."""
        if leading < max(1, rows):
            raise self.invalid(f"a leading dimension of {leading} for {rows} rows")
        return arrays.matrix(self.program, address, rows, columns, leading, dtype)

    def elements(self, address: int, count: int, dtype: Any) -> Array:
        """Elements in place."""
        return arrays.elements(self.program, address, count, dtype)

    def scalar(self, address: int, dtype: Any) -> Callable[[], Any]:
        """A scalar, by the handle's mode."""
        is_device = self.handle is not None and self.handle.on_device
        return arrays.scalar(self.program, address, dtype, is_device=is_device)

    def gives(self, address: int, value: Any, dtype: Any) -> None:
        """A result: to the host or the device, by where the pointer points to."""
        data = dtype.type(value).tobytes()
        if self.program.memory.find(address) is not None:
            self.program.memory.view(address, len(data))[:] = memoryview(data)
            self.program.memory.wrote(address, len(data))
        else:
            put_bytes(address, data)

    def does(
        self, compute: Callable[[], None], *, operations: float, moved: float,
        precision: str = "fp32", stream: int | None = None,
    ) -> None:  # fmt: skip
        """Computes in the stream's order; how long it takes is the roofline of the call."""
        program = self.program
        program.context()
        number = stream if stream is not None else self.handle.stream if self.handle else 0

        def work(_: Stream) -> Callable[[], float]:
            compute()
            if not program.driver.is_timed:
                return lambda: 0.0
            name = f"{self.entry.name} [roofline of the call]"
            program.memory.noted.append(Noted(name, int(moved), False, KERNEL))
            nanoseconds = self._nanoseconds(operations, moved, precision)
            return lambda: nanoseconds

        program.driver.submit(program.driver.stream(number), work, NodeKind.KERNEL)

    def _nanoseconds(self, operations: float, moved: float, precision: str) -> float:
        gpu = self.program.driver.stack[-1].gpu
        name = _TENSOR.get(precision, precision)
        if name not in gpu.spec.table("tensor") and name not in ("fp32", "fp64"):
            name = "fp32"
        roof = roofline(gpu.spec, name, clock=self.program.settings.clock)
        seconds = max(operations / roof.peak, moved / roof.bandwidth)
        return max(seconds * 1e9, _LEAST_NS)

    def waits_for_result(self) -> None:
        """The call returns when its result is on the host, if it goes there."""
        if self.handle is not None and not self.handle.on_device:
            self.waits()

    def waits(self) -> None:
        """The call returns when its stream is done."""
        stream = self.handle.stream if self.handle is not None else 0
        self.program.wait_for_stream(stream)


def precision_of(dtype: Any) -> str:
    """Whose peak rate counts for a type."""
    if dtype is arrays.BF16:
        return "bf16"
    if dtype.kind in "iu" and dtype.itemsize == 1:
        return "int8"
    return {"f2": "fp16", "f8": "fp64", "c16": "fp64"}.get(f"{dtype.kind}{dtype.itemsize}", "fp32")
