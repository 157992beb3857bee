"""cuFFT: plans and transforms, single and double, in any number of dimensions up to three."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import log2, prod
from typing import Any

import numpy as np

from warplens.driver.cells import get_bytes, put_i32, put_u64
from warplens.programs.libraries.arrays import Array, written
from warplens.programs.libraries.table import LibraryFault, NotServed, add, entry
from warplens.programs.libraries.work import Call

CUFFT = "cufft"
_INVALID_SIZE, _INVALID_TYPE, _INVALID_PLAN = 8, 3, 1
_PROPERTIES = {0: 12, 1: 0, 2: 0}
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
_C64, _C128 = np.dtype(np.complex64), np.dtype(np.complex128)
# cufftType: what goes in and what comes out.
_TYPES = {0x2A: (_F32, _C64), 0x2C: (_C64, _F32), 0x29: (_C64, _C64),
          0x6A: (_F64, _C128), 0x6C: (_C128, _F64), 0x69: (_C128, _C128)}  # fmt: skip
# cudaDataType of both sides, as cufftXt has them.
_KINDS = {(0, 4): 0x2A, (4, 0): 0x2C, (4, 4): 0x29, (1, 5): 0x6A, (5, 1): 0x6C, (5, 5): 0x69}
FORWARD = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the elements of one side are: the dimensions of the storage, steps, distances."""

    embedded: tuple[int, ...]
    step: int
    distance: int


