"""Which formatted writes and reductions of surfaces are recorded, from a seed.

A case is a kernel of `kernels/surfaces.cu`, an array with its bytes, and a table: x, y, z, the
layer, four words. `textures.py` packs and runs them.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import build
import numpy as np
from texture_cases import FORMATS, LAYERED, SURFACE, Array, Case, rng, texels

BOTH = ("both_f16x2_lt_and", "both_f16x2_neu_and", "both_f16x2_ge_or", "both_f16x2_eq_xor",
        "both_bf16x2_le_and", "both_bf16x2_gtu_or")  # fmt: skip
SHAPES = {"1d": (1, 1, 96), "2d": (1, 8, 12), "3d": (4, 5, 6), "1dl": (4, 1, 24),
          "2dl": (4, 5, 6)}  # fmt: skip
_FLOATS = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 2.0**-24, 2.0**-25, 3 * 2.0**-25,
           -(2.0**-25), 1.0000001 * 2.0**-25, 2.0**-14, 0.99999 * 2.0**-14, 65504, 65519.99,
           65520, -65520, 1e6, 3e38, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-10,
           1 + 2.0**-12)  # fmt: skip
_INTEGERS = (0, 1, 127, 128, 129, 255, 256, 257, 32767, 32768, 65535, 65536, 0x7FFFFFFF, 1 << 31,
             0xFFFFFFFF, 0xFFFFFF80, 0xFFFFFF7F, 0xFFFFFF00, 0xFFFF8000, 0xFFFF7FFF, 0xFFFF0000,
             0x80000001)  # fmt: skip


def cubin() -> bytes:
    """The compiled kernels, with the bit that makes HSETP2 an HSETP2.H_AND."""
    source = (build.KERNELS / "surfaces.cu").read_text()
    made = build.Nvrtc().compile(source, "surfaces.cu", ("-arch=sm_90",))
    for name in BOTH:
        made = build.patched(made, name, 0x234, 0xFFF, (71, 1, 1))
    return made


def words(name: str, kind: str, shape: tuple[int, ...]) -> Array:
    """Words of values to write: edges and random ones."""
    r = rng(name + "/words")
    found = r.integers(0, 1 << 32, shape, np.uint32)
    known = (np.array(_INTEGERS, np.uint32) if kind != "f"
             else np.append(np.array(_FLOATS, np.float32).view(np.uint32),
                            np.uint32([0x7F800001, 0xFFC12345, 0x7FFFFFFF])))  # fmt: skip
    if kind == "f":
        usual = (r.uniform(-4, 4, shape) * 2.0 ** r.integers(-28, 16, shape)).astype(np.float32)
        found = np.where(r.integers(0, 4, shape) == 0, found, usual.view(np.uint32))
    else:
        found = np.where(r.integers(0, 2, shape) == 0, found, found % 1024 - np.uint32(512))
    found = np.where(r.integers(0, 3, shape) == 0, r.choice(known, shape), found)
    return found.astype(np.uint32)


def places(name: str, shape: str, scale: int, clash: bool) -> Array:
    """Places in and beside an array; without clash at most one lane comes to a texel."""
    depth, height, width = SHAPES[shape]
    r = rng(name + "/places")
    found = np.array(list(itertools.product(range(-2, depth + 2), range(-2, height + 2),
                                            range(-2, width + 2))))  # fmt: skip
    found = found[r.permutation(len(found))]
    if not clash:
        held = np.clip(found, 0, [depth - 1, height - 1, width - 1])
        _, first = np.unique(held, axis=0, return_index=True)
        found = found[np.sort(first)]
    found = found[:512]
    z = found[:, 0]
    return np.stack([found[:, 2] * scale, found[:, 1], z, z]).astype(np.int32).view(np.uint32)


def _case(name: str, kernel: str, shape: str, data: Array, table: Array) -> Case:
    flags = SURFACE | (LAYERED if shape.endswith("l") else 0)
    return Case(name, kernel, [data], table, rank=int(shape[0]), whole=True, surface=True,
                array_flags=flags)  # fmt: skip


def _written() -> Iterator[Case]:
    for dtype, channels, given in itertools.product(FORMATS, (1, 2, 4), (1, 2, 4)):
        for shape, mode in itertools.product(SHAPES, ("zero", "clamp")):
            if (shape, mode) != ("2d", "zero") and (dtype, channels) not in (
                ("u1", 4), ("f2", 2), ("i4", 1), ("f4", 4)
            ):  # fmt: skip
                continue
            name = f"put/{shape}/{mode}/{dtype}x{channels}/{given}"
            data = texels(name, dtype, (*SHAPES[shape], channels))
            at = places(name, shape, 1, False)
            table = np.concatenate([at, words(name, dtype[0], (4, at.shape[1]))])
            yield _case(name, f"put_{shape}_{mode}_{given}", shape, data, table)


_BY_BYTES = ("add_u32", "add_u64", "min_u32", "min_s32", "min_u64", "min_s64", "max_u32", "max_s32",
             "max_u64", "max_s64", "and_b32", "or_b32")  # fmt: skip
_BY_TEXELS = ("add_b32", "min_b32", "max_b32", "and_b32", "or_b32")


def _reduced(form: str, operations: tuple[str, ...], dtypes: tuple[str, ...],
             shapes: tuple[str, ...] = ("1d", "2d", "3d")) -> Iterator[Case]:  # fmt: skip
    modes = ("zero", "clamp")
    for what, shape, mode, dtype in itertools.product(operations, shapes, modes, dtypes):
        name = f"red/{form}/{shape}/{mode}/{what}/{dtype}"
        wide = what.endswith("64")
        kind, channels = dtype[:2], int(dtype[3])
        data = texels(name, kind, (*SHAPES[shape], channels))
        scale = data.itemsize * channels if form == "b" else 1
        at = places(name, shape, scale, True)
        given = words(name, "f" if kind == "f4" else "i", (4, at.shape[1]))
        if wide:  # some that differ in one half only
            given[1] = np.where(given[2] % 3 == 0, given[1], (given[2] % 5).astype(np.uint32))
        yield _case(name, f"red_{form}_{shape}_{mode}_{what}", shape, data,
                    np.concatenate([at, given]))  # fmt: skip


def _plain() -> Iterator[Case]:
    empty = np.zeros((1, 1, 8, 1), np.uint32)
    r = rng("plain")
    table = r.integers(0, 1 << 32, (8, 512), np.uint32)
    edges = np.array([0, 1, 2, 3, 1 << 31, 0xFFFFFFFF], np.uint32)
    table[:, :256] = r.choice(edges, (8, 256))
    halves = table.copy()
    known = np.array([0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 1, 0x3C01], np.uint32)
    halves[[0, 2]] = r.choice(known, (2, 512)) | r.choice(known, (2, 512)) << 16
    halves[4] = r.integers(0, 2, 512)
    for name in BOTH:
        yield Case(f"plain/{name}", name, [empty], halves, rank=1, surface=True,
                   array_flags=SURFACE)  # fmt: skip
    for name in ("product", *(f"pm{k}" for k in range(8))):
        yield Case(f"plain/{name}", name, [empty], table, rank=1, surface=True,
                   array_flags=SURFACE)  # fmt: skip


def cases() -> list[Case]:
    """All of them; what may fault comes last."""
    by_bytes = [c for c in _reduced("b", _BY_BYTES, ("u4x2",))]
    sure = [*_plain(), *_written(), *by_bytes, *_reduced("p", _BY_TEXELS, ("u4x1", "i4x1"))]
    other = ("f4x1", "u1x4", "u2x2", "u4x2", "i2x1", "f2x2")
    rest = _reduced("p", ("add_b32", "min_b32", "max_b32", "or_b32"), other, ("2d",))
    wide = _reduced("p", ("min_b64", "max_b64"), ("u4x2", "i4x2"), ("1d", "2d"))
    return [*sure, *wide, *rest]


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(cubin())
