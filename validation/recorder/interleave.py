"""Records what tensor copies of interleaved layouts (slices of 16 or 32 bytes of channels) give.

`python interleave.py --build CUBINS` compiles; `python interleave.py CUBINS OUT` needs a GPU.
"""

from __future__ import annotations

import sys
from math import prod
from pathlib import Path

import numpy as np
from cuda_driver import CudaError
from hopper_cases import Case, Map
from hopper_units import sources
from session import Session

from hopper import build, run

# interleave, kind, sizes, box, at, swizzle, steps
SHAPES = (
    (1, 6, (8, 16, 12, 4), (8, 4, 3, 2), (0, 2, 1, 1), 0, (1, 1, 1, 1)),
    (1, 6, (8, 16, 12, 4), (8, 4, 3, 2), (0, 14, 10, 3), 0, (1, 1, 1, 1)),
    (1, 6, (32, 16, 12, 4), (32, 4, 3, 2), (0, 2, 1, 1), 0, (1, 1, 1, 1)),
    (1, 6, (32, 16, 12, 4), (16, 4, 3, 2), (8, 2, 1, 1), 0, (1, 1, 1, 1)),
    (1, 6, (64, 16, 12), (8, 4, 3), (0, 2, 1), 0, (1, 1, 1)),
    (1, 6, (64, 16, 12), (8, 4, 3), (1, 2, 1), 0, (1, 1, 1)),
    (1, 6, (64, 16, 12), (8, 4, 3), (8, 2, 1), 0, (1, 1, 1)),
    (1, 6, (16, 16, 12), (16, 4, 3), (0, -1, -1), 0, (1, 1, 1)),
    (1, 6, (4, 16, 12), (4, 4, 3), (0, 2, 1), 0, (1, 1, 1)),
    (1, 6, (4, 16, 12), (2, 4, 3), (2, 2, 1), 0, (1, 1, 1)),
    (1, 6, (16, 16, 12), (16, 4, 3), (0, 2, 1), 1, (1, 1, 1)),
    (1, 0, (16, 16, 12), (16, 4, 3), (0, 2, 1), 0, (1, 1, 1)),
    (1, 7, (4, 16, 12, 3, 2), (4, 4, 3, 2, 2), (0, 2, 1, 1, 0), 0, (1, 1, 1, 1, 1)),
    (1, 6, (8, 16, 12), (8, 8, 6), (0, 0, 0), 0, (1, 2, 2)),
    (2, 6, (16, 16, 12, 4), (16, 4, 3, 2), (0, 2, 1, 1), 1, (1, 1, 1, 1)),
    (2, 6, (16, 16, 12, 4), (16, 4, 3, 2), (0, 14, 10, 3), 1, (1, 1, 1, 1)),
    (2, 6, (64, 16, 12), (16, 4, 3), (0, 2, 1), 1, (1, 1, 1)),
    (2, 6, (64, 16, 12), (16, 4, 3), (1, 2, 1), 1, (1, 1, 1)),
    (2, 6, (64, 16, 12), (32, 4, 3), (0, 2, 1), 1, (1, 1, 1)),
    (2, 6, (64, 16, 12), (16, 4, 3), (16, 2, 1), 1, (1, 1, 1)),
    (2, 6, (16, 16, 12), (16, 4, 3), (0, 2, 1), 0, (1, 1, 1)),
    (2, 6, (16, 16, 12), (16, 4, 3), (0, 2, 1), 2, (1, 1, 1)),
    (2, 0, (32, 16, 12), (32, 4, 3), (0, 2, 1), 1, (1, 1, 1)),
    (2, 7, (8, 16, 12, 3, 2), (8, 4, 3, 2, 2), (0, 2, 1, 1, 0), 1, (1, 1, 1, 1, 1)),
)
# interleave, sizes, corners, channels, pixels, at, offsets, swizzle
IM2COL = (
    (1, (8, 9, 8, 3), ((-1, -1), (-1, -1)), 8, 40, (0, -1, -1, 0), (1, 2), 0),
    (1, (32, 9, 8, 3), ((-1, -1), (-1, -1)), 16, 40, (8, -1, -1, 0), (1, 2), 0),
    (2, (16, 9, 8, 3), ((-1, -1), (-1, -1)), 16, 40, (0, -1, -1, 0), (1, 2), 1),
    (2, (64, 9, 8, 3), ((0, 0), (0, 0)), 16, 40, (16, 0, 0, 0), (0, 0), 1),
)
ELEMENTS = {0: 1, 6: 2, 7: 4}


def _case(name: str, kernel: str, given: Map, at: tuple[int, ...], offsets: tuple[int, ...],
          size: int, whole: int) -> Case:  # fmt: skip
    words = np.arange(1, whole // 2 + 1).astype(np.uint16)
    coordinates = map(np.int32, (*at, 0, 0, 0, 0)[:5])
    o = map(np.int32, (*offsets, 0, 0, 0)[:3])
    pieces = -(-size // 2048) * 128 + 128
    out = np.zeros(16 * pieces, np.uint8)
    return Case(name=name, unit="copies", kernel=kernel, block=128, shared=16 * pieces + 1024,
                arguments=(given, *coordinates, *o, np.int32(size), np.int32(pieces), out),
                kept=(11,), hidden={-1: words.view(np.uint8)})  # fmt: skip


def cases() -> list[Case]:
    """Every launch; with dense strides, whatever the layout makes of them."""
    found = []
    for i, (interleave, kind, sizes, box, at, swizzle, steps) in enumerate(SHAPES):
        strides, step = [], 16 * interleave  # a slice of channels is innermost
        for size in sizes[1:]:
            strides.append(step)
            step *= size
        given = Map(array=-1, kind=kind, sizes=sizes, strides=tuple(strides), box=box, steps=steps,
                    swizzle=swizzle, interleave=interleave)  # fmt: skip
        size = prod(-(-b // s) for b, s in zip(box, (1, *steps[1:]), strict=True)) * ELEMENTS[kind]
        found.append(_case(f"tile{i}", f"tile{len(sizes)}", given, at, (), size, 8 * step))
    for i, (interleave, sizes, corners, channels, pixels, at, o, swizzle) in enumerate(IM2COL):
        strides, step = [], 16 * interleave
        for size in sizes[1:]:
            strides.append(step)
            step *= size
        given = Map(array=-1, kind=6, sizes=sizes, strides=tuple(strides), steps=(1,) * len(sizes),
                    corners=corners, channels=channels, pixels=pixels, swizzle=swizzle,
                    interleave=interleave)  # fmt: skip
        size = channels * pixels * 2
        found.append(_case(f"im2col{i}", f"im2col{len(sizes)}", given, at, o, size, 8 * step))
    return found


def main() -> None:
    """Compiles, or runs every case and keeps what it left."""
    if sys.argv[1] == "--build":
        build(Path(sys.argv[2]), {"copies": sources()["copies"]})
        return
    session = Session.of_command_line(__doc__)
    driver, arrays, failed = session.driver, {}, []
    module = driver.load(session.cubin("copies"))
    for case in cases():
        try:
            arrays[case.name] = run(driver, module, case)[0]
        except CudaError as error:
            failed.append(f"{case.name}: {error}")
            print(failed[-1], flush=True)
            if "700" in str(error) or "illegal" in str(error).lower():
                break
    session.save("interleave_sm90", failed=np.array(failed, "U"), **arrays)
    print(len(arrays), "arrays,", len(failed), "launches failed")


if __name__ == "__main__":
    main()