@dataclass(slots=True, eq=False)
class Plan:
    """A transform; sides are None where they are packed."""

    number: int
    sizes: tuple[int, ...] = ()
    kind: int = 0
    batch: int = 1
    sides: tuple[Layout | None, Layout | None] = (None, None)
    stream: int = 0

    @property
    def types(self) -> tuple[Any, Any]:
        """What goes in and what comes out."""
        return _TYPES[self.kind]

    def shape(self, side: int) -> tuple[int, ...]:
        """How many elements a side has in each dimension: half of the complex ones are kept."""
        kinds = self.types
        is_half = kinds[0] != kinds[1] and kinds[side].kind == "c"
        return (*self.sizes[:-1], self.sizes[-1] // 2 + 1) if is_half else self.sizes

    def array(self, call: Call, address: int, side: int, *, in_place: bool) -> Array:
        """A side's elements as an array of batches, in place."""
        dtype, shape, layout = self.types[side], self.shape(side), self.sides[side]
        if layout is None:
            embedded = list(shape)
            if in_place and self.types[0] != self.types[1] and dtype.kind == "f":
                embedded[-1] = 2 * (self.sizes[-1] // 2 + 1)  # rows are padded
            layout = Layout(embedded=tuple(embedded), step=1, distance=prod(embedded))
        steps = [layout.step * prod(layout.embedded[i + 1 :]) for i in range(len(shape))]
        last = layout.distance * (self.batch - 1) + sum(
            step * (n - 1) for step, n in zip(steps, shape, strict=True)
        )
        flat = call.elements(address, last + 1, dtype)
        size = dtype.itemsize
        return np.lib.stride_tricks.as_strided(
            flat, (self.batch, *shape), (layout.distance * size, *(s * size for s in steps))
        )


def _plan(call: Call, number: int) -> Plan:
    found = call.program.libraries.get(number)
    if not isinstance(found, Plan):
        raise LibraryFault(_INVALID_PLAN, f"{number} is no plan")
    return found


def _make(
    call: Call, plan: Plan, sizes: tuple[int, ...], kind: int, batch: int,
    sides: tuple[Layout | None, Layout | None] = (None, None),
) -> None:  # fmt: skip
    if kind not in _TYPES:
        raise LibraryFault(_INVALID_TYPE, f"type {kind:#x}")
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1 or batch < 1:
        raise LibraryFault(_INVALID_SIZE, f"{batch} transforms of {sizes}")
    plan.sizes, plan.kind, plan.batch, plan.sides = sizes, kind, batch, sides


def _new(call: Call) -> Plan:
    call.program.context()
    plan = Plan(number=call.program.next_plan())
    call.program.libraries[plan.number] = plan
    return plan


@entry(CUFFT, "cufftCreate", "p")
def create(call: Call, plan: int) -> None:
    """A plan that is made later."""
    put_i32(plan, _new(call).number)


@entry(CUFFT, "cufftDestroy", "i")
def destroy(call: Call, plan: int) -> None:
    """Ends it."""
    del call.program.libraries[_plan(call, plan).number]


@entry(CUFFT, "cufftPlan1d", "p i i i")
def plan_1d(call: Call, plan: int, n: int, kind: int, batch: int) -> None:
    """Transforms of rows."""
    made = _new(call)
    _make(call, made, (n,), kind, batch)
    put_i32(plan, made.number)


@entry(CUFFT, "cufftPlan2d", "p i i i")
def plan_2d(call: Call, plan: int, nx: int, ny: int, kind: int) -> None:
    """A transform in two dimensions."""
    made = _new(call)
    _make(call, made, (nx, ny), kind, 1)
    put_i32(plan, made.number)


@entry(CUFFT, "cufftPlan3d", "p i i i i")
def plan_3d(call: Call, plan: int, nx: int, ny: int, nz: int, kind: int) -> None:
    """A transform in three dimensions."""
    made = _new(call)
    _make(call, made, (nx, ny, nz), kind, 1)
    put_i32(plan, made.number)


@entry(CUFFT, "cufftMakePlan1d", "i i i i p")
def make_1d(call: Call, plan: int, n: int, kind: int, batch: int, room: int) -> None:
    """The same into a plan that is there."""
    _make(call, _plan(call, plan), (n,), kind, batch)
    put_u64(room, 0)


@entry(CUFFT, "cufftMakePlan2d", "i i i i p")
def make_2d(call: Call, plan: int, nx: int, ny: int, kind: int, room: int) -> None:
    """The same in two dimensions."""
    _make(call, _plan(call, plan), (nx, ny), kind, 1)
    put_u64(room, 0)


@entry(CUFFT, "cufftMakePlan3d", "i i i i i p")
def make_3d(call: Call, plan: int, nx: int, ny: int, nz: int, kind: int, room: int) -> None:
    """The same in three dimensions."""
    _make(call, _plan(call, plan), (nx, ny, nz), kind, 1)
    put_u64(room, 0)


def _numbers(address: int, count: int, letter: str) -> tuple[int, ...]:
    size = struct.calcsize(letter)
    return struct.unpack(f"<{count}{letter}", get_bytes(address, size * count))


def _many(
    call: Call, plan: Plan, letter: str, rank: int, sizes: int, sides: tuple[int, ...], kind: int,
    batch: int,
) -> None:  # fmt: skip
    if not 1 <= rank <= 3:
        raise LibraryFault(_INVALID_SIZE, f"{rank} dimensions")
    layouts: list[Layout | None] = []
    for embedded, step, distance in (sides[:3], sides[3:]):
        layouts.append(Layout(
            embedded=_numbers(embedded, rank, letter), step=step, distance=distance
        ) if embedded else None)  # fmt: skip
    if None in layouts:
        layouts = [None, None]  # steps and distances count only with both
    _make(call, plan, _numbers(sizes, rank, letter), kind, batch, (layouts[0], layouts[1]))


@entry(CUFFT, "cufftPlanMany", "p i p p i i p i i i i")
def plan_many(
    call: Call, plan: int, rank: int, sizes: int, ie: int, istep: int, idist: int, oe: int,
    ostep: int, odist: int, kind: int, batch: int,
) -> None:  # fmt: skip
    """Transforms with steps and distances."""
    made = _new(call)
    _many(call, made, "i", rank, sizes, (ie, istep, idist, oe, ostep, odist), kind, batch)
    put_i32(plan, made.number)


@entry(CUFFT, "cufftMakePlanMany", "i i p p i i p i i i i p")
def make_many(
    call: Call, plan: int, rank: int, sizes: int, ie: int, istep: int, idist: int, oe: int,
    ostep: int, odist: int, kind: int, batch: int, room: int,
) -> None:  # fmt: skip
    """The same into a plan that is there."""
    sides = (ie, istep, idist, oe, ostep, odist)
    _many(call, _plan(call, plan), "i", rank, sizes, sides, kind, batch)
    put_u64(room, 0)


@entry(CUFFT, "cufftMakePlanMany64", "i i p p l l p l l i l p")
def make_many_64(
    call: Call, plan: int, rank: int, sizes: int, ie: int, istep: int, idist: int, oe: int,
    ostep: int, odist: int, kind: int, batch: int, room: int,
) -> None:  # fmt: skip
    """The same with 64-bit sizes."""
    sides = (ie, istep, idist, oe, ostep, odist)
    _many(call, _plan(call, plan), "q", rank, sizes, sides, kind, batch)
    put_u64(room, 0)


@entry(CUFFT, "cufftXtMakePlanMany", "i i p p l l i p l l i l p i")
def make_xt(
    call: Call, plan: int, rank: int, sizes: int, ie: int, istep: int, idist: int, itype: int,
    oe: int, ostep: int, odist: int, otype: int, batch: int, room: int, execution: int,
) -> None:  # fmt: skip
    """The same with the types of both sides."""
    if (itype, otype) not in _KINDS:
        raise NotServed(f"a transform of type {itype} to {otype}")
    sides = (ie, istep, idist, oe, ostep, odist)
    kind = _KINDS[itype, otype]
    _many(call, _plan(call, plan), "q", rank, sizes, sides, kind, batch)
    put_u64(room, 0)


@entry(CUFFT, "cufftSetStream", "i p")
def set_stream(call: Call, plan: int, stream: int) -> None:
    """Where work goes from now on."""
    call.program.driver.stream(stream)
    _plan(call, plan).stream = stream


@entry(CUFFT, "cufftSetAutoAllocation", "i i")
def set_allocation(call: Call, plan: int, is_automatic: int) -> None:
    """No work area is needed."""
    _plan(call, plan)


@entry(CUFFT, "cufftSetWorkArea", "i p")
def set_area(call: Call, plan: int, area: int) -> None:
    """No work area is needed."""
    _plan(call, plan)


def _no_room(call: Call, *words: int) -> None:
    put_u64(words[-1], 0)


for _name, _letters in (
    ("cufftGetSize", "i p"), ("cufftEstimate1d", "i i i p"), ("cufftEstimate2d", "i i i p"),
    ("cufftEstimate3d", "i i i i p"), ("cufftEstimateMany", "i p p i i p i i i i p"),
    ("cufftGetSize1d", "i i i i p"), ("cufftGetSize2d", "i i i i p"),
    ("cufftGetSize3d", "i i i i i p"), ("cufftGetSizeMany", "i i p p i i p i i i i p"),
):  # fmt: skip
    add(CUFFT, _name, _letters, _no_room)


@entry(CUFFT, "cufftGetVersion", "p")
def version(call: Call, number: int) -> None:
    """The version of the API."""
    put_i32(number, 12000)


@entry(CUFFT, "cufftGetProperty", "i p")
def library_property(call: Call, kind: int, value: int) -> None:
    """Major, minor, patch level."""
    put_i32(value, _PROPERTIES.get(kind, 0))


# --- transforms ----------------------------------------------------------------------------------


def _transformed(values: Array, plan: Plan, direction: int) -> Array:
    axes = tuple(range(1, 1 + len(plan.sizes)))
    kinds = plan.types
    if kinds[0].kind == "f":
        return np.fft.rfftn(values, axes=axes)
    if kinds[1].kind == "f":
        return np.fft.irfftn(values, s=plan.sizes, axes=axes, norm="forward")
    if direction == FORWARD:
        return np.fft.fftn(values, axes=axes)
    return np.fft.ifftn(values, axes=axes, norm="forward")  # not divided by the size, as cuFFT's


def _executes(kind: int, name: str, letters: str) -> None:
    def function(call: Call, number: int, source: int, target: int, direction: int = 1) -> None:
        plan = _plan(call, number)
        if plan.kind != kind and (kind or not plan.kind):
            raise LibraryFault(_INVALID_TYPE if plan.kind else _INVALID_PLAN, name)

        def compute() -> None:
            in_place = source == target
            found = _transformed(
                plan.array(call, source, 0, in_place=in_place), plan, direction
            )
            result = plan.array(call, target, 1, in_place=in_place)
            result[:] = found
            base = result.base if isinstance(result.base, np.ndarray) else result
            written(call.program, target, base.size, plan.types[1])

        n = prod(plan.sizes)
        scale = 5.0 if plan.types[0] == plan.types[1] else 2.5
        moved = sum(prod(plan.shape(i)) * plan.types[i].itemsize for i in (0, 1)) * plan.batch
        call.does(compute, operations=scale * n * log2(max(n, 2)) * plan.batch, moved=moved,
                  precision="fp64" if plan.kind & 0x40 else "fp32", stream=plan.stream)  # fmt: skip

    add(CUFFT, name, letters, function)


for _kind, _name, _letters in (
    (0x29, "cufftExecC2C", "i p p i"), (0x2A, "cufftExecR2C", "i p p"),
    (0x2C, "cufftExecC2R", "i p p"), (0x69, "cufftExecZ2Z", "i p p i"),
    (0x6A, "cufftExecD2Z", "i p p"), (0x6C, "cufftExecZ2D", "i p p"),
    (0, "cufftXtExec", "i p p i"),
):  # fmt: skip
    _executes(_kind, _name, _letters)
