"""Recovers the tables of the multi-function unit from dumps (needs SciPy).

    python validation/mufu_fit.py DUMP.npz [--check]

DUMP.npz is what `recorder/mufu.py` wrote. Every segment of every function gives intervals: the
real number before truncation lies between a result and the next float. A linear program finds the
quadratic that satisfies them; its coefficients turn out to be integers of few bits; with c1 and c2
rounded, integer arithmetic gives the exact range of c0. `--check` compares with the committed file
instead of writing it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

sys.path.insert(0, str(Path(__file__).parent / "recorder"))
from mufu import unpack
from mufu_model import DATA, TANH_SPLIT, truncated_square

Array = npt.NDArray[Any]
N = 1 << 17
Row = tuple[int, int, int]


def quadratic(low: Array, high: Array, terms: Array) -> Array:
    """Coefficients of the columns of `terms` whose sum lies in [low, high), by cutting planes."""
    base, *_ = np.linalg.lstsq(terms, (low + high) / 2, rcond=None)
    residual = terms @ base
    low, high = low - residual, high - residual
    chosen = np.arange(0, len(low), max(1, len(low) // 200))
    chosen = np.union1d(chosen, np.union1d(np.argsort(high)[:50], np.argsort(low)[-50:]))
    for _ in range(150):
        rows, one = terms[chosen], np.ones((len(chosen), 1))
        solution = linprog(
            [0, 0, 0, 1],
            A_ub=np.vstack([np.hstack([rows, -one]), np.hstack([-rows, -one])]),
            b_ub=np.concatenate([high[chosen], -low[chosen]]),
            bounds=[(None, None)] * 4,
            method="highs",
        ).x
        value = terms @ solution[:3]
        excess = np.maximum(value - high, low - value) - solution[3]
        worst = np.argpartition(excess, -10)[-10:]
        worst = worst[excess[worst] > 1e-7]
        if not len(worst):
            break
        chosen = np.union1d(chosen, worst)
    result: Array = base + solution[:3]
    return result


def segment(low: Array, high: Array, x: Array, bits: int, steps: tuple[int, int]) -> Row:
    """(c0, c1, c2) with low <= c0 + c1 x + c2 square(x) < high, in integers of 2**-bits.

    c1 is a multiple of steps[0] and c2 of steps[1]; x is the 17-bit offset.
    """
    square = truncated_square(x)
    terms = np.stack([np.ones(len(x)), x / N, square / (N / 4)], axis=1)
    unit = 2.0**bits
    found = quadratic(low / unit, high / unit, terms)
    guess = found[1] * unit / N / steps[0], found[2] * unit / (N / 4) / steps[1]
    for d1 in (0, -1, 1, -2, 2):
        for d2 in (0, -1, 1, -2, 2, -3, 3):
            c1, c2 = (round(guess[0]) + d1) * steps[0], (round(guess[1]) + d2) * steps[1]
            rest = c1 * x + c2 * square
            least, most = int((low - rest).max()), int((high - rest - 1).min())
            if least <= most:
                return _roundest(least, most), c1, c2
    raise ValueError("no integer quadratic fits this segment")


def _roundest(least: int, most: int) -> int:
    """The number in [least, most] with the most trailing zeros."""
    for zeros in range(60, -1, -1):
        number = -(-least >> zeros) << zeros
        if number <= most:
            return number
    return least


def value_range(words: Array, fraction_bits: int) -> tuple[Array, Array]:
    """Magnitudes of floats and of their successors as multiples of 2**-fraction_bits."""

    def scaled(bits: Array) -> Array:
        shift = (bits >> 23) - 150 + fraction_bits
        mantissa = bits & 0x7FFFFF | 0x800000
        left, right = np.clip(shift, 0, 38), np.clip(-shift, 0, 38)
        return np.where(shift >= 0, mantissa << left, mantissa >> right)

    magnitude = words.astype(np.int64) & 0x7FFFFFFF
    return scaled(magnitude), scaled(magnitude + 1)


class Dumps:
    """The packed arrays of a recording."""

    def __init__(self, path: Path) -> None:
        self._file = np.load(path)
        self.metadata: dict[str, Any] = json.loads(str(self._file["metadata"]))

    def full(self, name: str, exponent: int) -> Array:
        """Results for all 2**23 mantissas of one exponent."""
        return unpack(self._file[f"full_{name}_{exponent}"].tobytes()).astype(np.int64)


def bit_patterns(results: Array, width: int, steps: tuple[int, int], skip: int = 0) -> list[Row]:
    """Segments of functions whose result's bits, read as an integer, are the truncated sum.

    The first `skip` results of all are exceptions of the hardware.
    """
    rows = []
    n = 1 << width
    for first in range(0, len(results), n):
        ordinary = slice(skip if first == 0 else 0, None)
        words = results[first : first + n][ordinary]
        x = (np.arange(n) << (17 - width))[ordinary]
        rows.append(segment(words << 18, words + 1 << 18, x, 18, steps))
    return rows


def sine(dumps: Dumps) -> list[Row]:
    """The first quarter: its upper half from SIN, its lower half from COS with inverted offset."""
    upper, lower = dumps.full("SIN", 124)[::2], dumps.full("COS", 124)[::2][::-1]
    both = np.concatenate([lower, upper])
    rows = []
    for s in range(64):
        words, x = both[s * N : (s + 1) * N], np.arange(N)
        keep = words > 0x34800000  # smaller results have fewer bits than the common unit
        low, high = value_range(words[keep], 37 + 9)
        c0, c1, c2 = segment(low, high, x[keep], 46, (512, 512))
        rows.append((c0 >> 9, c1 >> 9, c2 >> 9))
    return rows


def logarithm(dumps: Dumps) -> list[Row]:
    """The mantissa's logarithm; x = 1 itself is an exception of the hardware."""
    words = dumps.full("LG2", 127)
    rows = []
    for s in range(64):
        x = np.arange(N)[1 if s == 0 else 0 :]
        low, high = value_range(words[s * N + x], 38 + 10)
        c0, c1, c2 = segment(low, high, x, 48, (1 << 10, 1 << 11))
        rows.append((c0 >> 10, c1 >> 10, c2 >> 10))
    return rows


