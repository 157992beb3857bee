"""What a build tells an observer (execute/observe.py)."""

from __future__ import annotations

from dataclasses import dataclass

# Instructions that an observer may be told of: they order threads or memory, or end lanes.
SYNC_ROLES = frozenset({
    "bar", "warpsync", "fence", "exit", "bssy", "bsync", "break", "call", "ret", "trap", "yield",
    "cluster_arrive", "cluster_wait", "shuffle",
})  # fmt: skip
# groups of asynchronous copies; bulk copies, products of warpgroups and their groups
COPY_ROLES = frozenset({"copy_commit", "bulk"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What a build shows.

    Attributes:
        accesses: every access as it happens, its memory resolved, constant banks by an index in a
            register included; such code serves no row inline.
        blocks: the start of every lifted block.
        syncs: roles out of SYNC_ROLES and COPY_ROLES.
        checks: every access goes to the check function first, which answers with the lanes that
            may go on; the code behind is the ordinary one.
        first_shared: accesses to shared memory below it are faults: that is the system's.
        parts: instructions that are shown when only a part of a warp's lanes executes them.
        needless: instructions whose results are not computed (decode/needless.py).
    """

    accesses: bool = False
    blocks: bool = False
    syncs: frozenset[str] = frozenset()
    checks: bool = False
    first_shared: int = 0
    parts: frozenset[int] = frozenset()
    needless: frozenset[int] = frozenset()


UNWATCHED = Watch()
WATCH_ALL = Watch(accesses=True, blocks=True, syncs=SYNC_ROLES)
