"""Which walks over textures and surfaces, and which whole kernels with them, have times recorded.

Walks are kernels of `kernels/texture_times.cu`: one warp whose samples depend on each other, or
many warps, over what L1, L2 or DRAM holds. `programs` are those of `kernels/texture_programs.cu`,
for validation alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from texture_cases import CLAMP, LAYERED, LINEAR, NORMALISED, POINT, SURFACE, WRAP, Array, Case, rng

SMS = 132
ROW_BYTES, ROWS = 16384, 4096  # of an image: 64 MiB, more than L2 holds
NEAR, LEVEL2, DRAM = "l1", "l2", "dram"  # where texels are
WARPS = (1, 4, 8, 16, 32)
# Lanes: at one texel, 32 in a row, 8 in each of four rows, each at a sector of its own.
SAME, ROW, TILE, FAR = "same", "row", "tile", "far"


@dataclass(frozen=True)
class Image:
    """Zeros: rows of so many texels of a type, behind a texture or a surface."""

    dtype: str = "f4"
    channels: int = 1
    kind: str = "array"
    filter: int = POINT
    rank: int = 2
    layers: int = 0
    surface: bool = False

    @property
    def texel_bytes(self) -> int:
        """Bytes of a texel."""
        return int(self.dtype[1]) * self.channels

    def case(self) -> Case:
        """What the recorder of samples makes an object of."""
        width = ROW_BYTES // self.texel_bytes
        shape = (1, ROWS, width)
        if self.rank == 3 or self.layers:
            shape = (4, ROWS // 4, width)
        if self.kind == "linear":
            shape = (1, 1, width * ROWS)
        flags = LAYERED * bool(self.layers) | SURFACE * self.surface
        return Case("", "", [np.zeros((*shape, self.channels), self.dtype)], np.zeros((1, 1)),
                    rank=self.rank, kind=self.kind, filter=self.filter, array_flags=flags,
                    flags=int(self.dtype == "i4"), surface=self.surface)  # fmt: skip


@dataclass(frozen=True)
class Walk:
    """A launch; what follows the image are the kernel's numbers."""

    name: str
    kernel: str
    image: Image
    blocks: int
    warps: int
    is_cold: bool
    numbers: tuple[int, ...]
    shift: float