def tangent(dumps: Dumps) -> list[Row]:
    """One, two, ... sixteen segments for each binade from 2**-8 to 8."""
    rows = []
    for exponent, split in zip(range(119, 130), TANH_SPLIT, strict=True):
        words = dumps.full("TANH", exponent)
        step = 1 << (6 - split)
        for s in range(1 << split):
            low, high = value_range(words[s * N * step : (s + 1) * N * step : step], 39 + 9)
            c0, c1, c2 = segment(low, high, np.arange(N), 48, (1 << 9, 1 << 10))
            rows.append((c0 >> 9, c1 >> 9, c2 >> 9))
    return rows


def fit(dumps: Dumps) -> dict[str, list[Row]]:
    """All tables."""
    return {
        "rcp": bit_patterns(dumps.full("RCP", 127), 16, (2, 4)),
        "rsq": bit_patterns(dumps.full("RSQ", 127), 17, (4, 8), skip=1)
        + bit_patterns(dumps.full("RSQ", 128), 17, (4, 8)),
        "sqrt": bit_patterns(dumps.full("SQRT", 127), 17, (2, 4))
        + bit_patterns(dumps.full("SQRT", 128), 17, (2, 4)),
        "ex2": bit_patterns(dumps.full("EX2", 127) - (1 << 23), 17, (8, 8)),
        "sin": sine(dumps),
        "lg2": logarithm(dumps),
        "tanh": tangent(dumps),
    }


def text(tables: dict[str, list[Row]], metadata: dict[str, Any]) -> str:
    """The JSON file."""
    recorded = {k: metadata[k] for k in ("gpu", "driver", "nvrtc", "date")}
    parts = []
    for name, rows in tables.items():
        columns = [json.dumps([r[i] for r in rows], separators=(",", ":")) for i in range(3)]
        fields = ",\n".join(f'   "c{i}": {c}' for i, c in enumerate(columns))
        parts.append(f'  "{name}": {{\n{fields}}}')
    about = "Tables of the multi-function unit of sm_90; see validation/mufu_model.py."
    body = ",\n".join(parts)
    return (
        f'{{\n "about": {json.dumps(about)},\n "recorded": {json.dumps(recorded)},\n'
        f' "tables": {{\n{body}\n }}\n}}\n'
    )


def main() -> None:
    """Fits and writes, or compares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump", type=Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    dumps = Dumps(args.dump)
    tables = fit(dumps)
    if not args.check:
        DATA.write_text(text(tables, dumps.metadata))
        return
    committed = json.loads(DATA.read_text())["tables"]
    for name, rows in tables.items():
        old = list(zip(*(committed[name][k] for k in ("c0", "c1", "c2")), strict=True))
        same = sum(r[1:] == o[1:] for r, o in zip(rows, old, strict=True))
        print(f"{name}: {len(rows)} segments, c1 and c2 as committed in {same}")


if __name__ == "__main__":
    main()
