"""Rules about caches: lines that leave L1 or L2 before they are used again, and the carve-out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from warplens.analysis.advice import Context, Finding, rule
from warplens.timing.causes import CarveOut, Reuse, best_carveout, l1_reuse, l2_refetched

_LOST = 0.10  # of the sectors looked up: fewer lost hits are not worth a replay
_LEAST = 10.0  # percent of the time
_AGAIN = 1.25  # bytes fetched over those of an L2 that forgets nothing
_SCATTERED = 0.3  # of all sectors: uncoalesced accesses are to be cured first


def _is_scattered(c: Context) -> bool:
    excess = c.column("global_sectors") - c.column("global_sectors_ideal")
    return float(excess.sum()) > _SCATTERED * float(c.column("global_sectors").sum())


def _loads(c: Context) -> Any:
    return c.column("global_sectors") * c.mask("op", "ld")


def _lost_reuse(c: Context) -> Reuse | None:
    """The reuse of L1, if resident blocks touch more than it holds and lose hits by that."""
    model = c.model
    reuse: Reuse | None = c.once(l1_reuse, lambda: None if model is None else l1_reuse(model))
    if reuse is None or reuse.footprint_bytes <= reuse.size_bytes:
        return None
    return reuse if reuse.endless_hit_rate - reuse.hit_rate >= _LOST else None


@rule("L1Thrash", section="MemoryWorkloadAnalysis", title="L1 gives lines up too early")
def l1_thrash(c: Context) -> Iterator[Finding]:
    """Resident blocks touch more than L1 holds, so lines leave it before they are used again."""
    reuse = _lost_reuse(c)
    if reuse is None or _is_scattered(c):
        return
    percent = c.saving("l1_capacity") or 0.0
    other = _better_carveout(c)
    told = percent < _LEAST or (other is not None and other.saving > 0.6 * percent / 100)
    if _refetched(c) >= _AGAIN:
        told |= (c.saving("l2_capacity") or 0.0) >= max(_LEAST, 0.5 * percent)
    place = c.worst(_loads(c))
    most = f" Most loads are at {place.told}." if place else ""
    yield Finding(
        tag="INF" if told else "OPT",
        text=f"Loads find {100 * reuse.hit_rate:.0f} % of their sectors in L1; "
        f"{100 * reuse.endless_hit_rate:.0f} % would be there if it kept all. The resident blocks "
        f"touch about {reuse.footprint_bytes / 1024:,.0f} KB, L1 has {reuse.size_bytes // 1024} "
        f"KB.{most} Work on a tile that fits until it is done (in shared memory or registers), "
        "let neighbouring threads share lines, or keep fewer blocks resident.",
        percent=None if told else percent,
        kind="global",
        basis="model",
        place=place,
    )


@rule("L2Thrash", section="MemoryWorkloadAnalysis", title="L2 gives lines up too early")
def l2_thrash(c: Context) -> Iterator[Finding]:
    """Data comes from DRAM again because L2 gave it up before its next use."""
    again = _refetched(c)
    if again < _AGAIN or _is_scattered(c):
        return
    percent = c.saving("l2_capacity") or 0.0
    place = c.worst(_loads(c))
    most = f" Most loads are at {place.told}." if place else ""
    told = percent < _LEAST
    yield Finding(
        tag="INF" if told else "OPT",
        text=f"DRAM delivers {again:.1f} times the bytes that the kernel needs once: L2 "
        f"({c.gpu.l2_size_bytes / 2**20:.0f} MB) gives lines up before they are used again.{most} "
        "Do all that needs a part of the data before going to the next part (blocks over parts "
        "that fit, several steps per pass), order the blocks so that those that share data run "
        "together, or store it smaller.",
        percent=None if told else percent,
        kind="global",
        basis="model",
        place=place,
    )


def _refetched(c: Context) -> float:
    model = c.model
    return float(c.once(l2_refetched, lambda: 0.0 if model is None else l2_refetched(model)))


@rule("SharedMemoryCarveOut", section="Occupancy", title="Shared-memory carve-out")
def carve_out(c: Context) -> Iterator[Finding]:
    """A smaller carve-out would give L1 room that is worth more than the blocks it costs."""
    found, model = _better_carveout(c), c.model
    if found is None or model is None or 100 * found.saving < _LEAST:
        return
    share = round(100 * found.bytes / c.gpu.shared_per_sm_bytes)
    yield Finding(
        text=f"The carve-out for shared memory takes {model.question.carveout_bytes // 1024} KB "
        f"of the {c.gpu.l1_shared_size_bytes // 1024} KB that L1 shares. With "
        f"{found.bytes // 1024} KB an SM holds {found.blocks} "
        f"block{'s' if found.blocks > 1 else ''} at a time and L1 keeps more: "
        f"set cudaFuncAttributePreferredSharedMemoryCarveout to {share}, or use less shared "
        "memory per block.",
        percent=100 * found.saving,
        kind="global",
        basis="model",
        place=c.worst(_loads(c)),
    )


def _better_carveout(c: Context) -> CarveOut | None:
    """The best smaller carve-out, if L1 loses hits."""
    block = c.kernel.static_shared + c.execution.dynamic_shared
    model = c.model
    if not block or model is None or _lost_reuse(c) is None:
        return None
    sizes = tuple(sorted(1024 * size for size in c.gpu.carveouts_kb))
    each = -(-(block + c.gpu.shared_reserved_bytes) // 1024) * 1024
    found: CarveOut | None = c.once(best_carveout, lambda: best_carveout(model, sizes, each))
    return found
