"""CuPy's way to cuRAND's host functions: the same numbers, computed by NumPy, in the GPU's memory.

NVIDIA's library has a CUDA runtime of its own inside, so it would not find the simulated GPU.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from warplens.programs.libraries import random as curand

NAME = "cupy_backends.cuda.libs.curand"
_KINDS = {
    "DEFAULT": 100, "XORWOW": 101, "MRG32K3A": 121, "MTGP32": 141, "MT19937": 142,
    "PHILOX4_32_10": 161,
}  # fmt: skip
_ORDERINGS = {"PSEUDO_BEST": 100, "PSEUDO_DEFAULT": 101, "PSEUDO_SEEDED": 102}


def stand_in() -> ModuleType:
    """The module that CuPy imports as `curand`."""
    module, known = ModuleType(NAME), dict[int, curand.Generator]()
    numbers = itertools.count(1)

    def create(kind: int) -> int:
        number = next(numbers)
        known[number] = curand.Generator(101 if kind == 100 else kind, on_host=False)
        return number

    def destroy(number: int) -> None:
        known.pop(number, None)

    def set_seed(number: int, seed: int) -> None:
        known[number].seed, known[number].state = int(seed), None

    def set_offset(number: int, offset: int) -> None:
        known[number].offset, known[number].state = int(offset), None

    def fills(kind: type[np.generic], values: Callable[..., Any]) -> Callable[..., None]:
        def fill(number: int, address: int, count: int, *rest: float) -> None:
            _elements(address, count, kind)[:] = values(known[number], count, *rest)

        return fill

    module.__dict__.update(
        createGenerator=create, destroyGenerator=destroy, getVersion=lambda: 10_400,
        setStream=lambda number, stream: None, setPseudoRandomGeneratorSeed=set_seed,
        setGeneratorOffset=set_offset, setGeneratorOrdering=lambda number, order: None,
        generate=fills(np.uint32, lambda g, n: g.bits(n)),
        generateUniform=fills(np.float32, lambda g, n: curand.uniform(g.bits(n))),
        generateUniformDouble=fills(
            np.float64, lambda g, n: curand.uniform_double(*g.draws(2, n))
        ),
        generateNormal=fills(np.float32, curand.normal),
        generateNormalDouble=fills(np.float64, curand.normal_double),
        generateLogNormal=fills(np.float32, lambda *a: np.exp(curand.normal(*a))),
        generateLogNormalDouble=fills(np.float64, lambda *a: np.exp(curand.normal_double(*a))),
        **{f"CURAND_RNG_PSEUDO_{name}": value for name, value in _KINDS.items()},
        **{f"CURAND_ORDERING_{name}": value for name, value in _ORDERINGS.items()},
    )  # fmt: skip
    return module


def _elements(address: int, count: int, kind: type[np.generic]) -> npt.NDArray[Any]:
    """An array over the GPU's memory: a device address is one of this process's."""
    nbytes = math.prod((count, np.dtype(kind).itemsize))
    held = (ctypes.c_uint8 * nbytes).from_address(address)
    flat: npt.NDArray[np.uint8] = np.frombuffer(memoryview(held), np.uint8)
    return flat.view(kind)
