"""Instructions and their control words read off machine code, beside what nvdisasm lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.in_turn import one_in
from warplens.session.device import Device
from warplens.tune.mix import alone, least, mix, work
from warplens.tune.problem import Job
from warplens.tune.rows import Row, in_order

KERNELS = Path(__file__).parents[1] / "kernels"
MEMORY = re.compile(r"(LD|LDG|LDL|LDS|LDSM|LDGSTS|ST|STG|STL|STS|STSM|ATOM[SG]?|REDG?)(\.|$)")


@pytest.mark.parametrize("gpu", one_in(3, ["T4", "A100", "RTX 4090", "H200", "RTX 5090"], str))
def test_as_nvdisasm_lists(gpu: str) -> None:
    """All of a file's kernels: atomics and accesses of every space."""
    module = Device(gpu).compile(KERNELS / "memory.cu")
    for image in module.images:
        for name, listed in image.kernels.items():
            real = [one for one in listed.instructions if one.opcode != "NOP"]
            opcodes = [one.opcode for one in real]
            stalls = sum(max(1, one.control.stall) for one in real)
            waits = sum(one.control.wait_mask != 0 for one in real)
            accesses = sum(bool(MEMORY.match(opcode)) for opcode in opcodes)
            code = image.kernels.cubin.kernels[name].code

            assert mix(code) == (len(opcodes), accesses), name
            assert alone(code) == (stalls, waits), name
    assert module.kernels


def test_work() -> None:
    """Of 100 warps, an instruction takes a quarter of a turn, an access to memory a whole one."""
    job = Job(source="", kernel="k", options=(), grid=(10, 5, 1), block=(33, 1, 1), shared=0,
              cluster=None)  # fmt: skip

    assert work(job, 80, 10) == 20 * 100
    assert work(job, 80, 30) == 30 * 100


def test_least() -> None:
    """The slowest of issue, memory, and what two resident warps cannot hide."""
    job = Job(source="", kernel="k", options=(), grid=(10, 5, 1), block=(33, 1, 1), shared=0,
              cluster=None)  # fmt: skip

    def cycles(memory: float, waits: float, blocks: float) -> float:
        return least(job, instructions=80, memory=memory, stalls=100, waits=waits, blocks=blocks,
                     wait=30)  # fmt: skip

    assert cycles(10, 0, 4) == 20 * 100
    assert cycles(30, 0, 4) == 30 * 100
    assert cycles(10, 10, 1) == (100 + 30 * 10) / 2 * 100
    assert cycles(10, 10, 16) == 20 * 100


def test_alike_ones_are_ordered_by_work() -> None:
    """Within 1 % of the best the least work comes first, beyond it the time alone counts."""
    rows = [
        Row(configuration={"X": x}, gpu="H200", launch="", objective=time, facts={"work": work})
        for x, (time, work) in enumerate([(103.0, 1.0), (100.0, 9.0), (100.9, 5.0), (101.5, 2.0)])
    ]

    assert [row.configuration["X"] for row in in_order(rows)] == [2, 1, 3, 0]
    assert in_order([]) == []
