"""Which launches of many warps have the sectors recorded that their textures bring into L1 and L2.

Images of 16 KiB to 4 MiB, so that L1 holds all, some or none of them; each thread samples once, as
pixels of a picture, in rows, or anywhere. Some launches sample everything several times over.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from texture_cases import LINEAR, POINT, Array, Case, rng

SIDES = (64, 128, 256, 512, 1024)  # texels of four bytes
THREADS = 256
MOST = 1 << 20  # threads of a launch


def _tiles(side: int) -> tuple[Array, Array]:
    """Pixels in blocks of 32 x 8 threads."""
    i = np.arange(side * side)
    block, thread = i // THREADS, i % THREADS
    across = side // 32
    return block % across * 32 + thread % 32, block // across * 8 + thread // 32


def _squares(side: int) -> tuple[Array, Array]:
    """The same in blocks of 16 x 16."""
    i = np.arange(side * side)
    block, thread = i // THREADS, i % THREADS
    across = side // 16
    return block % across * 16 + thread % 16, block // across * 16 + thread // 16


def _columns(side: int) -> tuple[Array, Array]:
    """Warps along columns."""
    i = np.arange(side * side)
    return i // side, i % side


def _anywhere(side: int) -> tuple[Array, Array]:
    found = rng(f"sectors/{side}").integers(0, side, (2, side * side))
    return found[0], found[1]


WALKS = {"tiles": _tiles, "squares": _squares, "columns": _columns, "anywhere": _anywhere}


def cases() -> Iterator[Case]:
    """All of them."""
    for side in SIDES:
        for dtype, channels in (("f4", 1), ("u1", 4), ("f4", 4)):
            if (dtype, channels) != ("f4", 1) and side not in (128, 512):
                continue
            data = np.zeros((1, side, side, channels), dtype)
            for walk, places in WALKS.items():
                for filt in (POINT,) if dtype == "u1" else (POINT, LINEAR):
                    for times in (1, 4) if side < SIDES[-1] else (1,):
                        if times > 1 and walk not in ("tiles", "anywhere"):
                            continue
                        x, y = (np.tile(one, times) + 0.5 + 0.25 * filt for one in places(side))
                        where = np.stack([x, y]).astype(np.float32)
                        for kind in ("array", "pitch") if walk == "tiles" else ("array",):
                            yield Case(
                                f"{kind}/{dtype}x{channels}/{side}/{walk}/{filt}/{times}", "tex2",
                                [data], where, kind=kind, filter=filt, flags=int(dtype == "u1"),
                                shape=(x.size // THREADS, THREADS),
                            )  # fmt: skip
