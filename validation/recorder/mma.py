"""Records matrix multiply-accumulate instructions on ordinary and adversarial operands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from session import Session

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Shape and formats of one variant; `bits` is the width of an A/B element."""

    m: int
    n: int
    k: int
    kind: str
    accumulator: str

    @property
    def bits(self) -> int:
        """Width of one element of A and B."""
        return {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "f64": 64}.get(
            self.kind, 8
        )


VARIANTS = {
    "f16_k16_f32": Shape(m=16, n=8, k=16, kind="f16", accumulator="f32"),
    "f16_k8_f32": Shape(m=16, n=8, k=8, kind="f16", accumulator="f32"),
    "f16_k16_f16": Shape(m=16, n=8, k=16, kind="f16", accumulator="f16"),
    "f16_k8_f16": Shape(m=16, n=8, k=8, kind="f16", accumulator="f16"),
    "bf16_k16_f32": Shape(m=16, n=8, k=16, kind="bf16", accumulator="f32"),
    "bf16_k8_f32": Shape(m=16, n=8, k=8, kind="bf16", accumulator="f32"),
    "tf32_k8_f32": Shape(m=16, n=8, k=8, kind="tf32", accumulator="f32"),
    "tf32_k4_f32": Shape(m=16, n=8, k=4, kind="tf32", accumulator="f32"),
    "e4m3_k32_f32": Shape(m=16, n=8, k=32, kind="e4m3", accumulator="f32"),
    "e5m2_k32_f32": Shape(m=16, n=8, k=32, kind="e5m2", accumulator="f32"),
    "s8_k32_s32": Shape(m=16, n=8, k=32, kind="s8", accumulator="s32"),
    "u8_k32_s32": Shape(m=16, n=8, k=32, kind="u8", accumulator="s32"),
    "s8u8_k32_sat": Shape(m=16, n=8, k=32, kind="s8u8", accumulator="s32"),
    "s8_k16_s32": Shape(m=16, n=8, k=16, kind="s8", accumulator="s32"),
    "s8_8816_s32": Shape(m=8, n=8, k=16, kind="s8", accumulator="s32"),
    "s4_k64_s32": Shape(m=16, n=8, k=32, kind="raw", accumulator="s32"),
    "b1_and": Shape(m=16, n=8, k=32, kind="raw", accumulator="s32"),
    "b1_xor": Shape(m=16, n=8, k=32, kind="raw", accumulator="s32"),
    "f64_884": Shape(m=8, n=8, k=4, kind="f64", accumulator="f64"),
    "f64_k4": Shape(m=16, n=8, k=4, kind="f64", accumulator="f64"),
    "f64_k8": Shape(m=16, n=8, k=8, kind="f64", accumulator="f64"),
    "f64_k16": Shape(m=16, n=8, k=16, kind="f64", accumulator="f64"),
}


