"""Launches in clusters: sizes chosen at launch, what is counted, faults, hang-ups, refusals."""

from __future__ import annotations

import lzma
import re
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.breadth.clusters import places
from tests.in_turn import one_in

import warplens as wl
from warplens.api import LaunchOptions
from warplens.errors import Deadlock, InputError, LaunchError, MemoryFault, WarplensError

SOURCE = Path(__file__).parent.parent / "breadth" / "clusters.cu"
ARCHITECTURES = ("sm_90", "sm_100", "sm_120")


@cache
def kernel(name: str, architecture: str = "sm_90", **options: Any) -> Any:
    """One kernel of clusters.cu."""
    device = wl.Device(architecture, options=LaunchOptions(**options))
    return device.compile(SOURCE)[name]


@pytest.mark.parametrize(("architecture", "cluster"), one_in(
    12, list(product(ARCHITECTURES, ((1, 1), (4, 1), (2, 2), (1, 3)))),
    lambda case: f"{case[0]}-{case[1]}", first=6, several=True,
))
def test_size_chosen_at_launch(architecture: str, cluster: tuple[int, int]) -> None:
    """Special registers and cooperative groups know the cluster of the launch."""
    grid = (4, 6)
    out = np.zeros(13 * 24 * 3, np.int32)
    run = kernel("chosen_places", architecture)[grid, 3, 0, 0, cluster](out)

    expected = places(grid, cluster, 3)
    expected[-72:] = cluster != (1, 1)
    np.testing.assert_array_equal(out, expected)
    blocks = cluster[0] * cluster[1]
    assert run.metric("launch__cluster_size") == (blocks if blocks > 1 else 0)


def test_without_cluster() -> None:
    """A launch without clusters is one of clusters of one block."""
    out = np.zeros(13 * 24 * 3, np.int32)
    kernel("chosen_places")[(4, 6), 3](out)

    expected = places((4, 6), (1, 1), 3)
    expected[-72:] = 0
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_counts(architecture: str) -> None:
    """Instructions, requests and bytes of other blocks' shared memory, from addresses alone."""
    run = kernel("counted", architecture)[8, 32](np.zeros(256, np.int32))

    blocks = 8
    prefix = "smsp__sass_inst_executed_op_dshared"
    assert run.metric(f"{prefix}_ld.sum") == 2 * blocks
    assert run.metric(f"{prefix}_st.sum") == blocks
    assert run.metric(f"{prefix}_atom.sum") == blocks
    assert run.metric(f"{prefix}.sum") == 4 * blocks
    requests = "l1tex__t_requests_pipe_lsu_mem_dshared"
    assert run.metric(f"{requests}_op_ld.sum") == (1 + 3) * blocks
    assert run.metric(f"{requests}_op_st.sum") == blocks
    assert run.metric(f"{requests}_op_atom.sum") == blocks


@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_workers(workers: int) -> None:
    """Same bytes and counts with one and two workers; clusters stay together."""
    data = np.arange(512, dtype=np.int32)
    out = np.zeros_like(data)
    run = kernel("ring_exchange", workers=workers)[8, 64](data, out, 3)

    expected = np.roll(data.reshape(2, 4, 64), 3, axis=1) + 3
    np.testing.assert_array_equal(out, expected.ravel())
    assert run.metric("smsp__sass_inst_executed_op_dshared_st.sum") == 3 * 8 * 2


def test_step_and_sanitize() -> None:
    """A warp of a cluster's block can be stepped; sanitizers follow clusters and find nothing."""
    data, out = np.arange(512, dtype=np.int32), np.zeros(512, np.int32)
    ring = kernel("ring_exchange")
    run = ring[8, 64](data, out, 2)
    assert len(run.step(block=5, warp=1)) > 20
    report = ring.sanitize[8, 64](data, out, 2)
    assert not report.findings
    assert not any("clusters" in note for note in report.notes)


@pytest.mark.parametrize(
    ("how", "rank", "error", "words"),
    [
        (0, 5, MemoryFault, "block 5 .*the cluster has 2 blocks"),
        (1, 0, MemoryFault, "block has exited"),
        (2, 0, Deadlock, "rank 1.*waits at barrier 1"),
    ],
)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_faults(
    architecture: str, how: int, rank: int, error: type[WarplensError], words: str
) -> None:
    """Bad ranks, blocks that ended and hang-ups are named; the next launch is unharmed."""
    broken = kernel("broken", architecture)
    with pytest.raises(error) as caught:
        broken[2, 32](np.zeros(8, np.int32), how, rank)
    assert re.search(words, str(caught.value).replace("\n", " "))
    out = np.zeros(8, np.int32)
    broken[2, 32](out, 0, 1)
    assert out[0] == 1


@pytest.mark.parametrize(
    ("name", "architecture", "configuration", "error", "words"),
    [
        ("chosen_places", "sm_90", (4, 32, 0, 0, 3), LaunchError, "multiple of the cluster size"),
        ("chosen_places", "sm_90", (32, 32, 0, 0, 32), LaunchError, "clusters of 32 blocks"),
        ("chosen_places", "sm_90", (4, 32, 0, 0, 0), LaunchError, "positive"),
        ("chosen_places", "sm_90", (4, 32, 0, 0, "2"), InputError, "integers"),
        ("counted", "sm_90", (4, 32, 0, 0, 2), LaunchError, "__cluster_dims__"),
        ("counted", "sm_90", (6, 32), LaunchError, "multiple of the cluster size"),
    ],
)
def test_bad_clusters(
    name: str, architecture: str, configuration: tuple[Any, ...], error: type[Exception],
    words: str,
) -> None:  # fmt: skip
    """Cluster sizes that the GPU would refuse are refused, with the reason."""
    with pytest.raises(error, match=words):
        kernel(name, architecture)[configuration]


def test_no_clusters_before_sm_90() -> None:
    """Older GPUs have none."""
    fill = wl.Device("sm_86").compile("__global__ void f(int* o) { o[threadIdx.x] = 1; }")["f"]
    with pytest.raises(LaunchError, match="no thread block clusters"):
        fill[4, 32, 0, 0, 2]


@pytest.mark.parametrize("architecture", one_in(2, ["sm_100", "sm_120"], str))
def test_lanes_that_return_behind_the_others(architecture: str) -> None:
    """Unoptimised, ptxas 13.0 lets lanes that return wait at BSYNC for those that go on to meet the
    other block at the cluster's barrier: the kernel ends as the source says."""
    packed = Path(__file__).parent / f"early_exit_13_0_{architecture}.cubin.xz"
    kernel = wl.Device(architecture).load(lzma.decompress(packed.read_bytes()))["early_exit"]
    out = np.zeros(4, np.int32)
    kernel[4, 64](out)

    assert out.tolist() == [11, 10, 13, 12]
    assert not kernel.sanitize[4, 64](np.zeros(4, np.int32)).errors
