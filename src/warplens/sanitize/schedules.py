"""Other orders of warps and blocks: does a race change the result?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

import numpy as np
import numpy.typing as npt

from warplens.errors import ExecutionFault
from warplens.execute.executable import ExecutableLaunch
from warplens.execute.launch import LaunchConfig
from warplens.execute.memory import Segment
from warplens.sanitize.finding import Access, Finding

Contents = Sequence[tuple[Segment, npt.NDArray[np.uint8]]]
_MOST_BLOCKS = 1 << 20  # larger grids keep the order of their blocks


def shuffled(config: LaunchConfig, seed: int, *, blocks: bool) -> LaunchConfig:
    """The launch with another order of warps, partial ones included, and, if `blocks`, of blocks.

    The order of warps is told by the first one and the step to the next, so that any of them,
    the last with its few threads too, may come first or in the middle.
    """
    rng = np.random.default_rng(seed)
    n_warps = -(-int(np.prod(config.block)) // 32)
    steps = [step for step in range(1, n_warps + 1) if gcd(step, n_warps) == 1]
    turns = (int(rng.integers(n_warps)), int(rng.choice(steps)))
    total = int(np.prod(config.grid))
    order = None
    if blocks and 1 < total <= _MOST_BLOCKS:
        order = tuple(int(i) for i in rng.permutation(total))
    return replace(config, observer=None, heap_watch=None, warp_turns=turns, block_order=order)


def differing(expected: Contents) -> tuple[str, int] | None:
    """The first allocation whose bytes differ from the expected ones, and the first byte."""
    for segment, copy in expected:
        places = np.flatnonzero(segment.buffer != copy)
        if places.size:
            return segment.name, int(places[0])
    return None


def changed_config(launch: ExecutableLaunch, seed: int) -> LaunchConfig:
    """The launch's configuration under the order of a seed; blocks that wait for each other keep
    theirs."""
    is_strong = launch.code.program.lifted.ordered_reason.startswith("strong")
    return shuffled(launch.config, seed, blocks=not is_strong)


def run_schedule(
    launch: ExecutableLaunch, config: LaunchConfig, seed: int, expected: Contents, *, racy: bool
) -> Finding | None:
    """One run in another order; a finding if it ends differently. Memory is left as it wrote it."""
    name = launch.sass.demangled or launch.sass.name
    first = launch.sass.instructions[0]
    access = Access(
        what="launch", kernel=name, offset=0, sass=first.text.strip(), file=first.file,
        line=first.line,
    )  # fmt: skip
    details: tuple[str, ...]
    try:
        launch.with_config(config).run()
    except ExecutionFault as error:
        details = (f"schedule seed {seed}: the launch fails", *error.message.splitlines())
    else:
        found = differing(expected)
        if found is None:
            return None
        details = (f"schedule seed {seed}: {found[0]} first differs at byte {found[1]:,}",)
    return Finding(
        tool="racecheck",
        check="schedule-dependent-result",
        severity="error" if racy else "warning",
        title=f"Result of {name} depends on the order of warps and blocks",
        details=details,
        accesses=(access,),
        advice="A race changes the result." if racy else "No race was found; unordered atomics, "
        "such as floating-point sums, can also do this.",
    )
