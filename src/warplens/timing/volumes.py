"""How many accesses of each kind the launch makes for one of the replay.

Replayed blocks are as many instructions as the grid's, but not as many loads or stores: windows of
long blocks have none of the stores at their ends, and where data decides, some SMs have more than
others. What the sampled run counted is of whole blocks from all over the grid.
"""

from __future__ import annotations

from dataclasses import dataclass

from warplens.timing.ground import Sample
from warplens.timing.question import Question, Replay

_LOADS = frozenset({"LD", "LDG", "LDL", "LDGSTS"})
_STORES = frozenset({"ST", "STG", "STL"})
_ATOMICS = frozenset({"ATOM", "ATOMG", "RED", "REDG"})
_READ, _WRITTEN = (0, 2), (1, 3)  # rows of SM's l1_looked


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """Of a kind of access: the launch's sectors for each of the replay, and those of the launch
    that stand for themselves, since the replay has none."""

    factor: float
    added: float

    def of(self, replayed: float) -> float:
        """The launch's, of a number of the replay's."""
        return replayed * self.factor + self.added


@dataclass(frozen=True, slots=True, kw_only=True)
class Volumes:
    """Of loads, stores and atomics, global and local."""

    loads: Volume
    stores: Volume
    atomics: Volume


def volumes(question: Question, sample: Sample, replay: Replay, scale: float) -> Volumes:
    """The launch's accesses; `scale`: its instructions over the replay's."""
    counted, sm = sample.execution.columns, replay.sm
    ran = float(counted["inst_executed"].sum())
    whole = question.blocks * sample.mean_work / max(1.0, ran)
    sectors = counted["global_sectors"] + counted["local_sectors"]
    sectors = sectors + counted["global_sectors_repeated"]

    def of(opcodes: frozenset[str], replayed: float) -> Volume:
        total = whole * float(sum(
            int(n) for one, n in zip(question.kernel.instructions, sectors, strict=True)
            if one.opcode in opcodes
        ))  # fmt: skip
        if not replayed:
            return Volume(factor=scale, added=total)
        return Volume(factor=total / replayed if total else scale, added=0.0)

    looked = sm["l1_looked"]
    return Volumes(
        loads=of(_LOADS, float(sum(looked[row] for row in _READ))),
        stores=of(_STORES, float(sum(looked[row] for row in _WRITTEN))),
        atomics=of(_ATOMICS, float(sm["l2_atomic"])),
    )
