"""Findings of the pass for lock sets: accesses that only the order of taking a lock separates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warplens.sanitize import state as st
from warplens.sanitize.explain import Explainer, Record
from warplens.sanitize.finding import Finding

ADVICE = (
    "Whoever takes the lock first goes first; in the other order these accesses race. Hold one "
    "lock at both of them, or order them with a barrier, or with fences and a flag."
)


def lock_finding(
    finding: Finding, explainer: Explainer, record: Record, known: Sequence[Finding]
) -> Finding | None:
    """A race that only this pass has found, told as what it is; None for remarks and known ones."""
    if finding.tool != "racecheck" or not finding.is_counted or len(finding.accesses) != 2:
        return None
    pair = _pair(finding)
    if any(_pair(other) == pair for other in known if other.tool == "racecheck"):
        return None
    second, first = finding.accesses
    return replace(
        finding,
        check="ordered-by-lock-only",
        severity="warning",
        title=f"Only the order of taking a lock separates {first.what.capitalize()} access at "
              f"{first.where}",
        details=(
            *finding.details,
            f"{first.what} first: {_locks_of(explainer, int(record[st.R_MASK]))}",
            f"{second.what} then: {_locks_of(explainer, int(record[st.R_HOST]))}",
        ),
        advice=ADVICE,
    )  # fmt: skip


def _pair(finding: Finding) -> list[int]:
    """The two instructions, in either order; with lines, the lines."""
    return sorted(finding.lines) or sorted(access.offset for access in finding.accesses)


def _locks_of(explainer: Explainer, key: int) -> str:
    """Under which lock an access was made."""
    if not key:
        return "no lock is held"
    if key & st.SHARED_LOCK:
        _, place = explainer.target("shared", 0, key & st.SHARED_LOCK_OFFSET)
    else:
        segment = explainer.memory.find(key)
        base = segment.base if segment is not None else key
        _, place = explainer.target("global", base, key - base)
    return f"the lock at {place or hex(key)} is held"
