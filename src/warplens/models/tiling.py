"""Tiles: operations, traffic and intensity of matrix products, convolutions and stencils."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from warplens.errors import InputError
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import GpuSpec
from warplens.models.scalars import integers
from warplens.occupancy_calculator.occupancy import occupancy


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Operations and memory traffic of a computation.

    Attributes:
        operations: a multiply-add counts two.
        bytes_moved: between the memory level in question and the SMs.
    """

    operations: int
    bytes_moved: int

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.operations / self.bytes_moved


def _positive(**values: int) -> None:
    for name, value in values.items():
        integers(name, value, 1)


def gemm_work(m: int, n: int, k: int, element_bytes: int = 4) -> Work:
    """C = A * B with every element of A, B and C moved once: the least traffic.

    Inputs: C is m x n, the inner size is k; bytes per element.
    Formula: 2mnk operations; (mk + kn + mn) * element_bytes bytes.
    Source: definition of the product.

    >>> gemm_work(4096, 4096, 4096).intensity
    682.6666666666666
    """
    _positive(m=m, n=n, k=k, element_bytes=element_bytes)
    return Work(operations=2 * m * n * k, bytes_moved=(m * k + k * n + m * n) * element_bytes)


def tiled_gemm_work(
    m: int, n: int, k: int, tile_m: int, tile_n: int, element_bytes: int = 4
) -> Work:
    """C = A * B computed in tiles of C, each block streaming its rows of A and columns of B.

    Inputs: as `gemm_work`; the tile of C that one block computes (1 x 1: no reuse at all).
    Formula: bytes = (mk * ceil(n / tile_n) + kn * ceil(m / tile_m) + mn) * element_bytes.
    Source: every column of tiles reads A once, every row of tiles reads B once.

    >>> round(tiled_gemm_work(1024, 1024, 1024, 1, 1).intensity, 4)
    0.2499
    >>> round(tiled_gemm_work(1024, 1024, 1024, 32, 32).intensity, 4)
    7.8769
    """
    _positive(m=m, n=n, k=k, tile_m=tile_m, tile_n=tile_n, element_bytes=element_bytes)
    elements = m * k * -(-n // tile_n) + k * n * -(-m // tile_m) + m * n
    return Work(operations=2 * m * n * k, bytes_moved=elements * element_bytes)


def convolution_work(
    batch: int,
    channels_in: int,
    channels_out: int,
    height: int,
    width: int,
    kernel: int,
    *,
    stride: int = 1,
    padding: int = 0,
    element_bytes: int = 4,
) -> Work:
    """A 2-D convolution with input, weights and output moved once.

    Inputs: images, channels, image size, square kernel, stride, padding on each side, element size.
    Formula: 2 * N * Ho * Wo * Co * Ci * K^2 operations with Ho = (H + 2p - K) div s + 1;
    (N*Ci*H*W + Co*Ci*K^2 + N*Co*Ho*Wo) * element_bytes bytes.
    Source: definition of the convolution.

    >>> round(convolution_work(1, 64, 64, 56, 56, 3, padding=1).intensity, 1)
    131.9
    """
    _positive(batch=batch, channels_in=channels_in, channels_out=channels_out, height=height)
    _positive(width=width, kernel=kernel, stride=stride, element_bytes=element_bytes)
    integers("padding", padding, 0)
    rows = (height + 2 * padding - kernel) // stride + 1
    columns = (width + 2 * padding - kernel) // stride + 1
    if rows < 1 or columns < 1:
        raise InputError(f"a kernel of {kernel} does not fit an image of {height} x {width}")
    weights = channels_out * channels_in * kernel * kernel
    outputs = batch * channels_out * rows * columns
    inputs = batch * channels_in * height * width
    return Work(
        operations=2 * outputs * channels_in * kernel * kernel,
        bytes_moved=(inputs + weights + outputs) * element_bytes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StencilTile:
    """One tile shape of a stencil with its halo.

    Attributes:
        tile: outputs per block along each axis, innermost first; loaded: with the halo.
        shared_bytes: the tile with its halo.
        reads_per_output: elements loaded per output (1 is ideal).
        occupancy: with one thread per output column of the tile's first two axes.
    """

    tile: tuple[int, ...]
    loaded: int
    shared_bytes: int
    reads_per_output: float
    occupancy: float
    threads: int


def stencil_tile(
    gpu: str | GpuSpec,
    tile: Sequence[int],
    radius: int,
    *,
    element_bytes: int = 4,
    registers: int = 32,
) -> StencilTile:
    """Loads, shared memory and occupancy of a stencil tile.

    Inputs: GPU; outputs per block along each axis; reach of the stencil; element size; registers
    per thread.
    Formula: loaded = product of (t_i + 2 * radius); reads per output = loaded / product of t_i.
    Source: each block loads its tile with a halo once.

    >>> t = stencil_tile("H200", (32, 8), 1)
    >>> t.loaded, t.shared_bytes, round(t.reads_per_output, 3), t.occupancy
    (340, 1360, 1.328, 1.0)
    """
    sides = tuple(int(side) for side in integers("tile", tile, 1))
    integers("radius", radius, 0)
    loaded = math.prod(side + 2 * radius for side in sides)
    shared = loaded * element_bytes
    threads = math.prod(sides[:2])
    point = occupancy(gpu, threads=threads, registers=registers, dynamic_shared=shared)
    return StencilTile(
        tile=sides,
        loaded=loaded,
        shared_bytes=shared,
        reads_per_output=loaded / math.prod(sides),
        occupancy=point.occupancy,
        threads=threads,
    )


def choose_stencil_tile(
    gpu: str | GpuSpec,
    radius: int,
    dimensions: int = 2,
    *,
    element_bytes: int = 4,
    registers: int = 32,
    min_occupancy: float = 0.5,
) -> StencilTile:
    """The tile that loads the fewest elements per output at sufficient occupancy.

    Inputs: as `stencil_tile`; 1 to 3 dimensions; the least occupancy that hides latency.
    Formula: minimum of `stencil_tile(...).reads_per_output` over all tiles with x a multiple of 32
    (rows stay coalesced) and x * y threads; the higher occupancy, then the smaller tile, wins.
    Source: exhaustive search.

    >>> choose_stencil_tile("RTX 4090", 1).tile
    (32, 32)
    """
    spec = find_gpu(gpu)
    if not 1 <= dimensions <= 3:
        raise InputError(f"dimensions = {dimensions} is outside 1 to 3")
    most = spec.max_threads_per_block
    first = range(32, most + 1, 32)
    axes = [first, range(1, most // 32 + 1), (1, 2, 4, 8, 16, 32, 64)][:dimensions]
    found = []
    for sides in itertools.product(*axes):
        loaded = math.prod(side + 2 * radius for side in sides) * element_bytes
        if math.prod(sides[:2]) <= most and loaded <= spec.shared_per_block_optin_bytes:
            tile = stencil_tile(
                spec, sides, radius, element_bytes=element_bytes, registers=registers
            )
            if tile.occupancy >= min_occupancy:
                found.append(tile)
    if not found:
        raise InputError(
            f"no tile of radius {radius} reaches an occupancy of {min_occupancy} on {spec.name}",
            hint="Lower min_occupancy, registers or the radius.",
        )
    return min(found, key=lambda t: (t.reads_per_output, -t.occupancy, t.shared_bytes))
