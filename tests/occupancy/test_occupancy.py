"""The public occupancy functions: worked examples, arrays, errors, advice, clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warplens.errors import InputError, LaunchError, UnknownGpu
from warplens.gpus import find_gpu, list_gpus, override
from warplens.occupancy_calculator.clusters import gpc_sizes
from warplens.occupancy_calculator.launch_choices import (
    available_dynamic_shared,
    max_potential_block_size,
    max_registers_for,
)
from warplens.occupancy_calculator.occupancy import (
    NO_LIMIT,
    max_active_blocks,
    occupancy,
    occupancy_of_kernel,
)
from warplens.occupancy_calculator.steps import advise, explain


def test_h100_256_threads_40_registers_8_kb() -> None:
    """The execution-model article's example: 6 blocks, 48 warps, 75 %, limited by registers."""
    r = occupancy("H100", threads=256, registers=40, static_shared=8192)

    assert (r.blocks, r.warps, r.occupancy, r.limiters) == (6, 48, 0.75, ("registers",))
    assert (r.limit_registers, r.limit_shared, r.limit_warps) == (6, 25, 8)
    assert (r.limit_blocks, r.limit_barriers) == (32, 64)
    assert (r.allocated_registers, r.allocated_shared) == (10240, 9216)


def test_a100_two_registers_more_cost_a_quarter() -> None:
    """The occupancy chapter's cliff: 512 threads with 31 and 33 registers."""
    r = occupancy("A100", threads=512, registers=np.array([31, 33]))

    assert r.occupancy.tolist() == [1.0, 0.75] and r.blocks.tolist() == [4, 3]
    assert r.allocated_registers.tolist() == [16384, 20480]


@pytest.mark.parametrize(
    ("threads", "expected"),
    [(1024, 1), (768, 0.75), (512, 1), (256, 1), (128, 1), (64, 1), (32, 0.5)],
)
def test_a100_block_sizes(threads: int, expected: float) -> None:
    """The occupancy chapter's block sizes at few registers: 768 threads 75 %, 32 threads 50 %."""
    assert occupancy("A100", threads=threads, registers=32).occupancy == expected


EXAMPLES = """
9.0 128 40 0 0 12 0.75 registers
9.0 512 40 0 0 3 0.75 registers
9.0 256 32 8192 0 8 1.0 registers,warps
9.0 1024 20 8448 0 2 1.0 registers,warps
9.0 64 32 4096 0 32 1.0 registers,warps,blocks
9.0 128 168 0 204800 1 0.0625 shared
9.0 256 255 0 0 1 0.125 registers
9.0 288 224 0 0 0 0.0 registers
8.0 768 64 0 0 1 0.375 registers
8.0 32 32 0 0 32 0.5 blocks
8.0 96 72 0 0 9 0.421875 registers
8.9 32 24 512 0 24 0.5 blocks
8.9 256 64 0 50176 2 0.3333333333333333 shared
8.9 1024 65 0 0 0 0.0 registers
8.6 96 32 0 0 16 1.0 warps,blocks
8.7 192 80 10240 0 4 0.5 registers
7.5 256 64 0 32768 2 0.5 shared
7.0 128 32 0 98304 1 0.0625 shared
10.0 256 64 0 102400 2 0.25 shared
11.0 128 40 0 16384 12 1.0 registers,warps
"""


@pytest.mark.parametrize("line", EXAMPLES.strip().splitlines())
def test_worked_examples(line: str) -> None:
    """Outputs of NVIDIA's header for typical and for extreme configurations."""
    gpu, threads, registers, static, dynamic, blocks, fraction, names = line.split()
    r = occupancy(
        gpu,
        threads=int(threads),
        registers=int(registers),
        static_shared=int(static),
        dynamic_shared=int(dynamic),
    )

    assert (r.blocks, r.occupancy) == (int(blocks), float(fraction))
    assert r.limiters == tuple(names.split(","))


def test_barriers_carveout_and_the_default_limit() -> None:
    """Sixteen barriers, a 10 % carve-out and shared memory without opt-in."""
    many = occupancy("9.0", threads=256, registers=40, barriers=16)
    small = occupancy("9.0", threads=128, registers=32, static_shared=4096, carveout=10)

    assert (many.blocks, many.limiters, many.limit_barriers) == (4, ("barriers",), 4)
    assert many.header_flags == 2 | 16  # the header still names the registers
    assert (small.blocks, small.limiters) == (6, ("shared",))
    with pytest.raises(InputError, match="default shared memory"):
        occupancy("8.0", threads=256, registers=32, dynamic_shared=60000, optin=False)
    assert occupancy("8.0", threads=256, registers=32, barriers=16).limit_barriers == NO_LIMIT


