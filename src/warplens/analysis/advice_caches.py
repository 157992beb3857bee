"""Rules about caches: lines that leave L1 or L2 before they are used again, and the carve-out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from warplens.analysis.advice import Context, Finding, rule
from warplens.timing.causes import CarveOut, Reuse, best_carveout, l1_reuse, l2_refetched
from warplens.wording import count

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


@rule("L1Thrash", section="MemoryWorkloadAnalysis", title="L1 evicts lines before reuse")
def l1_thrash(c: Context) -> Iterator[Finding]:
    """The resident blocks' working set exceeds L1, so lines are evicted before they are reused."""
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
        text=f"The L1 hit rate of loads is {100 * reuse.hit_rate:.0f} %; an L1 that evicts nothing "
        f"would reach {100 * reuse.endless_hit_rate:.0f} %. The resident blocks touch about "
        f"{reuse.footprint_bytes / 1024:,.0f} KB, L1 holds {reuse.size_bytes // 1024} KB.{most} "
        "Finish one tile that fits (in shared memory or registers) before loading the next, let "
        "neighbouring threads share lines, or keep fewer blocks resident.",
        percent=None if told else percent,
        kind="global",
        basis="model",
        place=place,
    )


@rule("L2Thrash", section="MemoryWorkloadAnalysis", title="L2 evicts lines before reuse")
def l2_thrash(c: Context) -> Iterator[Finding]:
    """Data is read from DRAM again because L2 evicted it before its next use."""
    again = _refetched(c)
    if again < _AGAIN or _is_scattered(c):
        return
    percent = c.saving("l2_capacity") or 0.0
    place = c.worst(_loads(c))
    most = f" Most loads are at {place.told}." if place else ""
    told = percent < _LEAST
    yield Finding(
        tag="INF" if told else "OPT",
        text=f"DRAM reads are {again:.1f} times the minimum: L2 "
        f"({c.gpu.l2_size_bytes / 2**20:.0f} MB) evicts lines before they are reused.{most} "
        "Process the data in parts that fit into L2 and finish each part before the next, order "
        "the blocks so that those that share data run at the same time, or use a smaller data "
        "type.",
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
    """A smaller carve-out would raise the L1 hit rate by more than the lost occupancy costs."""
    found, model = _better_carveout(c), c.model
    if found is None or model is None or 100 * found.saving < _LEAST:
        return
    share = round(100 * found.bytes / c.gpu.shared_per_sm_bytes)
    yield Finding(
        text=f"The shared-memory carve-out is {model.question.carveout_bytes // 1024} KB of the "
        f"{c.gpu.l1_shared_size_bytes // 1024} KB that L1 and shared memory divide. With "
        f"{found.bytes // 1024} KB an SM still holds {count(found.blocks, 'block')} and L1 is "
        f"larger: set cudaFuncAttributePreferredSharedMemoryCarveout to {share}, or use less "
        "shared memory per block.",
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
