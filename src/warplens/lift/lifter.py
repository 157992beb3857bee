"""From a `SassKernel` to LLVM IR: the way in."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from warplens.lift.decode.gaps import bind_kernel, raise_gaps
from warplens.lift.engines.host import HostFeatures
from warplens.lift.regions.kernel_writer import KernelWriter
from warplens.lift.regions.lifted import Lifted
from warplens.lift.regions.watch import Watch
from warplens.sass.model import SassKernel


def lift(kernel: SassKernel, features: HostFeatures, observe: bool | Watch = False,
         tier: int = 1, single: bool = False, copied: bool = True) -> Lifted:  # fmt: skip
    """Lifts a kernel; `observe` adds the calls of execute/observe.py, all or those of a
    watch, for every instruction if `single`. `copied`: tier 0 may copy instructions' machine code
    (regions/forms.py).

    Tier 0 is compact and soon compiled, tier 1 fast; both share layout, state and counters, so a
    running launch may change from one to the other between regions.

    Raises:
        Unsupported: it uses instructions that are not known; all of them are listed.
    """
    with _without_collections():
        bound, gaps = bind_kernel(kernel)
        raise_gaps(kernel, gaps)
        known = [b for b in bound if b is not None]
        return KernelWriter(kernel, known, features, observe, tier, single).write(copied)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Python's collector looks through all objects again and again while a large kernel makes
    hundreds of thousands, none of which is garbage: half of the time of lifting."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
