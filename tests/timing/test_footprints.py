"""Lines of blocks that were not sampled, against those that all blocks of a wave touch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import warplens as wl
from tests.timing.touching import accesses
from warplens.execute.trace import ELSEWHERE
from warplens.timing.footprints import footprints
from warplens.timing.plans import spread
from warplens.timing.sharing import sharing
from warplens.timing.touched import Touched

READ, WRITE = 1, 2
SMS, RESIDENT = 132, 4
GRID = (32, 64, 1)  # blocks
ROWS, WIDE = 4, 512  # rows and bytes that a block writes
PITCH = 16408  # bytes of a row that is read: not whole lines, so that blocks begin anywhere in one
OUTPUT = 1 << 20  # lines from the input to the output
Ints = npt.NDArray[np.int64]
Accesses = list[tuple[int, list[int]]]  # kind and lines of each


def _lines(block: int) -> Accesses:
    """As a filter of 7 x 7 pixels: kind and lines of each access of a block of one warp."""
    y, x = divmod(block, GRID[0])
    found = []
    for row in range(ROWS + 6):
        begin = (y * ROWS + row) * PITCH + x * WIDE
        found.append((READ, [*range(begin // 128, (begin + WIDE + 23) // 128 + 1)]))
    for row in range(ROWS):
        begin = (y * ROWS + row) * WIDE * GRID[0] + x * WIDE
        lines = range(begin // 128, (begin + WIDE) // 128)
        found.append((WRITE, [OUTPUT + line for line in lines]))
    return found


def _touched(blocks: Ints, lines_of: Callable[[int], Accesses] = _lines) -> Touched:
    made = [(b, kind, lines) for b in blocks.tolist() for kind, lines in lines_of(b)]
    block, kind = np.array([b for b, _, _ in made]), np.array([k for _, k, _ in made])
    counts = np.array([len(lines) for _, _, lines in made])
    table = np.concatenate([lines for _, _, lines in made]).astype(np.int64)
    found = accesses(
        len(made), block=block, kind=kind, first_line=np.cumsum(counts) - counts, n_lines=counts,
        entry=np.where(block % SMS == 0, 0, ELSEWHERE),
    )  # fmt: skip
    return Touched.of(found, table << 4 | 0b1111)


def _sampled(sms: int) -> Ints:
    places = spread(SMS, sms)
    return np.array(sorted(r * SMS + place for r in range(RESIDENT) for place in places))


def _all(blocks: range, kinds: tuple[int, ...]) -> int:
    return len({n for b in blocks for kind, lines in _lines(b) if kind in kinds for n in lines})


@pytest.mark.parametrize("sms", [10, 22, 52])
def test_lines_of_a_wave_follow_from_few_of_its_sms(sms: int) -> None:
    """Neighbours along y, which run on other SMs than the sampled ones, read six of ten rows."""
    touched = _touched(_sampled(sms))
    found = sharing(touched, RESIDENT * sms, SMS, SMS, blocks=GRID[0] * GRID[1], grid=GRID)
    wave = range(RESIDENT * SMS)
    reads = [{n for b in wave if b % SMS == sm for kind, lines in _lines(b) if kind == READ
              for n in lines} for sm in range(SMS)]  # fmt: skip

    assert found.is_exact
    assert found.chip_lines == pytest.approx(_all(wave, (READ, WRITE)), rel=0.02)
    assert found.part == pytest.approx(_all(wave, (READ,)) / sum(map(len, reads)), rel=0.1)


def test_lines_of_a_grid_that_l2_holds() -> None:
    touched = _touched(_sampled(22))
    every = range(GRID[0] * GRID[1])
    found = sharing(
        touched, RESIDENT * 22, SMS, SMS, blocks=len(every), size_lines=1e6, grid=GRID
    )
    of_block = np.mean([_all(range(b, b + 1), (READ,)) for b in every])

    assert found.chip_lines == pytest.approx(_all(every, (READ, WRITE)), rel=0.02)
    assert found.part == pytest.approx(_all(every, (READ,)) / len(every) / of_block, rel=0.03)


def _product(block: int) -> Accesses:
    """As a product of matrices without tiles: for each of 4096 steps a line of the block's rows,
    32 steps the same, and a line of B that all blocks of a row of the grid share."""
    y, x = divmod(block, 128)
    steps = range(4096)
    return [
        one for k in steps for one in ((READ, [x * 128 + k // 32]), (READ, [OUTPUT + y + 128 * k]))
    ]


@pytest.mark.parametrize("is_kept", [False, True])
def test_blocks_with_many_accesses_are_followed_too(is_kept: bool) -> None:
    """Eight sampled blocks, whose rows are their own, say little of 264; a wave reads two columns
    of B and, twice, all rows of A. Where L2 does not hold a wave's lines, it fetches all of them
    (an H200 counted 8 GB from DRAM of matrices larger than L2), else only new columns."""
    grid, resident, sms = (128, 128, 1), 2, 4
    blocks = np.array(
        sorted(62 * SMS + r * SMS + place for r in range(resident) for place in spread(SMS, sms))
    )
    found = sharing(_touched(blocks, _product), resident * sms, SMS, SMS, blocks=128 * 128,
                    size_lines=390_000 if is_kept else 40_000, grid=grid)  # fmt: skip
    wave = range(62 * SMS, 64 * SMS)
    columns = len({block // 128 for block in wave})

    assert found.is_exact
    assert found.chip_lines == pytest.approx(128 * 128 + columns * 4096, rel=0.01)
    read = 264 / 128 * 4096 if is_kept else found.chip_lines
    assert found.part == pytest.approx(read / SMS / (2 * 128 + 2 * 4096), rel=0.05)
    assert found.fresh == pytest.approx(read / found.chip_lines, rel=0.05)


def test_what_earlier_waves_have_brought_is_known_line_by_line() -> None:
    """Of a product without tiles the second wave finds all rows of A and its own columns of B are
    new."""
    grid, resident, sms = (128, 128, 1), 2, 4
    blocks = np.array(
        sorted(r * SMS + place for r in range(3 * resident) for place in spread(SMS, sms))
    )
    found = sharing(_touched(blocks, _product), resident * sms, SMS, SMS, blocks=128 * 128,
                    size_lines=1e7, grid=grid)  # fmt: skip

    assert len(found.brought) == 2
    for waves, brought in enumerate(found.brought, 1):
        columns = {block // 128 for block in range(waves * resident * SMS)}
        lines = set(range(128 * 128))
        lines |= {OUTPUT + y + 128 * k for y in columns for k in range(4096)}
        assert len(lines ^ set(brought.tolist())) <= 0.001 * len(lines)


def test_gathers_do_not_move_along() -> None:
    rng = np.random.default_rng(3)
    where = rng.integers(0, 1 << 16, (GRID[0] * GRID[1], 8))
    touched = _touched(_sampled(22), lambda b: [(READ, [int(n)]) for n in where[b]])
    assert footprints(touched, GRID) is None


def test_blocks_along_one_side_only_tell_nothing_of_the_other() -> None:
    assert footprints(_touched(np.arange(GRID[0])), GRID) is None


def test_grids_of_which_only_the_last_blocks_stay() -> None:
    """Sampled blocks that work have higher numbers than there are such blocks; what they read is
    read by all of the chip's."""
    source = """
    extern "C" __global__ void late(float *out, const float *in, unsigned first) {
        if (blockIdx.x < first) return;
        unsigned i = (blockIdx.x - first) * blockDim.x + threadIdx.x;
        float sum = 0;
        for (unsigned j = 0; j < 64; j++) sum += in[i + j * 32768];
        out[i] = sum;
    }"""
    kernel = wl.Device("H200").compile(source)["late"]
    first, blocks = np.uint32(900), 1024
    out, data = np.zeros(1 << 15, np.float32), np.zeros(1 << 21, np.float32)
    launch = kernel.predict[blocks, 128](out, data, first)
    read = 4 * 64 * 128 * (blocks - 900)
    assert launch.metric("dram__bytes_read.sum") == pytest.approx(read, rel=0.1)
