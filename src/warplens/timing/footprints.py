"""Lines of blocks that were not sampled, where a block touches another's lines moved along.

In most kernels the address of an access grows by as much with every block along x, y and z. Where
the sampled blocks show that, the lines of any other block follow from its place in the grid, and
those that many blocks touch together can be counted; what few SMs share with their neighbours says
little of it where a block's neighbours run on other SMs than the sampled ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.compiled import native
from warplens.timing.state import Ints
from warplens.timing.touched import Touched, distinct

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_READ = 1
_FITTED = 64  # blocks that the steps are fitted to
_ACCESSES = 3_000_000  # of the blocks that the steps are fitted to, at most
_LINES = 3_000_000  # that are counted at a time, at most
_PARTS = 16.0  # of a line, to which steps are told apart
_NEAR = 1.25  # lines by which an access may lie beside its place
_ALL = 0.98  # of the accesses that have to lie there
_ALIKE = 0.75  # of the sampled blocks that have to make the same accesses
_TABLE = 1 << 27  # lines from the first to the last, up to which a table is quicker than sorting


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretches:
    """Lines that move along together: of block 0 from `first` to `last`, `counts` of each; by
    `steps` lines with each block along x, y and z."""

    steps: Floats
    first: Floats
    last: Floats
    counts: Ints
    are_reads: bool

    def lines(self, places: Floats) -> list[Ints]:
        """Numbers of lines that blocks at some places in the grid touch."""
        moved = np.unique(np.round(places @ self.steps * _PARTS)) / _PARTS
        found = []
        for count in np.unique(self.counts).tolist():
            mine = self.counts == count
            first, last = self.first[mine], self.last[mine]
            within = np.arange(count) / max(1, count - 1) * (last - first)[:, None]
            at = (first[:, None] + within).ravel()
            found.append(np.floor(moved[:, None] + at + 0.5).astype(np.int64).ravel())
        return found

    def most(self, places: Floats) -> float:
        """As many lines at most are counted."""
        return float(len(np.unique(np.round(places @ self.steps))) * self.counts.sum())


@dataclass(frozen=True, slots=True)
class Footprints:
    """What a block touches, and how that moves along with its place in the grid."""

    grid: tuple[int, int, int]
    stretches: tuple[Stretches, ...]

    def lines(self, blocks: Ints) -> tuple[float, float] | None:
        """How many lines some blocks touch together, and how many they read; None: too many to
        count."""
        places = _places(blocks, self.grid)[:, 1:]
        if sum(one.most(places) for one in self.stretches) > _LINES:
            return None
        read: list[Ints] = []
        others: list[Ints] = []
        for one in self.stretches:
            (read if one.are_reads else others).extend(one.lines(places))
        return _distinct([*read, *others]), _distinct(read)

    def read(self, blocks: Ints) -> Ints | None:
        """Numbers of the lines that some blocks read; None: too many."""
        places = _places(blocks, self.grid)[:, 1:]
        reading = [one for one in self.stretches if one.are_reads]
        if sum(one.most(places) for one in reading) > _LINES:
            return None
        found = [part for one in reading for part in one.lines(places)]
        return np.concatenate(found) if found else np.zeros(0, np.int64)


def _distinct(parts: list[Ints]) -> float:
    """How many different lines there are in all."""
    if not parts:
        return 0.0
    every = np.concatenate(parts)
    low, high = int(every.min()), int(every.max())
    if high - low > _TABLE:
        return float(len(distinct(every)))
    there = np.zeros(high - low + 1, np.bool_)
    there[every - low] = True
    return float(np.count_nonzero(there))


def footprints(touched: Touched, grid: tuple[int, int, int]) -> Footprints | None:
    """What the sampled blocks show; None where their accesses do not move along with them, or not
    enough of them were sampled to tell."""
    table = _accesses(touched)
    if table is None:
        return None
    blocks, first, last, counts, reads = table
    places = _places(blocks, grid)
    varied = [0] + [i + 1 for i in range(3) if grid[i] > 1]
    if len(blocks) < 2 * len(varied):
        return None
    chosen = places[:, varied]
    if np.linalg.matrix_rank(chosen) < len(varied):
        return None
    steps = np.zeros((2, first.shape[1], 4))
    for fit, lines in zip(steps, (first, last), strict=True):
        found = np.linalg.lstsq(chosen, lines, rcond=None)[0]
        near = np.abs(chosen @ found - lines) <= _NEAR
        if near.mean() < _ALL:
            return None
        fit[:, varied] = found.T
    return Footprints(grid, _stretches(steps[0], steps[1], counts, reads))


def _stretches(first: Floats, last: Floats, counts: Ints, reads: Flags) -> tuple[Stretches, ...]:
    """Accesses by how they move along: those that leave out no line and overlap or follow each
    other as one."""
    kinds = np.column_stack((np.round(first[:, 1:] * _PARTS), reads))
    kind = np.unique(kinds, axis=0, return_inverse=True)[1].ravel()
    found = []
    for number in range(int(kind.max()) + 1):
        mine = kind == number
        a, b, n = first[mine, 0], last[mine, 0], counts[mine]
        is_dense = b - a < n + 0.5
        low, high = _joined(a[is_dense], b[is_dense])
        found.append(Stretches(
            steps=first[mine, 1:].mean(axis=0), are_reads=bool(reads[mine][0]),
            first=np.append(low, a[~is_dense]), last=np.append(high, b[~is_dense]),
            counts=np.append(np.round(high - low).astype(np.int64) + 1, n[~is_dense]),
        ))  # fmt: skip
    return tuple(found)


def _joined(first: Floats, last: Floats) -> tuple[Floats, Floats]:
    """Stretches from line to line that overlap or follow each other, as one."""
    if not len(first):
        return first, last
    order = np.argsort(first)
    first, until = first[order], np.maximum.accumulate(last[order])
    starts = np.flatnonzero(np.append(True, first[1:] > until[:-1] + 1.0))
    return first[starts], until[np.append(starts[1:], len(first)) - 1]


def _accesses(touched: Touched) -> tuple[Ints, Floats, Floats, Ints, Flags] | None:
    """Some of the sampled blocks that make the same accesses; by block and access the first and the
    last line; per access how many there are between, and whether it is a read."""
    context = touched.context
    if not context["n_lines"].all():
        return None
    per_block = np.bincount(touched.block, minlength=len(touched.blocks))
    usual = int(np.bincount(per_block).argmax()) if len(per_block) else 0
    alike = np.flatnonzero(per_block == usual)
    if not usual or len(alike) < _ALIKE * len(per_block):
        return None
    fitted = min(_FITTED, _ACCESSES // usual)
    some = alike[np.unique(np.linspace(0, len(alike) - 1, fitted).round().astype(np.int64))]
    is_in = np.zeros(len(per_block), np.bool_)
    is_in[some] = True
    order = touched.by_warp[is_in[touched.block[touched.by_warp]]]
    order = order[np.argsort(touched.block[order], kind="stable")].reshape(len(some), usual)
    made = np.stack([context[name][order] for name in ("instruction", "warp", "kind")])
    if (made != made[:, :1]).any():
        return None
    size, starts = (context[name][order].astype(np.int64) for name in ("n_lines", "first_line"))
    low, high = np.empty((2, *order.shape), np.int64)
    _find_ends(touched.lines, starts, size, low, high)
    once = _unlike(low, high, context["kind"][order[0]])
    low, high, size = low[:, once], high[:, once], size[:, once]
    counts = np.round(size.mean(axis=0)).astype(np.int64)
    spans = np.round((high - low).mean(axis=0)).astype(np.int64) + 1
    counts = np.where(spans <= size.max(axis=0), np.maximum(1, spans), np.maximum(1, counts))
    reads = context["kind"][order[0, once]] == _READ
    return touched.blocks[some], low.astype(np.float64), high.astype(np.float64), counts, reads


@native
def _find_ends(lines: Ints, starts: Ints, size: Ints, low: Ints, high: Ints) -> None:
    """The first and the last line of each access of some blocks."""
    for block in range(starts.shape[0]):
        for i in range(starts.shape[1]):
            first = starts[block, i]
            least = most = lines[first] >> 4
            for at in range(first + 1, first + size[block, i]):
                least, most = min(least, lines[at] >> 4), max(most, lines[at] >> 4)
            low[block, i], high[block, i] = least, most


def _unlike(low: Ints, high: Ints, kind: Ints) -> Ints:
    """Accesses, one of each kind that reach from and to the same lines in every block."""
    odd = np.random.default_rng(0).integers(1 << 62, size=(2, len(low))) | 1
    mixed = odd[0] @ low * 31 + odd[1] @ high + kind  # modulo 2^64
    found: Ints = np.unique(mixed, return_index=True)[1]
    return found


def _places(blocks: Ints, grid: tuple[int, int, int]) -> Floats:
    """Rows of (1, x, y, z)."""
    x, rest = blocks % grid[0], blocks // grid[0]
    return np.column_stack((np.ones(len(blocks)), x, rest % grid[1], rest // grid[1])).astype(
        np.float64
    )
