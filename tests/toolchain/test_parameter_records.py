"""Parameter records of `.nv.info`: both kinds that compilers write."""

from __future__ import annotations

import pytest

from warplens.toolchain.attributes import KernelFacts, Parameter

# As nvcc 13 and cuTile's compiler write parameter 2: 8 bytes at offset 0x18.
RECORDS = {0x17: "000000000200180000f02100", 0x45: "000000000200180008000004"}


@pytest.mark.parametrize("attribute", RECORDS)
def test_both_kinds_say_the_same(attribute: int) -> None:
    """Ordinal, offset and size."""
    facts = KernelFacts()
    facts.add(attribute, bytes.fromhex(RECORDS[attribute]))

    assert facts.parameters == [Parameter(2, 0x18, 8)]
