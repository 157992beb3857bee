"""Register-file ports: what the model reads of recorded patterns, against cycles of an H200."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.in_turn import one_in
from tests.timing.replayed import recorder_script, recording
from warplens.gpus import find_gpu
from warplens.sass.parser import load_kernels
from warplens.timing import registers
from warplens.timing.state import CODE, PIPES, SUB
from warplens.timing.table import code_of

ROOT = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((ROOT / "data" / "ports_sm90.json").read_text())
PATTERNS = [row for row in RECORDED["patterns"] if row[-2] == 4][::7]
SEQUENCES = [row for row in RECORDED["sequences"] if row[-2] == 4]
MIXES = {
    (other, every, banks): cycles
    for other, every, banks, warps, cycles in
    json.loads((ROOT / "data" / "mixes_sm90.json").read_text())["rows"] if warps == 4
}  # fmt: skip
EVERY = 32  # rarely enough that no other unit is busy for longer
DISPATCHED: dict[str, dict[str, float]] = {}
for other, every, banks, warps, cycles in recording("dispatched")["rows"]:
    # LDS.64 and .128 write their results, atomics wait for theirs, F2F.F64 reads twice
    if warps == 4 and every == EVERY and other not in (
        "LDS.64", "LDS.128", "ATOMS", "REDG", "F2F.F64",
    ):  # fmt: skip
        DISPATCHED.setdefault(other, {})[banks] = cycles
HALVES = [row for row in recording("half_ports")["rows"] if row[-2] == 4]


@pytest.fixture(scope="module")
def ports() -> Iterator[Any]:
    """The recorder's module that replaces registers."""
    with recorder_script("ports") as script:
        yield script


@pytest.fixture(scope="module")
def cubin(ports: Any) -> bytes:
    source = (ROOT / "recorder" / "kernels" / "ports.cu").read_text()
    compiled: bytes = ports.build.Nvrtc().compile(source, "ports.cu", ("-arch=sm_90",))
    return compiled


def _cycles(cubin: bytes, name: str) -> float:
    """Cycles per instruction: of the ports, or of the pipe if that takes longer."""
    kernel = load_kernels(cubin)[f"ports_{name}"]
    code = code_of(kernel, find_gpu("H200"))
    mine = np.array([one.opcode == name.upper() for one in kernel.instructions])
    mine &= np.array([one.control.keep for one in kernel.instructions])
    places = np.flatnonzero(mine)[:256]
    assert len(places) == 256
    reads = code["reads"][places].sum(axis=0) / 256
    return float(max(code["interval"][places].mean(), *reads))


def _changed(ports: Any, cubin: bytes, name: str, replaced: Callable[..., int]) -> bytes:
    changed: bytes = ports.pattern(cubin, name, replaced)
    return changed


@pytest.mark.parametrize("row", one_in(18, PATTERNS, lambda row: "-".join(map(str, row[:6]))))
def test_operands_of_one_bank_are_read_one_after_another(row: Any, ports: Any,
                                                         cubin: bytes) -> None:  # fmt: skip
    name, a, bank_a, b, bank_b, bank_c, _, cycles = row
    operands = (a, bank_a), (b, bank_b)
    replaced = partial(ports.instruction, operands=operands, bank_c=bank_c)
    assert _cycles(_changed(ports, cubin, name, replaced), name) == pytest.approx(cycles, rel=0.04)


@pytest.mark.parametrize("row", one_in(9, SEQUENCES, lambda row: str(row[0])))
def test_ports_that_are_free_serve_the_next_instruction(row: Any, ports: Any,
                                                        cubin: bytes) -> None:  # fmt: skip
    sequence, _, cycles = row
    changed = _changed(ports, cubin, "ffma", partial(ports.mixed, sequence=sequence))
    assert _cycles(changed, "ffma") == pytest.approx(cycles, rel=0.04)