@given(
    st.integers(1, 1024), st.integers(0, 255), st.integers(0, 49152), st.integers(0, 51200),
    st.sampled_from(list_gpus()),
)  # fmt: skip
def test_results_are_consistent(threads, registers, static, dynamic, gpu) -> None:
    """The result is the least limit, the limiters bind, and nothing exceeds the SM."""
    dynamic = min(dynamic, gpu.shared_per_block_optin_bytes - static)
    r = occupancy(
        gpu, threads=threads, registers=registers, static_shared=static, dynamic_shared=dynamic
    )
    limits = {
        "registers": r.limit_registers,
        "shared": r.limit_shared,
        "warps": r.limit_warps,
        "blocks": r.limit_blocks,
        "barriers": r.limit_barriers,
    }

    assert r.blocks == min(limits.values())
    assert set(r.limiters) == {name for name, limit in limits.items() if limit == r.blocks}
    assert r.warps == r.blocks * -(-threads // 32) <= gpu.max_warps_per_sm
    assert r.blocks * r.allocated_registers <= gpu.registers_per_sm
    assert r.blocks * r.allocated_shared <= gpu.shared_per_sm_bytes


def test_arrays_broadcast_and_equal_scalars() -> None:
    """A grid of threads and registers gives what each pair gives by itself."""
    threads = np.arange(32, 1025, 96)[:, None]
    registers = np.array([16, 40, 64, 255], np.uint8)
    r = occupancy("RTX 4090", threads=threads, registers=registers, dynamic_shared=5000)

    assert r.blocks.shape == r.occupancy.shape == r.limiters.shape == (len(threads), 4)
    for i, t in enumerate(threads[:, 0]):
        for j, n in enumerate(registers):
            one = occupancy("RTX 4090", threads=int(t), registers=int(n), dynamic_shared=5000)
            assert one.blocks == r.blocks[i, j] and one.limiters == r.limiters[i, j]
            assert one.allocated_shared == r.allocated_shared[i, j]
            assert type(one.blocks) is int and type(one.occupancy) is float


def test_large_arrays_equal_their_parts() -> None:
    """Where the evaluation is cut into pieces does not show, also with barriers in some only."""
    count = 100_000
    barriers = np.where(np.arange(count) < 60_000, 0, np.arange(count) % 17)
    point = {"threads": 64, "registers": 32}
    whole = occupancy("H200", **point, barriers=barriers)
    for part in (slice(0, 40_000), slice(59_990, 60_100), slice(99_000, None)):
        piece = occupancy("H200", **point, barriers=barriers[part])
        assert (piece.blocks == whole.blocks[part]).all()
        assert (piece.limit_barriers == whole.limit_barriers[part]).all()

    assert set(whole.limit_barriers[:60_000].tolist()) == {NO_LIMIT}
    assert whole.limit_blocks.shape == whole.occupancy.shape == (count,)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"threads": 0}, "outside 1 to 1,024: the threads per block"),
        ({"threads": 2000}, "threads = 2000 is outside 1 to 1,024"),
        ({"threads": [64, 2000]}, r"threads = 2000 \(element 1\)"),
        ({"registers": 300}, "outside 0 to 255: the registers per thread"),
        ({"registers": -1}, "registers = -1"),
        ({"static_shared": -4}, "static_shared = -4"),
        ({"static_shared": 232449}, "outside 0 to 232,448: the opt-in shared memory"),
        (
            {"static_shared": 50000, "optin": False},
            "outside 0 to 49,152: the default shared memory",
        ),
        ({"dynamic_shared": -1}, "dynamic_shared = -1"),
        ({"dynamic_shared": 232449}, "outside 0 to 232,448: the opt-in shared memory"),
        ({"static_shared": 40000, "dynamic_shared": 200000}, "opt-in shared memory"),
        ({"carveout": 101}, "outside 0 to 100"),
        ({"barriers": 17}, "outside 0 to 16: the barriers per block"),
        ({"virtual_resources": 1}, "virtual resources"),
        ({"threads": 2.5}, "not an integer"),
        ({"threads": True}, "not an integer"),
        ({"threads": []}, "not an integer"),
        ({"cache_preference": "all"}, "not one of none, shared, l1, equal"),
        ({"cluster": 17}, "outside 1 to 16, the blocks per cluster"),
        ({"cluster": 2, "threads": [32, 64]}, "one configuration"),
    ],
)
def test_bad_input_names_the_limit(point, message: str) -> None:
    """Each bad value is an InputError that names the limit it breaks."""
    with pytest.raises(InputError, match=message):
        occupancy("H200", **{"threads": 128, "registers": 32, **point})


