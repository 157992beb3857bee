"""Code that was inlined names its own line and the lines of the calls, everywhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.in_turn import one_in
from warplens import Device, MemoryFault
from warplens.report.hot_lines import cells, hot_lines
from warplens.report.source_data import source_view
from warplens.result import Result
from warplens.toolchain.cubin import read_cubin
from warplens.toolchain.nvrtc import compile_source
from warplens.toolchain.packages import find_binary

SOURCE = """\
__device__ float read(const float* a, int i) {
  return a[i];
}
__device__ float twice(const float* a, int i) {
  return read(a, i) * 2.0f;
}
extern "C" __global__ void pair(const float* a, float* out) {
  int i = threadIdx.x;
  out[i] = twice(a, i) +
           read(a, i + 32);
}
"""
ANOTHER = """\
extern "C" __global__ void another(const float* a, float* out) {
  if (a[0] > 0)
    out[threadIdx.x] = twice(a, 3);
}
"""
ROW = re.compile(r'//## File "(.*?)", line (\d+)(?: inlined at "(.*?)", line (\d+))?')
CODE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+\S")


@pytest.fixture(params=one_in(3, ["RTX 4090", "H200", "RTX 5090"], str, first=1))
def gpu(request: pytest.FixtureRequest) -> Device:
    """A GPU of three architectures, whose compilers write line tables."""
    return Device(request.param)


def told(cubin: bytes, folder: Path, kernel: str) -> dict[int, list[tuple[str, int]]]:
    """What nvdisasm itself prints: the innermost place of instructions and its calls."""
    path = folder / "code.cubin"
    path.write_bytes(cubin)
    program = find_binary("nvidia-cuda-nvdisasm", "nvdisasm", "nvdisasm.exe")
    command = [str(program), "-gi", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[int, list[tuple[str, int]]] = {}
    rows: list[tuple[str, ...]] = []
    is_new = True
    text = text[text.index(f"\t.section\t.text.{kernel}") + 1 :]
    for line in text[: text.find("\t.section\t.text.")].splitlines():
        place, code = ROW.search(line), CODE.match(line)
        if place:
            rows, is_new = ([] if is_new else rows), False
            rows.append(place.groups(""))
        elif code and not is_new:  # where it says nothing, only the calls may have changed
            is_new = True
            calls = [(file, int(at)) for *_, file, at in rows if at]
            found[int(code.group(1), 16)] = [(rows[0][0], int(rows[0][1])), *calls]
    return found


def test_places_are_nvdisasms(gpu: Device, tmp_path: Path) -> None:
    """File, line and calls of every instruction, two calls deep, in each kernel of a module."""
    cubin = compile_source(SOURCE + ANOTHER, name="pair.cu", sm=gpu.gpu.sm).cubin
    for kernel in ("pair", "another"):
        rows = read_cubin(cubin).kernels[kernel].lines
        deepest = 0
        for address, places in told(cubin, tmp_path, kernel).items():
            row = [one for one in rows if one.address <= address][-1]
            assert [(row.file, row.line), *row.callers] == places
            deepest = max(deepest, len(row.callers))

        assert deepest == 2


def test_reports_show_the_calls(gpu: Device) -> None:
    """The source page, the hottest lines and the page's data."""
    a, out = np.ones(64, np.float32), np.zeros(32, np.float32)
    launch = gpu.compile(SOURCE)["pair"][1, 32](a, out).result()
    result = Result(launches=(launch,))
    source = launch.source
    assert source is not None
    loads = [i for i, text in enumerate(source.sass) if "LDG" in text]
    chains = [[source.lines[i], *(line for _, line in source.inlined(i))] for i in loads]
    hot = next(one for one in hot_lines(launch) if one.line == 2)
    data = source_view(result)["kernels"][0]

    assert sorted(chains) == [[2, 5, 9], [2, 10]]
    assert [place.rpartition(":")[2] for place in hot.inlined] == ["9", "10"]
    assert "[inlined at " in cells(hot)[-1]
    assert [line for _, line in data["callers"][str(loads[0])]] == chains[0][1:]


def test_a_fault_names_them(gpu: Device) -> None:
    """A load beyond the array: the function's line, and the kernel's that it was inlined into."""
    a, out = np.ones(40, np.float32), np.zeros(32, np.float32)
    with pytest.raises(MemoryFault, match=r":2, inlined at \S+:10\)"):
        gpu.compile(SOURCE)["pair"][1, 32](a, out)
