"""Modelled copies between host and device, against measured and published ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from warplens.analysis.transfers import Copied, link_name, transfers
from warplens.api import LaunchOptions
from warplens.gpus.find import find_gpu
from warplens.gpus.spec import list_gpus, override

RECORDED = Path(__file__).parents[2] / "validation" / "data" / "transfers_sm90.json"
LANE = {3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.877e9}  # bytes/s of a lane after encoding
CUDA = """
__global__ void scale(const float* in, float* out, int n) {
    out[threadIdx.x] = 2 * in[threadIdx.x];
}
__global__ void twice(float* x, const float* y) { x[threadIdx.x] += y[threadIdx.x]; }
"""


def copies(gpu: str, size: int, memory: str) -> tuple[float, float]:
    """Both ways of one array, in ns."""
    one = Copied(name="a", to_device_bytes=size, to_host_bytes=size)
    found = transfers(find_gpu(gpu), (one,), memory)
    return float(found.host_to_device), float(found.device_to_host)


def test_generation_and_lanes_give_the_link_rate() -> None:
    """Lanes times the rate of a lane is the link's rate, on every GPU that hangs on PCIe."""
    others = []
    for gpu in list_gpus():
        if not gpu.has("board.pcie_generation"):
            others.append(gpu)
            continue
        rate = LANE[gpu.value("board.pcie_generation")] * gpu.value("board.pcie_lanes")
        assert rate == pytest.approx(gpu.value("board.link_bytes_per_second"), rel=0.005), gpu.name

    assert {g.name for g in others if g.has("board.link_bytes_per_second")} == {
        "GH200 96GB", "GB200",
    }  # fmt: skip
    assert link_name(find_gpu("RTX 4060")) == "PCIe 4.0 x8"
    assert link_name(find_gpu("GH200")) == "NVLink-C2C"


@pytest.mark.parametrize("way", ["host_to_device", "device_to_host"])
def test_an_h200(way: str) -> None:
    """Recorded copies of pinned memory from 1 MB on: within a tenth, with the call's time."""
    recorded = json.loads(RECORDED.read_text())["copies"][f"pinned/{way}"]
    call = float(find_gpu("H200").value("host.call_ns"))
    for size, measured in recorded.items():
        if int(size) >= 1 << 20:
            modelled = copies("H200", int(size), "pinned")[way == "device_to_host"] + call
            assert modelled / 1e3 == pytest.approx(measured["call_us"], rel=0.10), size


def test_pageable_memory_of_an_h200() -> None:
    """Pageable copies vary with the host's caches: within a factor of two from 1 MB on."""
    recorded = json.loads(RECORDED.read_text())["copies"]
    for number, way in enumerate(("host_to_device", "device_to_host")):
        for size, measured in recorded[f"pageable/{way}"].items():
            if int(size) >= 1 << 20:
                modelled = copies("H200", int(size), "pageable")[number] / 1e3
                assert 0.5 < modelled / measured["call_us"] < 2.0, (way, size)


def test_the_published_ladder() -> None:
    """400 MB of ints to an RTX 4060 and 4 bytes back: 43 ms at best, 1.3 us."""
    to_device, _ = copies("RTX 4060", 400_000_000, "pageable")
    _, to_host = copies("RTX 4060", 4, "pageable")

    assert to_device / 1e6 == pytest.approx(44, rel=0.1)
    assert 1280 <= to_host <= 1376


def test_of_a_launch() -> None:
    """Arrays behind const are not copied back; a report tells the totals; times are modelled."""
    device = wl.Device("RTX 4090", options=LaunchOptions(timing=False))
    kernel = device.compile(CUDA)["scale"]
    data, out = np.ones(1 << 16, np.float32), np.zeros(32, np.float32)
    run = kernel[1, 32](data, out, 32)
    found, pinned = run.transfers(), run.transfers("pinned")

    assert [(r.to_device_bytes, r.to_host_bytes) for r in found.rows] == [(1 << 18, 0), (128, 128)]
    assert found.host_to_device.basis == "model" and found.to_device_bytes.number == (1 << 18) + 128
    assert float(pinned.host_to_device) < float(found.host_to_device)
    assert float(found.calls) > float(found.host_to_device) + float(found.device_to_host)
    assert "PCIe 4.0 x16" in str(found)
    assert "262,272 bytes to the device" in str(run)
    with pytest.raises(wl.InputError, match="pinned"):
        run.transfers("mapped")


def test_what_is_not_copied() -> None:
    """An array given twice goes once, and one that is on the device already does not."""
    device = wl.Device("H200", options=LaunchOptions(timing=False))
    kernel = device.compile(CUDA)["twice"]
    x = np.ones(32, np.float32)
    (row,) = kernel[1, 32](x, x).transfers().rows
    none = kernel[1, 32](device.to_device(x), device.to_device(x))

    assert (row.to_device_bytes, row.to_host_bytes) == (128, 128)
    assert none.transfers().rows == () and "Copies" not in str(none)


def test_integrated_gpus_copy_nothing() -> None:
    """Where host and GPU share memory, copies take no time."""
    assert copies("Jetson AGX Orin 64GB", 1 << 30, "pageable") == (0.0, 0.0)


def test_what_if() -> None:
    """A number of the link can be changed, as --set-gpu does."""
    slow = override(find_gpu("H200"), {"board.link_bytes_per_second": 31_500_000_000})
    one = (Copied(name="a", to_device_bytes=1 << 30, to_host_bytes=0),)
    ratio = float(transfers(slow, one, "pinned").host_to_device) / float(
        transfers(find_gpu("H200"), one, "pinned").host_to_device
    )

    assert ratio == pytest.approx(2, rel=0.01)
