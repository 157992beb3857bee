"""Texture and surface objects as the unit sees them: plain numbers in a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from warplens.execute.textures.logarithms import LOGARITHMS
from warplens.execute.textures.srgb import SRGB

# What an H200 makes of 8-bit sRGB values, in 1/65536.
LIGHT = np.array(SRGB, np.int64)
UNSIGNED, SIGNED, FLOAT = range(3)
WRAP, CLAMP, MIRROR, BORDER = range(4)
POINT, LINEAR = range(2)
TILED, PITCHED, PLAIN = range(3)  # how images lie in memory
NOTHING, TEXTURE, SURFACE = range(3)
# One row of the table. Levels stand in an array of their own, see LEVEL.
OBJECT = np.dtype(
    [(name, np.int64) for name in (
        "use", "rank", "is_cube", "is_layered", "is_memory", "layers", "kind", "bytes", "channels",
        "promotes", "is_srgb", "is_normalised", "mode_x", "mode_y", "mode_z", "filter",
        "is_seamless", "mip_filter", "n_levels", "levels", "anisotropy",
        "layout", "border_0", "border_1", "border_2", "border_3", "srgb",
        "logarithms",
    )] + [(name, np.float64) for name in ("bias", "low", "high")]
)  # fmt: skip
# int64: address, width, height, depth, bytes of a row, bytes of a slice or layer, bytes from the
# address to its allocation's end
LEVEL = 7


@dataclass(frozen=True, slots=True)
class Level:
    """One image in device memory; a slice is a layer, a face or a plane."""

    address: int
    width: int
    height: int
    depth: int
    row: int
    slice: int


@dataclass(frozen=True, slots=True)
class TextureObject:
    """How kernels see an array or memory as a texture or surface.

    Attributes:
        use: TEXTURE or SURFACE.
        rank: 1, 2 or 3; cubes have 2. layers: faces of cubes count.
        is_memory: plain memory read by index (tex1Dfetch).
        is_pitched: memory whose rows lie one behind the other; arrays lie in tiles.
        kind: UNSIGNED, SIGNED or FLOAT; size: bytes of a channel.
        promotes: integers are read as floats of 0 to 1 or -1 to 1.
    """

    use: int
    rank: int
    levels: tuple[Level, ...]
    kind: int
    size: int
    channels: int
    is_cube: bool = False
    is_layered: bool = False
    is_memory: bool = False
    is_pitched: bool = False
    layers: int = 1
    promotes: bool = False
    is_srgb: bool = False
    is_normalised: bool = False
    modes: tuple[int, int, int] = (CLAMP, CLAMP, CLAMP)
    filter: int = POINT
    is_seamless: bool = False
    mip_filter: int = POINT
    bias: float = 0.0
    low: float = 0.0
    high: float = 0.0
    anisotropy: int = 0
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


@dataclass(slots=True)
class ObjectTable:
    """All objects of a device, by number; 0 is none."""

    objects: dict[int, TextureObject] = field(default_factory=dict)
    _last: int = 0

    def add(self, made: TextureObject) -> int:
        """The number of a new object."""
        self._last += 1
        self.objects[self._last] = made
        return self._last

    def copied(self) -> ObjectTable:
        """The objects that there are now."""
        return ObjectTable(dict(self.objects), self._last)

    def packed(
        self, room: Callable[[int], int]
    ) -> tuple[npt.NDArray[np.void], npt.NDArray[np.int64]]:
        """The table for the unit, and the levels that it points to.

        `room` gives the bytes from an address to its allocation's end.
        """
        table = np.zeros(max(self.objects, default=0) + 1, OBJECT)
        count = sum(len(made.levels) for made in self.objects.values())
        levels = np.zeros((max(count, 1), LEVEL), np.int64)
        at = 0
        for number, made in self.objects.items():
            for level in made.levels:
                levels[at] = (level.address, level.width, level.height, level.depth, level.row,
                              level.slice, room(level.address))  # fmt: skip
                at += 1
            _fill(table[number], made, levels[at - len(made.levels) :].ctypes.data)
        return table, levels


def _fill(row: np.void, made: TextureObject, levels: int) -> None:
    row["use"], row["rank"], row["kind"], row["bytes"] = made.use, made.rank, made.kind, made.size
    row["channels"], row["layers"], row["filter"] = made.channels, made.layers, made.filter
    for name in ("is_cube", "is_layered", "is_memory", "promotes", "is_srgb", "is_normalised",
                 "is_seamless", "mip_filter", "anisotropy", "bias", "low", "high"):  # fmt: skip
        row[name] = getattr(made, name)
    row["layout"] = PLAIN if made.is_memory else PITCHED if made.is_pitched else TILED
    row["mode_x"], row["mode_y"], row["mode_z"] = made.modes
    row["n_levels"], row["levels"] = len(made.levels), levels
    row["srgb"], row["logarithms"] = LIGHT.ctypes.data, LOGARITHMS.ctypes.data
    for k in range(4):
        row[f"border_{k}"] = _border(made, k) if k < made.channels else 0


def _border(made: TextureObject, channel: int) -> int:
    """The border's colour as a texel of the object has it: cut, never rounded up."""
    colour = np.float32(made.border[channel])
    bits, whole = int(colour.view(np.uint32)), (1 << 8 * made.size) - 1
    if made.kind == FLOAT and made.size == 2:
        near = np.float16(colour)
        towards = np.nextafter(near, np.float16(0)) if abs(near) > abs(colour) else near
        return int(np.float16(towards).view(np.uint16))
    if made.kind == FLOAT or not made.promotes:
        return bits & whole
    if made.kind == SIGNED:
        return int(np.floor(np.clip(float(colour), -1, 1) * (whole >> 1))) & whole
    return int(np.floor(np.clip(float(colour), 0, 1) * whole))
