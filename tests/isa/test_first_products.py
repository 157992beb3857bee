"""mma.m8n8k4 of halves: sm_75 has the instruction, from sm_80 on it is NVIDIA's own code.

Fragments are built by the PTX manual's tables, products of small whole numbers by NumPy.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import warplens as wl
from tests.in_turn import one_in

Array = npt.NDArray[Any]
LAYOUTS = ("row", "col")
TYPES = (("f16", "f16"), ("f32", "f16"), ("f32", "f32"))  # D and C


def _name(a: str, b: str, d: str, c: str) -> str:
    return f"multiply_{a}_{b}_{d}_{c}"


def _kernel(a: str, b: str, d: str, c: str) -> str:
    size = {"f16": 4, "f32": 8}
    n, inputs = size[d], 4 + size[c]
    first, second, third = (
        ", ".join(f"%{k}" for k in own)
        for own in (range(n), range(n + 4, n + inputs), range(n, n + 2))
    )
    fourth = f"%{n + 2}, %{n + 3}"
    d_type, c_type = ("float" if t == "f32" else "unsigned" for t in (d, c))
    d_letter, c_letter = ("f" if t == "f32" else "r" for t in (d, c))
    results = ", ".join(f'"={d_letter}"(d[{k}])' for k in range(n))
    given = ", ".join([f'"r"(a[2 * i + {k}])' for k in range(2)]
                      + [f'"r"(b[2 * i + {k}])' for k in range(2)]
                      + [f'"{c_letter}"(c[{size[c]} * i + {k}])' for k in range(size[c])])
    return f"""
extern "C" __global__ void {_name(a, b, d, c)}(
    const unsigned* a, const unsigned* b, const {c_type}* c, {d_type}* out) {{
    int i = threadIdx.x;
    {d_type} d[{n}];
    asm volatile("mma.sync.aligned.m8n8k4.{a}.{b}.{d}.f16.f16.{c} "
                 "{{{first}}}, {{{third}}}, {{{fourth}}}, {{{second}}};"
                 : {results} : {given});
    for (int k = 0; k < {n}; k++) out[{n} * i + k] = d[k];
}}"""  # fmt: skip


COMBINATIONS = [(*layouts, *types)
                for layouts, types in itertools.product(itertools.product(LAYOUTS, LAYOUTS), TYPES)]


@cache
def _module(gpu: str) -> Any:
    return wl.Device(gpu).compile("\n".join(_kernel(*one) for one in COMBINATIONS))


def _places(lane: int) -> tuple[int, int, int]:
    """A lane's group, its place among four, and whether it is one of the upper four."""
    return lane // 4 % 4, lane % 4, lane // 16


def _of_a(a: Array, layout: str, lane: int) -> Array:
    group, q, upper = _places(lane)
    own = a[group][4 * upper : 4 * upper + 4]
    return own[q] if layout == "row" else own[:, q]


def _of_b(b: Array, layout: str, lane: int) -> Array:
    group, q, upper = _places(lane)
    own = b[group][:, 4 * upper : 4 * upper + 4]
    return own[q] if layout == "row" else own[:, q]


def _of_c(c: Array, kind: str, lane: int) -> Array:
    group, q, upper = _places(lane)
    if kind == "f16":
        return np.asarray(c[group][q + 4 * upper])
    return np.array([c[group][(lane & 1) + (i & 2) + 4 * upper, (i & 4) + (lane & 2) + (i & 1)]
                     for i in range(8)])  # fmt: skip


def _words(rows: list[Array]) -> Array:
    return np.ascontiguousarray(np.stack(rows)).view(np.uint32)


@pytest.mark.parametrize(("gpu", "combination"), one_in(
    7, list(itertools.product(("Tesla T4", "H200"), COMBINATIONS)),
    lambda case: f"{_name(*case[1])}-{case[0]}", several=True,
))
def test_products_are_numpys(gpu: str, combination: tuple[str, str, str, str]) -> None:
    """All layouts and types; every sum is a whole number that all types hold."""
    left, right, d_kind, c_kind = combination
    rng = np.random.default_rng(884)
    a = rng.integers(-8, 9, (4, 8, 4)).astype(np.float16)
    b = rng.integers(-8, 9, (4, 4, 8)).astype(np.float16)
    floats = {"f16": np.float16, "f32": np.float32}
    c = rng.integers(-64, 65, (4, 8, 8)).astype(floats[c_kind])
    d = (a.astype(np.float64) @ b.astype(np.float64) + c).astype(floats[d_kind])
    expected = _words([_of_c(d, d_kind, lane) for lane in range(32)])
    out = np.zeros_like(expected)
    given = [_words([_of_a(a, left, lane) for lane in range(32)]),
             _words([_of_b(b, right, lane) for lane in range(32)]),
             _words([_of_c(c, c_kind, lane) for lane in range(32)])]  # fmt: skip

    _module(gpu)[_name(*combination)][1, 32](*given, out)

    assert np.array_equal(out, expected)


def test_the_steps_are_the_instructions() -> None:
    """On sm_75 the instruction itself runs, in four steps where results are floats."""
    kernel = _module("Tesla T4").sass(_name("row", "col", "f32", "f32"))
    steps = [inst.mnemonic for inst in kernel.instructions if inst.opcode == "HMMA"]

    assert steps == [f"HMMA.884.F32.F32.STEP{k}" for k in range(4)]
