"""Predicts a public ladder of matrix multiplications and compares it with its published rates.

The kernels are read from a clone of github.com/siboehm/SGEMM_CUDA, whose README prints GFLOP/s of
each on an RTX A6000 at an unknown clock. One factor, the same for all, stands for that clock: the
median of theirs, and the one that leaves the least of the worst error. The kernels are those of the
commit that brought the table: later ones launch double buffering with other tiles.

    python validation/sgemm_ladder.py FOLDER [--gpu "RTX A6000"] [--clock boost]
        [--nvrtc 12.1.105] [--packages build/nvrtc] [--cubins OUT]

With --nvrtc the machine code is that of another NVRTC, which pip brings: the author names CUDA 12
(his README since June 2023), of which 12.0 and 12.1 were there when the rates were published. With
`--gpu H200` active cycles are compared with those recorded there, of code of NVRTC 13.5 and
12.1.105 (data/ladder_sm90.json). With --cubins OUT the code is only written, for
recorder/ladder.py.
"""

from __future__ import annotations

import argparse
import base64
import json
import lzma
import re
import statistics
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from old_nvrtc import OldNvrtc

import warplens as wl
from warplens.toolchain import nvrtc
from warplens.validation.measured import spearman

SIZE = 4096
COMMIT = "4820c609a1078e63c35c660107836fb022679fd9"
TILED = "128, 128, 8, 8, 8"
# number in the README: its file, kernel with what follows from the runner, width and height of a
# block's tile, threads
STEPS: dict[int, tuple[str, str, int, int, tuple[int, ...]]] = {
    1: ("1_naive", "sgemm_naive", 32, 32, (32, 32)),
    2: ("2_kernel_global_mem_coalesce", "sgemm_global_mem_coalesce<32>", 32, 32, (1024,)),
    3: ("3_kernel_shared_mem_blocking", "sgemm_shared_mem_block<32>", 32, 32, (1024,)),
    4: ("4_kernel_1D_blocktiling", "sgemm1DBlocktiling<64, 64, 8, 8>", 64, 64, (512,)),
    5: ("5_kernel_2D_blocktiling", f"sgemm2DBlocktiling<{TILED}>", 128, 128, (256,)),
    6: ("6_kernel_vectorize", f"sgemmVectorize<{TILED}>", 128, 128, (256,)),
    7: ("7_kernel_resolve_bank_conflicts", f"sgemmResolveBankConflicts<{TILED}>", 128, 128,
        (256,)),
    8: ("8_kernel_bank_extra_col", f"sgemmResolveBankExtraCol<{TILED}>", 128, 128, (256,)),
    9: ("9_kernel_autotuned", "sgemmAutotuned<128, 128, 16, 8, 8>", 128, 128, (256,)),
    10: ("10_kernel_warptiling", "sgemmWarptiling<128, 128, 16, 64, 64, 4, 8, 4, 128>", 128, 128,
         (128,)),
    11: ("11_kernel_double_buffering",
         "sgemmDoubleBuffering<64, 128, 16, 32, 32, 2, 4, 4, 256>", 128, 64, (256,)),
}  # fmt: skip
RECORDED = Path(__file__).parent / "data/ladder_sm90.json"  # of an H200
PREFIX = "#define CEIL_DIV(M, N) (((M) + (N) - 1) / (N))\ntypedef unsigned uint;\n"


def text_of(folder: Path, path: str) -> str:
    """A file of the commit in a clone, bare or not, without what only hosts include."""
    shown = subprocess.run(["git", "-C", folder, "show", f"{COMMIT}:{path}"],
                           capture_output=True, encoding="utf-8", check=True).stdout  # fmt: skip
    return re.sub(r"#include <(?!cuda_runtime).*|#pragma once", "", shown)


def published(folder: Path) -> dict[int, float]:
    """GFLOP/s by kernel, of the README's table."""
    rows = re.findall(r"\| (\d+): .*?\| +([\d.]+) ", text_of(folder, "README.md"))
    return {int(number): float(rate) for number, rate in rows}


def code_of(folder: Path, step: int, sm: int, old: OldNvrtc | None) -> tuple[bytes, str]:
    """A step's cubin and its kernel's name in it."""
    file, kernel, *_ = STEPS[step]
    text = PREFIX + text_of(folder, f"src/kernels/{file}.cuh")
    if step == 11:  # included behind the file that says it
        text = "const int WARPSIZE = 32;\n" + text
    if step == 1:  # its name stays as it is written
        text = text.replace("__global__", 'extern "C" __global__', 1)
    if old is not None:
        return old.compile(re.sub(r"#include <.*", "", text), sm, kernel)
    compiled = nvrtc.compile_source(text, sm=sm, name_expressions=[kernel] if "<" in kernel else [])
    return compiled.cubin, compiled.lowered_names.get(kernel, kernel)


