"""Inputs biased to the edges of the float formats, and a short way to run one operation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.isa.engines import Compiled, Typed, assert_lanes_equal, run_numpy
from warplens.isa import (  # noqa: F401  (they fill the registry)
    convert,
    float16,
    float32,
    float64,
    matrix,
    pack_float,
    special,
)
from warplens.isa.table import Kind, Modifiers, Op, find
from warplens.lift.engines.host import host_features

Array = np.ndarray[Any, Any]

ACTIVE = np.ones(32, bool)
TYPES = {
    "v": "f32",
    "r": "u32",
    "b": "u32",
    "h": "u32",
    "f": "f32",
    "q": "u64",
    "w": "u64",
    "d": "f64",
    "p": "p",
}
_LAYOUT = {"f16": (10, 5), "bf16": (7, 8), "f32": (23, 8), "f64": (52, 11)}
_INTEGER = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}


def edges(type: str) -> list[int]:
    """Bit patterns around every limit of a format, both signs."""
    fraction, exponent = _LAYOUT[type]
    top = (1 << exponent) - 1
    bias = top >> 1
    magnitudes = {0, 1, 2, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1}
    for e in (1, bias - 25, bias - 24, bias - 2, bias - 1, bias, bias + 1, bias + 7, bias + 8,
              bias + 10, bias + 11, bias + 15, bias + 23, bias + 24, bias + 31, bias + 32,
              bias + 63, bias + 64, top - 2, top - 1):  # fmt: skip
        if 0 < e < top:
            for f in (0, 1, 1 << (fraction - 1), (1 << (fraction - 1)) + 1, (1 << fraction) - 1):
                magnitudes.add(e << fraction | f)
    magnitudes |= {top << fraction, top << fraction | 1, (top + 1 << fraction) - 1}
    sign = 1 << (fraction + exponent)
    return sorted(magnitudes) + [sign | m for m in sorted(magnitudes)]


def patterns(type: str, n: int, seed: int) -> Array:
    """`n` bit patterns (a multiple of 32): half of them edges, the rest random numbers."""
    rng = np.random.default_rng(seed)
    fraction, exponent = _LAYOUT[type]
    bits = fraction + exponent + 1
    edge = np.array(edges(type), np.uint64)
    random = rng.integers(0, 1 << bits, n, dtype=np.uint64, endpoint=False)
    # Numbers of like size, so that sums cancel and comparisons are close.
    near = rng.integers((1 << (exponent - 1)) - 4, (1 << (exponent - 1)) + 3, n, dtype=np.uint64)
    close = (random & np.uint64((1 << fraction) - 1)) | near << np.uint64(fraction)
    close |= (random >> np.uint64(1)) & np.uint64(1 << (bits - 1))
    chosen = rng.integers(0, 4, n)
    mixed = np.where(chosen < 2, rng.choice(edge, n), np.where(chosen == 2, random, close))
    return mixed.astype(_INTEGER[type])


def floats(type: str, n: int, seed: int) -> Array:
    """As `patterns`, as an array of floats (bf16 stays bits)."""
    kinds = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64}
    return patterns(type, n, seed).view(kinds[type])


def integers(type: str, n: int, seed: int) -> Array:
    """Integers biased to powers of two, their neighbours and the limits; u32 or u64."""
    rng = np.random.default_rng(seed)
    size = 32 if type == "u32" else 64
    powers = rng.integers(0, size, n).astype(np.uint64)
    near = (np.uint64(1) << powers) + rng.integers(-2, 3, n).astype(np.int64).view(np.uint64)
    spread = rng.integers(0, 1 << 63, n, dtype=np.uint64) >> powers
    mixed = np.where(rng.integers(0, 2, n) == 0, near, spread * np.uint64(2) + np.uint64(1))
    mixed = np.where(rng.integers(0, 2, n) == 0, mixed, ~mixed)
    return mixed.astype(np.uint32 if size == 32 else np.uint64)


def operation(mnemonic: str) -> tuple[Op, Modifiers]:
    """The table entry and modifiers of `FADD.FTZ.RM` and the like; refuses unknown modifiers."""
    opcode, *names = mnemonic.split(".")
    entry = find(opcode, names)
    assert entry is not None, mnemonic
    assert entry.role == "value"
    assert set(names) <= entry.modifiers, (mnemonic, set(names) - entry.modifiers)
    return entry, Modifiers(names)


def operand_types(entry: Op) -> list[str]:
    """The protocol types of an entry's sources, register groups spread out."""
    return [TYPES[k.kind] for k in entry.sources for _ in range(values_of(k))]