def encode(value: Array, kind: str) -> Array:
    """Values as the bits of a format (nearest, ties to even)."""
    with np.errstate(over="ignore"):
        if kind == "f16":
            return value.astype(np.float16).view(np.uint16)
        if kind == "f64":
            return value.astype(np.float64).view(np.uint64)
        single = value.astype(np.float32).view(np.uint32)
    if kind == "bf16":
        return ((single + 0x7FFF + (single >> 16 & 1)) >> 16).astype(np.uint16)
    return single


Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _wide(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    sign = rng.choice([-1.0, 1.0], shape)
    return sign * rng.uniform(1, 2, shape) * 2.0 ** rng.integers(-10, 11, shape)


def _sparse(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Few non-zero elements, mantissas of few bits, exponents far apart."""
    sign = rng.choice([-1.0, 1.0], shape)
    mantissa = 1 + rng.integers(0, 8, shape) / 8 * rng.integers(0, 2, shape)
    value = sign * mantissa * 2.0 ** rng.integers(-12, 13, shape)
    return np.where(rng.random(shape) < 0.3, value, 0.0)


def _powers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.choice([-1.0, 1.0], shape) * 2.0 ** rng.integers(-7, 8, shape)


def _integers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.integers(-1024, 1025, shape).astype(float)


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


# name -> (draw of A, of B, of C)
SETS: dict[str, tuple[Draw, Draw, Draw]] = {
    "normal": (_normal, _normal, _normal),
    "wide": (_wide, _wide, _wide),
    "sparse": (_sparse, _powers, _sparse),
    "powers": (_powers, _powers, lambda r, s: _wide(r, s) * 2.0 ** r.integers(-20, 20, s)),
    "large_c": (_normal, _normal, lambda r, s: _normal(r, s) * 2.0 ** r.integers(0, 28, s)),
    "no_c": (_wide, _wide, lambda r, s: np.zeros(s)),
    "integers": (_integers, _integers, _integers),
    "tiny": (lambda r, s: _wide(r, s) * 2.0**-14, lambda r, s: _wide(r, s) * 2.0**-14,
             lambda r, s: _wide(r, s) * 2.0 ** r.integers(-140, -100, s)),
}  # fmt: skip


def float_case(shape: Shape, label: str, count: int, rng: np.random.Generator) -> tuple[Array, ...]:
    """Bits of `count` matrices A (m, k), B (k, n) and C (m, n)."""
    sizes = (count, shape.m, shape.k), (count, shape.k, shape.n), (count, shape.m, shape.n)
    draws = SETS.get(label, SETS["normal"])
    values = [draw(rng, size) for draw, size in zip(draws, sizes, strict=True)]
    if label == "cancel":  # neighbouring products cancel up to the last bits
        values[0][:, :, 1::2] = values[0][:, :, 0::2]
        values[1][:, 1::2, :] = -values[1][:, 0::2, :] * (
            1 + rng.choice([0, 2.0**-10, 2.0**-7], values[1][:, 1::2, :].shape)
        )
    if shape.kind in ("e4m3", "e5m2"):
        bits = [rng.integers(0, 256, size).astype(np.uint8) for size in sizes[:2]]
        if label != "bits":
            bits = [np.where(b & 0x7F < 0x60, b, b & 0xDF).astype(np.uint8) for b in bits]
        return bits[0], bits[1], encode(values[2], "f32")
    encoded = [encode(v, shape.kind) for v in values[:2]]
    encoded.append(encode(values[2], shape.accumulator))
    if label == "bits":  # every pattern, with infinities, NaNs and denormals thinned out
        for i, e in enumerate(encoded):
            raw = rng.integers(0, 1 << (8 * e.itemsize), e.shape, np.uint64).astype(e.dtype)
            keep = rng.random(e.shape) < (0.05 if i < 2 else 0.3)
            encoded[i] = np.where(keep, raw, e)
    elif shape.kind == "tf32":  # the 13 low bits should not matter
        encoded[:2] = [e ^ rng.integers(0, 1 << 13, e.shape).astype(np.uint32) for e in encoded[:2]]
    return tuple(encoded)


def integer_case(shape: Shape, count: int, rng: np.random.Generator) -> tuple[Array, ...]:
    """Random bytes; C near the limits in a quarter of the cases."""
    a = rng.integers(0, 256, (count, shape.m, shape.k)).astype(np.uint8)
    b = rng.integers(0, 256, (count, shape.k, shape.n)).astype(np.uint8)
    c = rng.integers(-(1 << 20), 1 << 20, (count, shape.m, shape.n)).astype(np.int32)
    limit = rng.choice([0x7FFFFFFF, -0x80000000, 0x7FFFFF00], c.shape).astype(np.int32)
    c = np.where(rng.random(c.shape) < 0.25, limit, c)
    return a, b, c.view(np.uint32)


def _register(element: Array) -> Array:
    """Joins a last axis of elements into 32-bit registers (64-bit elements stay)."""
    if element.itemsize == 8:
        return element[..., 0]
    return np.ascontiguousarray(element).view(np.uint32)[..., 0]


def fragments_a(a: Array) -> Array:
    """(count, m, k) elements -> (count, lane, register)."""
    count, m, k = a.shape
    per = max(1, 4 // a.itemsize)
    split = a.reshape(count, m // 8, 8, k // (4 * per), 4, per)
    return _register(split.transpose(0, 2, 4, 3, 1, 5)).reshape(count, 32, -1)


def fragments_b(b: Array) -> Array:
    """(count, k, n) elements -> (count, lane, register)."""
    count, k, n = b.shape
    per = max(1, 4 // b.itemsize)
    split = b.reshape(count, k // (4 * per), 4, per, n)
    return _register(split.transpose(0, 4, 2, 1, 3)).reshape(count, 32, -1)


def fragments_c(c: Array) -> Array:
    """(count, m, n) elements -> (count, lane, register)."""
    count, m, _ = c.shape
    per = max(1, 4 // c.itemsize)
    split = c.reshape(count, m // 8, 8, 4, 2 // per, per)
    return _register(split.transpose(0, 2, 3, 1, 4, 5)).reshape(count, 32, -1)


def matrix_d(d: Array, shape: Shape) -> Array:
    """(count, lane, register) -> (count, m, n) elements of D."""
    types = {"f16": np.uint16, "f64": np.uint64}
    elements = np.ascontiguousarray(d).view(types.get(shape.accumulator, np.uint32))
    split = elements.reshape(len(d), 8, 4, shape.m // 8, 2)
    return split.transpose(0, 3, 1, 2, 4).reshape(len(d), shape.m, shape.n)


def main() -> None:
    """Records every variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cubins", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=8, help="matrices per variant and set")
    parser.add_argument("--name", default="mma_sm90")
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    session = Session(args.cubins, args.out, args.dry_run)
    module = session.driver.load(session.cubin("mma"))
    arrays: dict[str, Array] = {}
    for name, shape in VARIANTS.items():
        rng = np.random.default_rng([11, *name.encode()])
        cases = {}
        if shape.kind in ("s8", "u8", "s8u8", "raw"):
            cases["random"] = integer_case(shape, args.count * 4, rng)
        else:
            for label in [*SETS, "cancel", "bits"]:
                cases[label] = float_case(shape, label, args.count, rng)
        a, b, c = (np.concatenate([case[i] for case in cases.values()]) for i in range(3))
        d = run(session, module, name, shape, (a, b, c))
        arrays |= {f"{name}_A": a, f"{name}_B": b, f"{name}_C": c, f"{name}_D": d}
        arrays[f"{name}_set"] = np.array([k for k, v in cases.items() for _ in v[0]])
    session.save(args.name, **arrays)
    print(len(VARIANTS), "variants")


def run(
    session: Session, module: Any, name: str, shape: Shape, matrices: tuple[Array, ...]
) -> Array:
    """Executes one warp per case and returns D as matrices of bits."""
    driver = session.driver
    a, b, c = matrices
    fa, fb, fc = fragments_a(a), fragments_b(b), fragments_c(c)
    out = driver.alloc(fc.nbytes)
    pointers = [driver.upload(f) for f in (fa, fb, fc)]
    driver.launch(driver.function(module, name), (len(a),), (32,), (*pointers, out))
    driver.synchronize()
    d = driver.download(out, fc.size, fc.dtype).reshape(fc.shape)
    return matrix_d(d, shape)


if __name__ == "__main__":
    main()
