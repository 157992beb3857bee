"""Instructions counted in machine code, beside what nvdisasm lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warplens.session.device import Device
from warplens.tune.mix import mix

KERNELS = Path(__file__).parents[1] / "kernels"
MEMORY = re.compile(r"(LD|LDG|LDL|LDS|LDSM|LDGSTS|ST|STG|STL|STS|STSM|ATOM[SG]?|REDG?)(\.|$)")


@pytest.mark.parametrize("gpu", ["T4", "A100", "RTX 4090", "H200", "RTX 5090"])
def test_as_nvdisasm_lists(gpu: str) -> None:
    """All of a file's kernels: atomics and accesses of every space."""
    module = Device(gpu).compile(KERNELS / "memory.cu")
    for image in module.images:
        for name, listed in image.kernels.items():
            opcodes = [one.opcode for one in listed.instructions if one.opcode != "NOP"]
            accesses = sum(bool(MEMORY.match(opcode)) for opcode in opcodes)
            code = image.kernels.cubin.kernels[name].code

            assert mix(code) == (len(opcodes), accesses), name
    assert module.kernels