def test_unknown_gpus_and_missing_clusters_are_typed_errors() -> None:
    """An unknown name, and clusters where there are none."""
    with pytest.raises(UnknownGpu):
        occupancy("RTX 9999", threads=128, registers=32)
    with pytest.raises(InputError, match="no thread block clusters"):
        occupancy("A100", threads=128, registers=32, cluster=2)


def test_old_capabilities_have_rules() -> None:
    """Pascal: 256 threads with 40 registers give 6 blocks; 9 warps are charged as 12."""
    assert occupancy("sm_61", threads=256, registers=40).blocks == 6
    assert occupancy("6.0", threads=288, registers=224).blocks == 0


def test_an_overridden_gpu_is_used() -> None:
    """A what-if GPU with twice the registers holds twice the blocks."""
    double = override(find_gpu("H100"), {"limits.registers_per_sm": 131072})

    assert occupancy(double, threads=256, registers=64).blocks == 8


def test_advice_names_the_next_step_up_and_the_next_drop() -> None:
    """The steps are the smallest: one less does not reach them."""
    advice = advise("A100", threads=512, registers=33)
    up = next(step for step in advice.up if step.resource == "registers")

    assert (up.change, up.before, up.after) == (-1, 0.75, 1.0)
    assert up.text == "1 fewer register (32): 75 % -> 100 %"
    shared = advise("9.0", threads=256, registers=32, dynamic_shared=40000)
    step = next(step for step in shared.up if step.resource == "shared")
    point = {"threads": 256, "registers": 32}
    assert occupancy("9.0", **point, dynamic_shared=step.value).occupancy == step.after
    assert occupancy("9.0", **point, dynamic_shared=step.value + 1).occupancy == step.before
    text = explain("H100", threads=256, registers=40, static_shared=8192)
    assert "8 fewer registers (32): 75 % -> 100 %" in text and "<- limits" in text


def test_launch_choices() -> None:
    """Largest block of equals, room for shared memory, and registers for a target."""
    suggestion = max_potential_block_size("A100", registers=32, dynamic_shared=lambda b: 16 * b)

    assert (suggestion.threads, suggestion.blocks_per_sm, suggestion.grid) == (1024, 2, 216)
    assert max_registers_for("H100", 1.0, threads=256) == 32  # 65,536 / 2,048
    assert max_registers_for("H100", 0.75, threads=256) == 40
    room = available_dynamic_shared("H200", threads=256, registers=32, blocks=4)
    answer = occupancy("H200", threads=256, registers=32, dynamic_shared=np.array([room, room + 1]))
    assert answer.blocks.tolist() == [4, 3]
    assert max_active_blocks("H200", threads=128, registers=40) == 12
    with pytest.raises(InputError, match="cannot be reached"):
        max_registers_for("A100", 0.9, threads=32)
    with pytest.raises(InputError, match="outside 1 to 8"):
        available_dynamic_shared("H200", threads=256, registers=32, blocks=9)


def test_clusters_are_packed_into_gpcs() -> None:
    """SMs are spread over the GPCs; clusters of 16 leave SMs of the larger ones unused."""
    for spec in list_gpus():
        assert sum(gpc_sizes(spec)) == spec.sm_count
    r = occupancy("H200", threads=1024, registers=64, cluster=16)

    assert r.blocks == 1 and r.cluster is not None
    assert (r.cluster.clusters, r.cluster.portable, r.cluster.basis) == (8, False, "model")
    assert "cluster" in r.limiters and r.to_dict()["cluster"]["clusters"] == 8
    assert "cluster" not in occupancy("H200", threads=1024, registers=64, cluster=2).limiters


@dataclass(frozen=True)
class Kernel:
    """The part of a compiled kernel that occupancy reads."""

    name: str = "scale"
    registers: int = 40
    static_shared: int = 8192
    n_barriers: int = 0
    max_threads: tuple[int, int, int] | None = None


def test_occupancy_of_a_kernel() -> None:
    """Block shapes multiply out; launch bounds and empty blocks are refused."""
    r = occupancy_of_kernel(Kernel(), "H100", (16, 16), 0)

    assert (r.blocks, r.threads, r.limit_barriers) == (6, 256, NO_LIMIT)
    with pytest.raises(LaunchError, match="__launch_bounds__ of 128"):
        occupancy_of_kernel(Kernel(max_threads=(128, 1, 1)), "H100", 256)
    for block in (0, (0, 1), (1, 1, 1, 1), ()):
        with pytest.raises(InputError):
            occupancy_of_kernel(Kernel(), "H100", block)
