"""Puts chosen programs of recorded ones (fuzz.py) into kernels of their own, without a GPU.

`pick.py PROGRAMS COUNT LONGEST OUT` draws COUNT programs of at most LONGEST instructions from
PROGRAMS (programs.npz) by lot and writes OUT, with more programs in a kernel, so that it costs less
to run them all. `fuzz.py` records what they do there.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import assembler as a
import numpy as np
import words as w

import fuzz
import programs

TOGETHER = 50  # programs of a kernel
PROLOGUE = 15  # words before the comparisons with the block's number
_BRANCH, _MOVE = 0x947, 0x802
_ADDRESSED = (8, 36, 38)  # registers that hold places in the kernel: of BRX, of two levels of calls


def starts(kernel: programs.Kernel) -> list[int]:
    """Where each program of a kernel begins, and the end of the last."""
    found = []
    for i in range(kernel.count):
        at = PROLOGUE + 2 * i + 1
        found.append(at + 1 + distance(kernel.code[at]))
    return [*found, len(kernel.code)]


def distance(word: int) -> int:
    """Instructions from the one behind a branch to its target."""
    value = w.get(word, 16, 8) | w.get(word, 34, 48) << 8
    return (value - (value >> 55 << 56)) // 4


def moved(kernel: programs.Kernel, first: int, end: int, to: int) -> programs.Kernel:
    """The words [first, end) of a kernel, and where their BRX go, for another place in a kernel."""
    code = []
    for i, word in enumerate(kernel.code[first:end]):
        opcode, value = word & 0xFFF, w.get(word, 32, 32)
        if opcode == _MOVE and w.get(word, 16, 8) in _ADDRESSED and 16 * first < value < 16 * end:
            word = w.put(word, 32, 32, value + 16 * (to - first))
        elif opcode in programs.COMPUTED:
            word = a.with_target(word, -(to + i + 1))
        code.append(word)
    shift = 16 * (to - first)
    targets = {at + shift: [t + shift for t in own] for at, own in kernel.targets.items()
               if 16 * first <= at < 16 * end}  # fmt: skip
    return programs.Kernel(code, targets)


def together(kernel: programs.Kernel, chosen: list[tuple[programs.Kernel, int, int]]) -> (
    programs.Kernel
):  # fmt: skip
    """A kernel with the prologue of another one and these programs."""
    made = programs.Kernel(kernel.code[:PROLOGUE], count=len(chosen))
    places = [PROLOGUE + 2 * len(chosen)]
    for _, first, end in chosen:
        places.append(places[-1] + end - first)
    programs.choose(made.code, places[:-1])
    for source, first, end in chosen:
        own = moved(source, first, end, len(made.code))
        made.code += own.code
        made.targets |= own.targets
    return made


def picked(kernels: list[programs.Kernel], count: int, longest: int) -> list[tuple[int, int]]:
    """Kernels and numbers of programs that are short enough, by lot."""
    short = []
    for k, kernel in enumerate(kernels):
        places = starts(kernel)
        short += [(k, p) for p in range(kernel.count)
                  if places[p + 1] - places[p] <= longest]  # fmt: skip
    return sorted(random.Random(18).sample(short, count))


def main() -> None:
    """Writes programs.npz of the programs picked, and which they are."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("longest", type=int)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    with np.load(given.programs) as data:
        kernels = fuzz.as_kernels(data)
    pairs = picked(kernels, given.count, given.longest)
    made = []
    for i in range(0, len(pairs), TOGETHER):
        own = [(kernels[k], *starts(kernels[k])[p : p + 2]) for k, p in pairs[i : i + TOGETHER]]
        made.append(together(kernels[0], own))
    np.savez_compressed(given.out, **fuzz.as_arrays(made), picked=np.array(pairs, np.int32))
    print(len(made), "kernels,", sum(len(k.code) for k in made), "instructions")


if __name__ == "__main__":
    main()
