"""Registers to and from tensor memory, in every shape, against the tables of the PTX manual."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.in_turn import one_in
from warplens import Device

Array = npt.NDArray[Any]
Place = Callable[[int, int], tuple[int, int]]
# shape -> registers for x1; the row and column of lane l's register r
SHAPES: dict[str, tuple[int, Place]] = {
    "32x32b": (1, lambda n, r: (n, r)),
    "16x64b": (1, lambda n, r: (n // 4 + 8 * (n % 2), n // 2 % 2 + 2 * r)),
    "16x128b": (2, lambda n, r: (n // 4 + 8 * (r % 2), n % 4 + 4 * (r // 2))),
    "16x256b": (4, lambda n, r: (n // 4 + 8 * (r // 2 % 2), r % 2 + 2 * (n % 4) + 8 * (r // 4))),
    "16x32bx2": (1, lambda n, r: (n % 16, r + 40 * (n // 16))),
}
FRAME = """
extern "C" __global__ void NAME(unsigned *cells, unsigned *registers, const unsigned *start) {
    __shared__ unsigned slot;
    unsigned place = (unsigned)__cvta_generic_to_shared(&slot), v[COUNT];
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" ::"r"(place) : "memory");
    __syncthreads();
    unsigned own = slot + (threadIdx.x / 32 << 21), at = own + 2 + (ROW << 16);
    for (int c = 0; c < 128; c++)
        asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(own + c), "r"(start[threadIdx.x * 128 + c]));
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    LOAD;
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int r = 0; r < COUNT; r++) {
        registers[threadIdx.x * COUNT + r] = v[r];
        v[r] = ~v[r];
    }
    STORE;
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    for (int c = 0; c < 128; c++) {
        unsigned w;
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(w) : "r"(own + c));
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        cells[threadIdx.x * 128 + c] = w;
    }
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(slot));
}
"""  # noqa: E501


def _kernel(shape: str, times: int, packs: bool) -> str:
    count = SHAPES[shape][0] * times
    names = ", ".join(f"%{r}" for r in range(count))
    apart = f", {80 if packs else 40}" if shape == "16x32bx2" else ""
    marks = (".pack::16b", ".unpack::16b") if packs else ("", "")
    form = f"sync.aligned.{shape}.x{times}"
    outputs = ", ".join(f'"=r"(v[{r}])' for r in range(count))
    inputs = ", ".join(f'"r"(v[{r}])' for r in range(count))
    load = (f'asm volatile("tcgen05.ld.{form}{marks[0]}.b32 {{{names}}}, [%{count}]{apart};" '
            f': {outputs} : "r"(at))')  # fmt: skip
    store = (f'asm volatile("tcgen05.st.{form}{marks[1]}.b32 [%{count}]{apart}, {{{names}}};" '
             f':: {inputs}, "r"(at))')  # fmt: skip
    row = "0" if shape == "32x32b" else "16"
    text = FRAME.replace("NAME", _name(shape, times, packs)).replace("COUNT", str(count))
    return text.replace("LOAD", load).replace("STORE", store).replace("ROW", row)


def _name(shape: str, times: int, packs: bool) -> str:
    return f"move_{shape}_{times}_{int(packs)}"


CASES = [(shape, times, packs) for shape in SHAPES for times in (1, 4) for packs in (False, True)]


ZEROS = """
extern "C" __global__ void zeros(unsigned *cells) {
    __shared__ unsigned slot;
    unsigned place = (unsigned)__cvta_generic_to_shared(&slot), v[2];
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(place) : "memory");
    __syncthreads();
    unsigned own = slot + (threadIdx.x / 32 << 21);
    asm volatile("tcgen05.st.sync.aligned.32x32b.x2.b32 [%0], {%1, %1};" ::"r"(own), "r"(7));
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(own), "r"(0));
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(own));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    cells[2 * threadIdx.x] = v[0], cells[2 * threadIdx.x + 1] = v[1];
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(slot));
}
"""  # noqa: E501


def test_zeros_have_no_register() -> None:
    """A store of zeros names RZ."""
    kernel = module()["zeros"]
    cells = np.ones((128, 2), np.uint32)

    kernel[1, 128](cells)

    assert any(" RZ" in i.text for i in kernel.sass.instructions if i.opcode == "STTM")
    assert (cells == (0, 7)).all()


@lru_cache(maxsize=1)
def module() -> Any:
    """All kernels."""
    source = ZEROS + "\n".join(_kernel(*case) for case in CASES)
    return Device("sm_100").compile(source, options=["-arch=sm_100a"])


@pytest.mark.parametrize(
    ("shape", "times", "packs"),
    one_in(6, CASES, lambda case: "-".join(map(str, case)), several=True),
)
def test_shapes(shape: str, times: int, packs: bool) -> None:
    """Loads take, and stores put, every register's cell or pair of halves."""
    each, place = SHAPES[shape]
    count = each * times
    start = np.random.default_rng(1).integers(0, 2**32, (128, 128), np.uint32)
    cells, registers = np.zeros((128, 128), np.uint32), np.zeros((128, count), np.uint32)

    module()[_name(shape, times, packs)][1, 128](cells, registers, start)

    loaded, stored = np.zeros_like(registers), start.copy()
    for thread in range(128):
        for r in range(count):
            row, column = place(thread % 32, r)
            row += thread // 32 * 32 + (0 if shape == "32x32b" else 16)
            if packs:
                first = 2 + 2 * column
                low, high = start[row, first], start[row, first + 1]
                loaded[thread, r] = (low & 0xFFFF) | (high & 0xFFFF) << np.uint32(16)
                stored[row, first] = ~loaded[thread, r] & 0xFFFF
                stored[row, first + 1] = ~loaded[thread, r] >> np.uint32(16)
            else:
                loaded[thread, r] = start[row, 2 + column]
                stored[row, 2 + column] = ~start[row, 2 + column]
    assert np.array_equal(registers, loaded)
    assert np.array_equal(cells, stored)