@pytest.mark.parametrize("every", [4, 8, 16, 32])
def test_wide_products_keep_all_others_from_issuing(every: int, ports: Any) -> None:
    """Among multiply-adds of four warps one costs as much more than a NOP: whichever of the warps
    comes next, it is held back."""
    source = """extern "C" __global__ void k(long long* x, const int* y) {
        x[threadIdx.x] = (long long)y[threadIdx.x] * y[threadIdx.x + 1] + x[threadIdx.x];
    }"""
    cubin: bytes = ports.build.Nvrtc().compile(source, "k.cu", ("-arch=sm_90",))
    (kernel,) = load_kernels(cubin).values()
    code = code_of(kernel, find_gpu("H200"))
    wide = [i for i, one in enumerate(kernel.instructions) if "WIDE" in one.modifiers]
    for banks in ("eoz", "ezz"):
        costs = (MIXES["IMAD.WIDE", every, banks] - MIXES["NOP", every, banks]) * every
        assert costs == pytest.approx(code["holds"][wide[0]], abs=0.15)
    assert wide and all(code["holds"][wide] == code["holds"][wide[0]])
    assert code["holds"].sum() == code["holds"][wide].sum()


def test_a_busy_port_holds_back_those_that_need_it() -> None:
    sub = np.zeros(1, SUB).view(np.recarray)[0]
    even, odd = np.zeros(2, CODE).view(np.recarray)
    even.reads, odd.reads = (3, 0), (0, 1)
    assert len(sub.pipe_free) == len(PIPES)
    registers.read.py_func(sub, even, 10)
    assert registers.busy_until.py_func(sub, even) == 13.0
    assert registers.busy_until.py_func(sub, odd) == 0.0
    registers.read.py_func(sub, even, 11)  # queued behind the first
    assert registers.busy_until.py_func(sub, even) == 16.0


@pytest.mark.parametrize("other", one_in(4, sorted(DISPATCHED), str, first=1))
def test_operands_for_other_units_are_read_one_after_another(other: str, cubin: bytes) -> None:
    """What an instruction for another unit costs among multiply-adds that read one bank or both:
    what its operands take of a port beyond its own place."""
    with recorder_script("dispatched") as script:
        prepared, pair = script.prepared(cubin)
        for banks in ("eoz", "ezz"):
            replaced = partial(script.placed, other=other, every=EVERY, banks=banks, pair=pair)
            kernel = load_kernels(script.ports.pattern(prepared, "ffma", replaced))["ports_ffma"]
            reads = code_of(kernel, find_gpu("H200"))["reads"]
            opcodes = np.array([one.opcode for one in kernel.instructions])
            loop = np.flatnonzero(opcodes == "FFMA")
            mine = np.flatnonzero(opcodes == other.split()[0].split(".")[0])
            own = reads[mine[mine > loop[0]][0]]
            busy = reads[loop].sum(axis=0) / len(loop) * (EVERY - 1) + own
            costs = (DISPATCHED[other][banks] - DISPATCHED["NOP"][banks]) * EVERY
            assert max(0.0, float(busy.max()) - EVERY) == pytest.approx(costs, abs=0.85), banks


@pytest.mark.parametrize("row", one_in(9, HALVES, lambda row: "-".join(map(str, row[:5]))))
def test_products_of_halves_read_as_others(row: Any, ports: Any, cubin: bytes) -> None:
    """Two cycles each, and three where all operands lie in one bank and none was kept."""
    form, a, b, bank_b, bank_c, _, cycles = row
    with recorder_script("half_ports") as script:
        replaced = partial(script.placed, form=form, a=a, b=b, bank_b=bank_b, bank_c=bank_c)
        changed = ports.pattern(cubin, "ffma", replaced)
    kernel = load_kernels(changed)["ports_ffma"]
    code = code_of(kernel, find_gpu("H200"))
    mine = np.array([one.opcode == "HFMA2" and "MMA" not in one.modifiers
                     for one in kernel.instructions])  # fmt: skip
    found = max(code["interval"][mine].mean(), *(code["reads"][mine].sum(axis=0) / mine.sum()))
    assert found == pytest.approx(cycles, rel=0.04)
