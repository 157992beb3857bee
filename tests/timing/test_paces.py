"""Latencies and rates of instructions: the replay against an H200.

The recorder's own kernels (`validation/recorder/kernels/paces.cu`) run here; when a warp reads the
clock is when the replay issues that instruction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from tests.timing.replayed import clock_reads, recorder_script
from warplens.isa import families
from warplens.metrics.pipes import counted_pipes
from warplens.timing.state import PIPES
from warplens.timing.table import code_of

VALIDATION = Path(__file__).parents[2] / "validation"
RECORDED = json.loads((VALIDATION / "data" / "paces_sm90.json").read_text())
PACES = {(name, chains, warps): pace for name, chains, warps, pace in RECORDED["rows"]}
# What the model is known to get wrong (DEVIATIONS 55), and long code, of which one warp is
# enough.
KNOWN = frozenset({
    "atomg_add", "stg_32", "stg_128", "skip_32", "skip_128", "barrier_red",
    "fence_block", "cp_async_4", "atoms_cas", "clock32", "smid",
})  # fmt: skip
LONG = frozenset({
    "imma_16864_s4", "imma_16832_s4", "imma_8832_s4", "enter_8", "lanes_part", "skip_8", "fdiv",
    "ddiv", "sqrt", "dsqrt", "div", "rem",
})  # fmt: skip
# One warp alone: operands of stores are read at no cost.
ALONE = frozenset({"sts_64", "sts_128", "stmatrix_4", "redg_add"})
NAMES = sorted({name for name, _, _ in PACES} - KNOWN)
SHARE = 18  # one operation in so many is ordinary


@pytest.fixture(scope="module")
def paces() -> Iterator[Any]:
    """The recorder's script."""
    with recorder_script("paces") as script:
        yield script


@cache
def _kernels(part: int) -> wl.Module:
    """The kernels of one in `SHARE` operations, or of the matches; compiling all takes long."""
    source = (VALIDATION / "recorder" / "kernels" / "paces.cu").read_text()
    chosen = NAMES[part::SHARE] if part < SHARE else [n for n in NAMES if n.startswith("match_any")]
    head = "".join(
        f"#define KERNELS_{name} {f'BOTH({name})' if name in chosen else ''}\n"
        for name in re.findall(r"^[A-Z]\w*\((\w+),", source, re.M)
    )
    source = source.replace("#define KERNELS(NAME)", "#define BOTH(NAME)")
    return wl.Device("H200").compile(f"{head}#define KERNELS(NAME) KERNELS_##NAME\n{source}")


