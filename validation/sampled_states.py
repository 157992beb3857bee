"""Compares where warps wait, instruction by instruction, with samples of an H200.

    python validation/sampled_states.py CUBINS.json.xz [CUBINS.json.xz ...] [--only KEY]

CUBINS are packs of `suites_apart.py compile`; of their launches those that were sampled
(`data/sampled_states*_sm90.json.xz`, recorded by `recorder/suite_samples.py`) are predicted. For
each of them: how far predicted shares of warps' cycles are from the samples', by state, by
instruction and by both (0 to 100 %, half the sum of absolute differences).
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from suites_apart import launched

SAMPLED = sorted((Path(__file__).parent / "data").glob("sampled_states*_sm90.json.xz"))
INSTRUCTION_BYTES = 16
NAMES = {"no_instructions": "no_instruction"}  # of the sampler's states
Shares = dict[tuple[int, str], float]


def shares_of(counts: Counter[tuple[int, str]]) -> Shares:
    """Parts of the whole."""
    whole = sum(counts.values())
    return {place: count / whole for place, count in counts.items()}


def distances(sampled: Shares, predicted: Shares) -> tuple[float, float, float]:
    """Percent of cycles that are elsewhere: by state, by instruction, by both."""

    def far(kind: int | None) -> float:
        found: defaultdict[object, float] = defaultdict(float)
        for sign, shares in ((1.0, sampled), (-1.0, predicted)):
            for place, share in shares.items():
                found[place if kind is None else place[kind]] += sign * share
        return 50.0 * sum(abs(share) for share in found.values())

    return far(1), far(0), far(None)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cubins", type=Path, nargs="+")
    parser.add_argument("--only", action="append", default=[], help="part of a launch's name")
    arguments = parser.parse_args()
    cases: dict[str, list[list[Any]]] = {}
    for recorded in SAMPLED:
        with lzma.open(recorded, "rt") as file:
            cases |= json.load(file)["cases"]
    found = []
    for path in arguments.cubins:
        with lzma.open(path, "rt") as file:
            units = json.load(file)
        for unit in units:
            for case in unit["cases"]:
                key, keys = case["key"], arguments.only
                if key not in cases or (keys and not any(text in key for text in keys)):
                    continue
                table = launched("H200", unit["cubin"], case).timing.stalls_by_instruction()
                predicted = Counter({(at, state): float(cycles)
                                     for state, column in table.items()
                                     for at, cycles in enumerate(column) if cycles})  # fmt: skip
                sampled: Counter[tuple[int, str]] = Counter()
                for offset, state, count in cases[key]:
                    sampled[offset // INSTRUCTION_BYTES, NAMES.get(state, state)] += count
                found.append(distances(shares_of(sampled), shares_of(predicted)))
                print(f"{key:56s} states {found[-1][0]:5.1f} instructions {found[-1][1]:5.1f} "
                      f"both {found[-1][2]:5.1f}", flush=True)  # fmt: skip
    if found:
        print("mean of", len(found), *(f"{one:.1f}" for one in np.mean(found, axis=0)))


if __name__ == "__main__":
    main()