def predicted(code: tuple[bytes, str], device: wl.Device, step: int) -> wl.Launch:
    """A step's launch."""
    _, _, width, height, block = STEPS[step]
    cubin, name = code
    grid = SIZE // width, SIZE // height
    matrix = np.zeros((SIZE, SIZE), np.float32)
    one = np.int32(SIZE), np.int32(SIZE), np.int32(SIZE), np.float32(1)
    arguments: tuple[Any, ...] = (*one, matrix, matrix.copy(), np.float32(0), matrix.copy())
    return device.load(cubin)[name].predict[grid, block](*arguments)


def recorded(version: str) -> dict[int, float]:
    """Active cycles of steps on an H200, of code of an NVRTC: nothing of those not recorded."""
    found = json.loads(RECORDED.read_text())
    column = {name: place for place, name in enumerate(found["columns"])}
    return {
        row[column["step"]]: row[column["sm__cycles_active.avg"]] for row in found["rows"]
        if row[column["nvrtc"]] == version and not row[column["shared"]]
    }  # fmt: skip


def main() -> None:
    """Prints every step, the factor, and how far the steps lie from it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpu", default="RTX A6000")
    parser.add_argument("--clock", default="boost", help="base, boost or MHz (default: boost)")
    parser.add_argument("--nvrtc", help="version of another NVRTC, such as 12.1.105")
    parser.add_argument("--packages", type=Path, default=Path("build/nvrtc"),
                        help="where pip brings it (default: build/nvrtc)")  # fmt: skip
    parser.add_argument("--cubins", type=Path, help="writes the code and predicts nothing")
    arguments = parser.parse_args()
    clock = arguments.clock if arguments.clock.isalpha() else float(arguments.clock)
    device = wl.Device(arguments.gpu, clock=clock)
    old = OldNvrtc(arguments.nvrtc, arguments.packages) if arguments.nvrtc else None
    codes = {step: code_of(arguments.folder, step, device.gpu.sm, old) for step in STEPS}
    version = arguments.nvrtc or ".".join(map(str, nvrtc.version()))
    if arguments.cubins:
        write(codes, version, arguments.cubins)
        return
    launches = {step: predicted(code, device, step) for step, code in codes.items()}
    if device.gpu.chip == "GH100":
        compare_cycles(launches, recorded(version))
        return
    compare_rates(launches, published(arguments.folder))


def write(codes: dict[int, tuple[bytes, str]], version: str, path: Path) -> None:
    """Writes what recorder/ladder.py launches."""
    steps = {
        step: {"name": name, "grid": [SIZE // STEPS[step][2], SIZE // STEPS[step][3]],
               "block": STEPS[step][4],
               "cubin_xz_base64": base64.b64encode(lzma.compress(cubin)).decode()}
        for step, (cubin, name) in codes.items()
    }  # fmt: skip
    path.write_text(json.dumps({"nvrtc": version, "size": SIZE, "steps": steps}))


def compare_cycles(launches: dict[int, wl.Launch], truth: dict[int, float]) -> None:
    """Prints active cycles beside recorded ones."""
    for step in sorted(launches.keys() & truth.keys()):
        mine = float(launches[step].metric("sm__cycles_active.avg"))
        apart = mine / truth[step] - 1
        print(f"{step:3d}  {mine:13.0f}  recorded {truth[step]:13.0f}  {100 * apart:+6.1f} %")


def compare_rates(launches: dict[int, wl.Launch], truth: dict[int, float]) -> None:
    """Prints rates beside published ones, after a factor for the clock."""
    steps = sorted(STEPS.keys() & truth.keys(), key=lambda step: truth[step])
    mine = {step: 2 * SIZE**3 / launches[step].prediction().nanoseconds for step in steps}
    factor = statistics.median(mine[step] / truth[step] for step in steps)
    print(f"factor {factor:.3f}")
    for step in steps:
        apart = mine[step] / truth[step] / factor - 1
        print(f"{step:3d}  {mine[step]:9.1f}  published {truth[step]:9.1f}  {100 * apart:+6.1f} %")
    order = spearman([mine[step] for step in steps], [truth[step] for step in steps])
    shares = [mine[step] / truth[step] for step in steps]
    middle = (max(shares) + min(shares)) / 2
    print(f"rank correlation {order:.3f}, worst {100 * _worst(shares, factor):.1f} %")
    print(f"factor {middle:.3f}: worst {100 * _worst(shares, middle):.1f} %")


def _worst(shares: list[float], factor: float) -> float:
    return max(abs(share / factor - 1) for share in shares)


if __name__ == "__main__":
    main()