def _replayed(paces: Any, kernels: wl.Module, name: str, chains: str, warps: int) -> float:
    one = paces.ONES.get(paces.operations()[name])
    data = np.zeros(paces.SIZE, np.uint8)
    if one is not None:
        data = np.full(paces.SIZE // one.itemsize, one).view(np.uint8)
    clocks = np.zeros(2 * warps, np.uint32)
    reads = clock_reads(kernels[f"{chains}_{name}"], warps, clocks, data, np.uint32(0))
    return float(paces.pace(reads.reshape(warps, 2, -1)[:, 1][:, [0, -1]]))


@pytest.mark.parametrize("name", one_in(SHARE, NAMES, str))
def test_instructions_take_as_long_as_recorded(paces: Any, name: str) -> None:
    """Each on the result of the one before, in one warp; four chains in four warps and in 16."""
    kernels = _kernels(NAMES.index(name) % SHARE)
    for chains, warps in (("one", 1), ("four", 4), ("four", 16)):
        if (name in ALONE and chains == "one") or (name in LONG and warps > 1):
            continue
        found = _replayed(paces, kernels, name, chains, warps)
        recorded = PACES[name, chains, warps]
        assert found == pytest.approx(recorded, rel=0.15, abs=0.3), (chains, warps)


def test_values_that_a_match_compares_take_turns(paces: Any) -> None:
    """A warp with 32 values waits 14 times as long as one with a single value."""
    kernels = _kernels(SHARE)
    apart, same = (_replayed(paces, kernels, f"match_any{n}", "one", 1) for n in ("_apart", ""))
    recorded = PACES["match_any_apart", "one", 1] / PACES["match_any", "one", 1]
    assert apart / same == pytest.approx(recorded, rel=0.05)


@pytest.mark.parametrize(("gpu", "accumulator", "expected"), one_in(
    3, [("RTX 4090", "f16", 16), ("RTX 4090", "f32", 32), ("A100", "f16", 8), ("A100", "f32", 8)],
    lambda case: "-".join(map(str, case)), several=True,
))
def test_halves_added_up_in_halves_run_at_their_own_rate(gpu: str, accumulator: str,
                                                         expected: int) -> None:  # fmt: skip
    """m16n8k16: 4096 operations over what the chip's table says of a sub-partition."""
    registers = 2 if accumulator == "f16" else 4
    names = [f"c{i}" for i in range(registers)]
    kind = "unsigned" if accumulator == "f16" else "float"
    constraint = "+r" if accumulator == "f16" else "+f"
    c = "{" + ", ".join(f"%{i}" for i in range(registers)) + "}"
    a, b = f"%{registers}", f"%{registers + 1}"
    source = f"""extern "C" __global__ void k({kind}* out, unsigned a, unsigned b) {{
        {kind} {', '.join(f'{n} = out[{i}]' for i, n in enumerate(names))};
        asm volatile("mma.sync.aligned.m16n8k16.row.col.{accumulator}.f16.f16.{accumulator} {c}, "
            "{{{a}, {a}, {a}, {a}}}, {{{b}, {b}}}, {c};"
            : {', '.join(f'"{constraint}"({n})' for n in names)} : "r"(a), "r"(b));
        {' '.join(f'out[threadIdx.x + {32 * i}] = {n};' for i, n in enumerate(names))}
    }}"""
    kernel = wl.Device(gpu).compile(source)["k"]
    table = code_of(kernel.sass, wl.find_gpu(gpu))
    (found,) = [
        int(row["interval"])
        for row, inst in zip(table, kernel.sass.instructions, strict=True)
        if inst.opcode == "HMMA"
    ]
    assert found == expected


FENCED = """extern "C" __global__ void k(int* out, int wide) {
    out[threadIdx.x] = 1;
    if (wide) __threadfence(); else __threadfence_block();
    out[threadIdx.x + 32] = 2;
}
extern "C" __global__ void copies(const int* in, int* out) {
    __shared__ int room[32];
    unsigned to = (unsigned)__cvta_generic_to_shared(room + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\\n cp.async.commit_group;\\n"
                 "cp.async.wait_group 0;" :: "r"(to), "l"(in + threadIdx.x) : "memory");
    out[threadIdx.x] = room[threadIdx.x];
}
extern "C" __global__ void loads(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x];
}"""


def test_a_fence_for_the_gpu_holds_its_warp() -> None:
    """The compiler gives it no scoreboard: the warp itself waits, first for its store to arrive. An
    H200 takes 387 cycles behind a store of whole sectors (fences_sm90.json)."""
    kernel = wl.Device("H200").compile(FENCED)["k"]
    metric = "sm__cycles_active.avg"
    near, far = (
        float(kernel.predict[132, 32](np.zeros(64, np.int32), wide)[metric]) for wide in (0, 1)
    )
    assert 350 < far - near < 430


def test_copies_to_shared_memory_wait_for_their_data() -> None:
    """From DRAM, as loads do: a group's wait was once a constant."""
    module = wl.Device("H200").compile(FENCED)
    arrays = np.zeros(32, np.int32), np.zeros(32, np.int32)
    copied, loaded = (
        float(module[name].predict[1, 32](*arrays)["sm__cycles_active.max"])
        for name in ("copies", "loads")
    )
    assert 0 < copied - loaded < 200


def test_pipes_are_those_that_counters_count() -> None:
    """Integers and halves that an H200 counts elsewhere than others of their kind run there: with
    sums of two integers among comparisons a warp scheduler issued .86 instructions a cycle."""
    source = """
    extern "C" __global__ void kernel(int *x, unsigned *y, int n) {
        int i = threadIdx.x, sum = 0;
        for (int k = 0; k < n; k++) { if (x[i + k] > k) sum += 5; y[k] = __vmaxu2(y[k], sum); }
        x[i] = sum + 3;
    }"""
    kernel = wl.Device("H200").compile(source)["kernel"].sass
    table = code_of(kernel, wl.find_gpu("H200"))
    checked = set()
    for row, one in zip(table, kernel.instructions, strict=True):
        counted = counted_pipes(one, families.find(one), "")
        if counted & {"alu", "fma"}:
            assert PIPES[row["pipe"]] in counted, one.text
            checked.add(one.opcode)
    assert {"VIADD", "ISETP"} <= checked
