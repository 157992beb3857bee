"""An article's table of where its program's time goes, on an RTX 4060 over PCIe 4.0 x8, at once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.programs.conftest import HERE, WARPLENS

# Published for the two programs with the same loads and grid: sums of 100,000,000 integers.
KERNEL_MS, TO_HOST_NS = (1.46, 1.51), (1280, 1312)
MALLOC_MS, MEMCPY_MS, TO_DEVICE_MS = (162, 167), (90, 52), (81, 43)


@pytest.mark.long  # the table's form and its times are checked elsewhere too, of less data
def test_one_command_gives_the_table(tmp_path: Path) -> None:
    """cudaMemcpy, cudaMalloc, the kernel and copies of both directions, as nsys's tables."""
    command = [*WARPLENS, "profile", "--stats", "--json", "--gpu", "RTX 4060", "--clock", "boost",
               str(HERE / "reduction.cu")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path,
                          timeout=300)  # fmt: skip
    start = done.stdout.index("{")
    tables = json.loads(done.stdout[start:])
    calls = {row["Name"]: row["Total Time (ns)"] for row in tables["cuda_api_sum"]}
    copies = {row["Operation"].split()[-1].rstrip("]"): row
              for row in tables["cuda_gpu_mem_time_sum"]}  # fmt: skip
    (kernel,) = tables["cuda_gpu_kern_sum"]

    assert "100000000" in done.stdout[:start] + done.stderr
    assert 0.95 * KERNEL_MS[0] <= kernel["Total Time (ns)"] / 1e6 <= 1.05 * KERNEL_MS[1]
    for published in TO_DEVICE_MS:
        assert 0.5 <= copies["Host-to-Device"]["Total Time (ns)"] / 1e6 / published <= 2
    assert 0.9 * TO_HOST_NS[0] <= copies["Device-to-Host"]["Total Time (ns)"] <= 1.1 * TO_HOST_NS[1]
    assert 0.85 * MALLOC_MS[0] <= calls["cudaMalloc"] / 1e6 <= 1.15 * MALLOC_MS[1]
    assert 0.5 * min(MEMCPY_MS) <= calls["cudaMemcpy"] / 1e6 <= 2 * min(MEMCPY_MS)
