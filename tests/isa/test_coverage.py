"""The registry against the list of opcodes that nvdisasm knows."""

from __future__ import annotations

from warplens.isa import existing, families, table
from warplens.lift.coverage import coverage
from warplens.lift.roles import ROLES


def test_every_opcode_is_accounted_for() -> None:
    """What is registered exists and has code; what is not registered has a name."""
    families.load_all()
    known = existing.existing()
    for entry in table.all_ops():
        assert entry.opcode in known
        assert entry.role == "value" or entry.role in ROLES, entry.opcode
    for one in coverage():
        assert one.meaning, one.opcode
        assert one.architectures <= set(existing.ARCHITECTURES)
    assert {one.opcode for one in coverage()} == set(known)


def test_old_instructions_stay() -> None:
    """Spot checks against NVIDIA's published lists: who has what."""
    known = existing.existing()
    assert known["FFMA"] == set(existing.ARCHITECTURES)
    assert known["LDGSTS"] == {80, 86, 89, 90, 100, 120}
    assert known["HGMMA"] == {90}
    assert known["UCGABAR_ARV"] == {90, 100, 120}
    assert known["LDTM"] == {100}