def values_of(kind: Kind) -> int:
    """How many values an operand of this kind stands for."""
    return 2 if kind.kind == "v" else kind.count


def function_of(mnemonic: str) -> Any:
    """The operation as a function of the lanes and flat sources that returns flat bits.

    Optional sources at the end may be left out.
    """
    entry, modifiers = operation(mnemonic)

    def run(x: Any, *flat: Any) -> Any:
        values = list(flat)
        sources: list[Any] = []
        for kind in entry.sources:
            if kind.optional and not values:
                sources.append(None)
                continue
            taken = [values.pop(0) for _ in range(values_of(kind))]
            sources.append(tuple(taken) if len(taken) > 1 else taken[0])
        assert entry.function is not None
        result = entry.function(x, modifiers, *sources)
        results = result if len(entry.destinations) > 1 else (result,)
        words: list[Any] = []
        for kind, value in zip(entry.destinations, results, strict=True):
            group = value if kind.count > 1 else (value,)
            assert len(group) == kind.count
            words += [x.bits(v) if v.type in ("f32", "f64") else v for v in group]
        return tuple(words)

    return run


def chunks(arrays: tuple[Array, ...]) -> list[tuple[Array, ...]]:
    """Splits equally long arrays into warps of 32."""
    n = len(arrays[0])
    return [tuple(a[i : i + 32] for a in arrays) for i in range(0, n, 32)]


def run_reference(mnemonic: str, *arrays: Array) -> list[Array]:
    """The operation's results on the NumPy engine, over arrays of any multiple of 32."""
    entry, _ = operation(mnemonic)
    types, function = operand_types(entry)[: len(arrays)], function_of(mnemonic)
    columns: list[list[Array]] = []
    for warp in chunks(arrays):
        typed = [Typed(t, a) for t, a in zip(types, warp, strict=True)]
        columns.append(run_numpy(function, ACTIVE, typed))
    return [np.concatenate(parts) for parts in zip(*columns, strict=True)]


def run_llvm(mnemonic: str, *arrays: Array, host: str | None = None) -> list[Array]:
    """The operation's results on the LLVM engine."""
    entry, _ = operation(mnemonic)
    types = operand_types(entry)[: len(arrays)]
    compiled = Compiled(function_of(mnemonic), types, features=host_features(host))
    columns = [compiled(ACTIVE, *warp) for warp in chunks(arrays)]
    return [np.concatenate(parts) for parts in zip(*columns, strict=True)]


def sources_for(mnemonic: str, n: int, seed: int) -> tuple[Array, ...]:
    """Edge-biased inputs of the types that the operation takes."""
    entry, modifiers = operation(mnemonic)
    is_bf16 = any(name in modifiers for name in ("BF16", "BF16_V2"))
    found: list[Array] = []
    for i, kind in enumerate(k for k in entry.sources for _ in range(values_of(k))):
        at = seed * 10 + i
        if kind.kind == "p":
            found.append(np.random.default_rng(at).integers(0, 2, n).astype(bool))
        elif kind.kind in "fbv":
            array = floats("f32", n, at)
            found.append(array if kind.kind in "fv" else array.view(np.uint32))
        elif kind.kind == "d":
            found.append(floats("f64", n, at))
        elif kind.kind == "h":
            half = "bf16" if is_bf16 else "f16"
            low, high = (patterns(half, n, at + s).astype(np.uint32) for s in (0, 5))
            found.append(low | high << np.uint32(16))
        else:
            found.append(integers("u64" if kind.kind in "qw" else "u32", n, at))
    return tuple(found)


def assert_engines_agree(
    mnemonic: str, n: int = 128, seed: int = 1, host: str | None = None
) -> None:
    """Both engines give the same bits on edge-biased inputs."""
    inputs = sources_for(mnemonic, n, seed)

    expected = run_reference(mnemonic, *inputs)

    assert_lanes_equal(expected, run_llvm(mnemonic, *inputs, host=host), *inputs)