def _lanes(how: str, image: Image, x_step: int) -> tuple[int, int, int]:
    """Lanes in a row as a power of two, and steps across and down; surfaces step in bytes."""
    if how == FAR and image.kind == "linear":
        return 5, 32 // image.texel_bytes, 0
    return {SAME: (5, 0, 0), ROW: (5, x_step, 0), TILE: (3, x_step, 1),
            FAR: (3, 16 // image.texel_bytes * x_step, 2)}[how]  # fmt: skip


def _walk(kernel: str, image: Image, how: str, where: str, blocks: int, warps: int,
          steps: int) -> Walk:  # fmt: skip
    """Places a line apart, or as far as the lanes reach, row by row."""
    size = image.texel_bytes
    unit, x_step = max(1, 128 // size), size if image.surface else 1
    is_chase = kernel.startswith("chase")
    dx, dy = {SAME: (unit, 2), ROW: (max(unit, 32), 1), TILE: (8, 4),
              FAR: (max(1, 128 // size), 8)}[how]  # fmt: skip
    if is_chase:  # so far apart that no place shares anything with the next
        dx, dy = max(dx, unit), 32 if where == DRAM else 8
    across = ROW_BYTES // size // dx
    if image.kind == "linear":
        across, dy = 1 << 30, 0
        dx = 256 if how == FAR else dx
    log = across.bit_length() - 1
    shift = 0.0 if image.surface or image.kind == "linear" else 0.5 + 0.25 * image.filter
    passes = (3 if is_chase else 4) if where == NEAR else 1
    options = (f"{image.kind}{image.rank}", f"{image.dtype}x{image.channels}", image.filter)
    name = "/".join(map(str, (kernel, *options, how, where, blocks, warps)))
    lanes = _lanes(how, image, x_step)
    return Walk(name, kernel, image, blocks, warps, where == DRAM,
                (steps, passes, log, dx * x_step, dy, *lanes), shift)  # fmt: skip


def _steps(image: Image, how: str, where: str, warps: int) -> int:
    """Samples of a warp: those of an SM come to 120 KiB, of DRAM to four times as much."""
    of_one = max(128, 1024 if how == FAR else 32 * image.texel_bytes)
    most = {NEAR: 24, LEVEL2: 120, DRAM: 120 if image.rank == 3 or image.layers else 480}[where]
    return int(np.clip((most << 10) // of_one // warps // 4 * 4, 4, 128))


IMAGES = {
    "1": Image(), "1b": Image("u1"), "4b": Image("u1", 4), "2": Image("f4", 2),
    "4h": Image("f2", 4), "4": Image("f4", 4), "pitch": Image(kind="pitch"),
    "layered": Image(layers=4), "3d": Image(rank=3), "fetch": Image("i4", kind="linear"),
}  # fmt: skip


def _filtered(image: Image) -> Image:
    return Image(image.dtype, image.channels, image.kind, LINEAR, image.rank, image.layers)


def _kernel(name: str) -> str:
    """What reads an image: by its channels, or its shape."""
    return {"1b": "1", "4b": "4", "4h": "4", "pitch": "1"}.get(name, name)


def _chases() -> Iterator[Walk]:
    for name, where in itertools.product(IMAGES, (NEAR, LEVEL2, DRAM)):
        image, steps = IMAGES[name], 256 if where == NEAR else 2048
        lanes = (SAME, ROW, TILE, FAR) if name == "1" else (SAME, ROW)
        for how in lanes:
            for one in (image,) if name == "fetch" else (image, _filtered(image)):
                yield _walk(f"chase_{_kernel(name)}", one, how, where, 1, 1, steps)
    for bits, (dtype, channels) in SURFACES.items():
        image = Image(dtype, channels, surface=True)
        for how, where in itertools.product((SAME, ROW), (NEAR, LEVEL2, DRAM)):
            yield _walk(f"chase_b{bits}", image, how, where, 1, 1, 256 if where == NEAR else 2048)
    image = Image("u4", surface=True)
    yield from (_walk("chase_turns", image, how, NEAR, 1, 1, 256) for how in (SAME, ROW))


SURFACES = {8: ("u1", 1), 32: ("u4", 1), 64: ("u4", 2), 128: ("u4", 4)}
RATES = (
    ("1", ROW, POINT), ("1", TILE, POINT), ("1", TILE, LINEAR), ("1", FAR, POINT),
    ("pitch", ROW, POINT), ("4b", ROW, POINT), ("2", ROW, POINT), ("4", ROW, POINT),
    ("4", TILE, LINEAR), ("layered", TILE, POINT), ("3d", TILE, POINT), ("3d", TILE, LINEAR),
    ("fetch", ROW, POINT), ("fetch", FAR, POINT),
)  # fmt: skip


def _rates() -> Iterator[Walk]:
    for name, how, filt in RATES:
        image = _filtered(IMAGES[name]) if filt else IMAGES[name]
        for where, warps in itertools.product((NEAR, LEVEL2, DRAM), WARPS):
            steps = _steps(image, how, where, warps)
            yield _walk(f"rate_{_kernel(name)}", image, how, where, SMS, warps, steps)
        if how != ROW and name == "1" and not filt:
            for warps in (1, 8, 32):
                steps = _steps(image, how, LEVEL2, warps)
                yield _walk(f"rate_{name}", image, how, LEVEL2, 1, warps, steps)


def _surface_rates() -> Iterator[Walk]:
    for action, bits in itertools.product(("read", "write"), SURFACES):
        image = Image(*SURFACES[bits], surface=True)
        for how in (ROW, TILE, FAR) if bits == 32 else (ROW,):
            for where, warps in itertools.product((NEAR, LEVEL2, DRAM), WARPS):
                steps = _steps(image, how, where, warps)
                yield _walk(f"rate_{action}{bits}", image, how, where, SMS, warps, steps)
            for warps in (1, 8, 32):
                steps = _steps(image, how, LEVEL2, warps)
                yield _walk(f"rate_{action}{bits}", image, how, LEVEL2, 1, warps, steps)
    image = Image("u4", surface=True)
    for how, blocks, warps in itertools.product((SAME, ROW, TILE, FAR), (1, SMS), WARPS):
        steps = _steps(image, how, LEVEL2, warps)
        yield _walk("rate_add32", image, how, LEVEL2, blocks, warps, steps)
    signed = Image("i4", surface=True)
    for warps in WARPS:
        steps = _steps(signed, ROW, LEVEL2, warps)
        yield _walk("rate_most32", signed, ROW, LEVEL2, SMS, warps, steps)


def walks() -> list[Walk]:
    """All of them."""
    return [*_chases(), *_rates(), *_surface_rates()]


@dataclass(frozen=True)
class Program:
    """A launch of a whole kernel: images of its texture and its surface, numbers it reads."""

    name: str
    kernel: str
    texture: Case | None
    surface: Case | None
    given: Array
    width: int
    height: int
    floats: int = 1  # of the result, a pixel
    block: tuple[int, int] = (16, 16)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def grid(self) -> tuple[int, int]:
        """Blocks across and down."""
        return -(-self.width // self.block[0]), -(-self.height // self.block[1])


def _image(name: str, dtype: str, shape: tuple[int, ...], **more: Any) -> Case:
    """An image of random texels."""
    r, is_float = rng(name), dtype[0] == "f"
    count = int(np.prod(shape))
    found = r.random(count, np.float32) if is_float else r.integers(0, 256, count)
    given = {"flags": 0, "mode": (CLAMP,) * 3} | more
    return Case(name, "", [found.astype(dtype).reshape(shape)], np.zeros((1, 1)), **given)


def _textured(size: int) -> Iterator[Program]:
    """Kernels with a texture alone."""
    none = np.zeros(1, np.int32)
    third, smooth = {"rank": 3}, {"filter": LINEAR, "flags": NORMALISED}
    plane, small = (1, size, size, 1), max(32, size // 8)
    solid = (small, small, small, 1)

    def one(kernel: str, image: Case, *shape: int, **more: Any) -> Program:
        return Program(f"{kernel}/{size}", kernel, image, None, none, *shape, **more)

    yield one("box3", _image("box3", "u1", plane, kind="pitch"), size, size)
    yield one("box9", _image("box9", "f4", plane), size // 2, size // 2)
    image = _image("rotate", "f4", plane, mode=(WRAP,) * 3, **smooth)
    yield one("rotate", image, size, size)
    yield one("slice", _image("slice", "f4", solid, **third, **smooth), size, size)
    yield one("march", _image("march", "u1", solid, **third, **smooth), size // 4, size // 4)
    yield one("bicubic", _image("bicubic", "f4", plane, filter=LINEAR), size, size, block=(32, 8))
    yield one("sobel", _image("sobel", "u1", plane), size, size, block=(32, 8))
    yield one("copy4", _image("copy4", "f4", (1, size // 2, size, 4)), size, size // 2, floats=4)
    image = _image("layers", "f4", (4, size // 2, size // 2, 1), array_flags=LAYERED)
    yield one("layers", image, size // 2, size // 2)
    given = rng("gather").integers(0, 4 * size * size, size * size // 2).astype(np.int32)
    image = _image("gather", "f4", (1, 1, 4 * size * size, 1), rank=1, kind="linear")
    yield Program(f"gather/{size}", "gather", image, None, given, size, size // 2, block=(128, 1))


def _surfaces(size: int) -> Iterator[Program]:
    """Kernels with a surface."""
    none, plane = np.zeros(1, np.int32), (1, size, size, 1)
    surface = {"surface": True, "array_flags": SURFACE}

    def one(kernel: str, image: Case, *shape: int, **more: Any) -> Program:
        return Program(f"{kernel}/{size}", kernel, None, image, none, *shape, **more)

    target = _image("diffused", "f4", plane, **surface)
    yield Program(f"diffuse/{size}", "diffuse", _image("diffuse", "f4", plane), target, none,
                  size, size)  # fmt: skip
    yield one("invert", _image("invert", "u1", (1, size, size, 4), **surface), size, size,
              block=(32, 8))  # fmt: skip
    yield one("turn", _image("turn", "u4", (1, size, 2 * size, 1), **surface), size, size)
    given = rng("histogram").integers(0, 256, size * size // 4).astype(np.int32)
    bins = _image("bins", "u4", (1, 16, 16, 1), **surface)
    yield Program(f"histogram/{size}", "histogram", None, bins, given, size // 2, size // 2)
    yield one("scale4", _image("scale4", "f4", (1, size, size, 4), **surface), size, size // 2)


LARGE = ("box3", "rotate", "copy4", "gather", "diffuse", "invert", "scale4")  # of 2048 x 2048 too


def programs(sizes: tuple[int, ...] = (512, 1024, 2048)) -> list[Program]:
    """All of them, of two sizes, and some of a third."""
    found = [one for n in sizes for part in (_textured, _surfaces) for one in part(n)]
    return [one for one in found if not one.name.endswith("/2048") or one.kernel in LARGE]
