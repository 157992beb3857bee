"""Compares warplens' occupancy rules with NVIDIA's `cuda_occupancy.h`, field by field.

    python -m tests.occupancy.occupancy_header --points 1000000

compiles the header of the installed nvidia-cuda-runtime package with g++ (or $CXX), asks it and
warplens about the same random points over every compute capability it knows, prints the number of
points and of differences, and exits with 1 if there is one. `--record FILE` writes a table of
points with the header's answers for machines without a compiler.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warplens.gpus import list_architectures
from warplens.occupancy_calculator.rules import (
    Points,
    Rules,
    block_limits,
    capability_rules,
    carveout_index,
    other_capabilities,
    rules_of,
)

INPUTS = [
    "threads",
    "registers",
    "static_shared",
    "dynamic_shared",
    "optin",
    "max_dynamic",
    "barriers",
    "virtual",
    "carveout",
    "cache",
]
OUTPUTS = [
    "status",
    "blocks",
    "flags",
    "registers",
    "shared",
    "warps",
    "slots",
    "barriers",
    "virtual",
    "allocated_registers",
    "allocated_shared",
]

HARNESS = r"""
#include <cstdio>
#include <vector>
#include "cuda_occupancy.h"

int main() {
    int device[12], mode, count;
    while (fread(device, sizeof device, 1, stdin) == 1 && fread(&mode, sizeof mode, 1, stdin) &&
           fread(&count, sizeof count, 1, stdin)) {
        cudaOccDeviceProp p;
        p.computeMajor = device[0];
        p.computeMinor = device[1];
        p.maxThreadsPerBlock = device[2];
        p.maxThreadsPerMultiprocessor = device[3];
        p.regsPerBlock = device[4];
        p.regsPerMultiprocessor = device[5];
        p.warpSize = device[6];
        p.sharedMemPerBlock = device[7];
        p.sharedMemPerMultiprocessor = device[8];
        p.numSms = device[9];
        p.sharedMemPerBlockOptin = device[10];
        p.reservedSharedMemPerBlock = device[11];
        std::vector<int> in(10 * (size_t)count), out;
        if (fread(in.data(), 40, count, stdin) != (size_t)count) return 2;
        for (int i = 0; i < count; ++i) {
            const int* v = &in[10 * (size_t)i];
            cudaOccFuncAttributes a;
            a.maxThreadsPerBlock = 1 << 30;
            a.numRegs = v[1];
            a.sharedSizeBytes = v[2];
            a.shmemLimitConfig = v[4] ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
            a.maxDynamicSharedSizeBytes = v[5];
            a.numBlockBarriers = v[6];
            a.virtualResourceCount = v[7];
            cudaOccDeviceState s;
            s.carveoutConfig = v[8];
            s.cacheConfig = (cudaOccCacheConfig)v[9];
            cudaOccResult r = {};
            if (mode == 1) { // v[3] is the number of blocks to leave room for
                size_t room = 0;
                int status = cudaOccAvailableDynamicSMemPerBlock(&room, &p, &a, &s, v[3], v[0]);
                int answer[11] = {status, status ? 0 : (int)room};
                out.insert(out.end(), answer, answer + 11);
                continue;
            }
            if (mode == 2) { // v[0] is the largest block that the kernel can be launched with
                int grid = 0, block = 0;
                a.maxThreadsPerBlock = v[0];
                int status = cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, &p, &a, &s,
                                                                   (size_t)v[3]);
                int answer[11] = {status, grid, block};
                out.insert(out.end(), answer, answer + 11);
                continue;
            }
            int status = cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, v[0], v[3]);
            if (status) r = {};
            int answer[11] = {status, r.activeBlocksPerMultiprocessor, (int)r.limitingFactors,
                r.blockLimitRegs, r.blockLimitSharedMem, r.blockLimitWarps, r.blockLimitBlocks,
                r.blockLimitBarriers, r.blockLimitVirtual, r.allocatedRegistersPerBlock,
                (int)r.allocatedSharedMemPerBlock};
            out.insert(out.end(), answer, answer + 11);
        }
        fwrite(out.data(), 44, count, stdout);
    }
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class Capability:
    """A compute capability with its rules."""

    major: int
    minor: int
    rules: Rules

    @property
    def device(self) -> npt.NDArray[np.int32]:
        """The device properties that the header is given."""
        r = self.rules
        return np.array(
            [self.major, self.minor, r.max_threads_per_block, r.max_warps_per_sm * r.warp_size,
             r.registers_per_block, r.registers_per_sm, r.warp_size, r.shared_per_block,
             r.shared_per_sm, 8, r.shared_per_block_optin, r.shared_reserved],
            np.int32,
        )  # fmt: skip


def capabilities() -> tuple[Capability, ...]:
    """Every compute capability that the header knows."""
    rules = [rules_of(spec) for spec in list_architectures()]
    for name in other_capabilities():
        found = capability_rules(name)
        assert found is not None
        rules.append(found)
    digits = [int(r.name.removeprefix("sm_")) for r in rules]
    return tuple(Capability(d // 10, d % 10, r) for d, r in zip(digits, rules, strict=True))


def header_folder() -> pathlib.Path | None:
    """Where the installed nvidia-cuda-runtime package keeps its headers."""
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        for found in pathlib.Path(root).glob("*/include/cuda_occupancy.h"):
            return found.parent
    return None


def compiler() -> str | None:
    """A C++ compiler, if the machine has one."""
    names = (os.environ.get("CXX", ""), "g++", "c++", "clang++")
    return next((path for name in names if name and (path := shutil.which(name))), None)


def build(folder: pathlib.Path) -> pathlib.Path:
    """Compiles the harness against NVIDIA's header."""
    include, cxx = header_folder(), compiler()
    assert include is not None and cxx is not None
    source, program = folder / "harness.cpp", folder / "harness"
    source.write_text(HARNESS)
    subprocess.run(
        [cxx, "-O2", "-std=c++17", "-w", f"-I{include}", str(source), "-o", str(program)],
        check=True,
    )
    return program


def random_points(rng: np.random.Generator, count: int, realistic: bool) -> dict[str, np.ndarray]:
    """Inputs of `count` points: wide ones with refused values, or such as kernels have."""
    if realistic:
        threads = rng.choice([32, 64, 96, 128, 192, 256, 288, 384, 512, 768, 1024], count)
        registers = rng.choice([*range(16, 81), 96, 128, 168, 255], count)
        static = rng.choice([0, 0, 512, 1024, 4096, 8192, 8448, 16384, 32768], count)
        dynamic = np.where(rng.random(count) < 0.5, 0, rng.integers(0, 49152, count))
        barriers, virtual = np.full(count, 1), np.zeros(count)
        carveout = np.where(rng.random(count) < 0.7, -1, rng.integers(0, 101, count))
    else:
        threads = rng.integers(-1, 1041, count)
        registers = rng.integers(-1, 261, count)
        static = rng.integers(0, 51200, count)
        dynamic = np.where(rng.random(count) < 0.5, 0, rng.integers(0, 245760, count))
        barriers = rng.integers(0, 17, count)
        virtual = np.where(rng.random(count) < 0.5, 0, rng.integers(0, 200, count))
        carveout = rng.integers(-3, 104, count)
    most = np.where(rng.random(count) < 0.7, dynamic, rng.integers(0, 245760, count))
    columns = {
        "threads": threads,
        "registers": registers,
        "static_shared": static,
        "dynamic_shared": dynamic,
        "optin": rng.random(count) < (0.9 if realistic else 0.6),
        "max_dynamic": most,
        "barriers": barriers,
        "virtual": virtual,
        "carveout": carveout,
        "cache": rng.integers(0, 4, count),
    }
    return {name: np.asarray(column).astype(np.int32) for name, column in columns.items()}


def ask_header(
    program: pathlib.Path, capability: Capability, points: dict[str, np.ndarray], mode: int = 0
) -> dict[str, np.ndarray]:
    """The header's answers; mode 1 and 2 ask its two other questions (see the harness)."""
    table = np.stack([points[name] for name in INPUTS], axis=1).astype(np.int32)
    words = np.array([*capability.device, mode, len(table)], np.int32)
    request = words.tobytes() + table.tobytes()
    run = subprocess.run([str(program)], input=request, capture_output=True, check=True)
    answers = np.frombuffer(run.stdout, np.int32).reshape(-1, len(OUTPUTS))
    return {name: answers[:, column] for column, name in enumerate(OUTPUTS)}


def ask_warplens(capability: Capability, points: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The answers of warplens' rules; where a launch is refused, all fields but status are 0."""
    refused = (points["threads"] <= 0) | (points["registers"] < 0)
    if capability.major >= 7:
        refused |= (points["carveout"] < -1) | (points["carveout"] > 100)
    index = carveout_index(capability.rules, np.clip(points["carveout"], -1, 100), points["cache"])
    limits = block_limits(
        capability.rules,
        Points(
            threads=np.maximum(points["threads"], 1),
            registers=np.maximum(points["registers"], 0),
            static_shared=points["static_shared"],
            dynamic_shared=points["dynamic_shared"],
            carveout=index,
            barriers=points["barriers"],
            virtual_resources=points["virtual"],
            optin=points["optin"].astype(bool),
            max_dynamic=points["max_dynamic"],
        ),
    )
    count = len(refused)
    answer = {"status": refused.astype(np.int32)}
    for name in OUTPUTS[1:]:
        column = np.broadcast_to(getattr(limits, name), (count,))
        answer[name] = np.where(refused, 0, column)
    return answer


def differences(expected: dict[str, np.ndarray], actual: dict[str, np.ndarray]) -> np.ndarray:
    """For each point, whether any field differs."""
    unequal = [expected[name] != actual[name] for name in OUTPUTS]
    return np.any(unequal, axis=0)


def run(points: int, seed: int, program: pathlib.Path) -> tuple[int, int, list[str]]:
    """Compares that many points; the number compared, the number that differ, some of them."""
    rng = np.random.default_rng(seed)
    known = capabilities()
    done = wrong = 0
    shown: list[str] = []
    for turn, capability in enumerate(known):
        share = points // len(known) + (1 if turn < points % len(known) else 0)
        for realistic in (False, True):
            count = share // 2 if realistic else share - share // 2
            inputs = random_points(rng, count, realistic)
            expected = ask_header(program, capability, inputs)
            actual = ask_warplens(capability, inputs)
            bad = np.flatnonzero(differences(expected, actual))
            done, wrong = done + count, wrong + len(bad)
            for at in bad[:2]:
                point = {name: int(inputs[name][at]) for name in INPUTS}
                pairs = {n: (int(expected[n][at]), int(actual[n][at])) for n in OUTPUTS}
                unequal = {n: pair for n, pair in pairs.items() if pair[0] != pair[1]}
                shown.append(f"{capability.rules.name} {point}: {unequal}")
    return done, wrong, shown


def record(file: pathlib.Path, points: int, program: pathlib.Path) -> None:
    """Writes a table of points over all capabilities with the header's answers."""
    rng = np.random.default_rng(20261120)
    columns: dict[str, list[np.ndarray]] = {name: [] for name in ("major", "minor")}
    for capability in capabilities():
        share = -(-points // len(capabilities()))
        for realistic in (False, True):
            inputs = random_points(rng, share // 2 + 1, realistic)
            answers = ask_header(program, capability, inputs)
            count = len(inputs["threads"])
            columns["major"].append(np.full(count, capability.major, np.int32))
            columns["minor"].append(np.full(count, capability.minor, np.int32))
            for name in INPUTS:
                columns.setdefault(f"in_{name}", []).append(inputs[name])
            for name in OUTPUTS:
                columns.setdefault(f"out_{name}", []).append(answers[name])
    version = importlib.metadata.version("nvidia-cuda-runtime")
    arrays = {name: np.concatenate(parts) for name, parts in columns.items()}
    np.savez_compressed(
        file,
        header=f"cuda_occupancy.h of nvidia-cuda-runtime {version}",
        date=datetime.date.today().isoformat(),
        **arrays,
    )
    print(f"{file}: {len(arrays['major'])} points")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=pathlib.Path)
    options = parser.parse_args()
    if header_folder() is None or compiler() is None:
        print("no C++ compiler or no nvidia-cuda-runtime package", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        program = build(pathlib.Path(folder))
        if options.record:
            record(options.record, options.points, program)
            return 0
        done, wrong, shown = run(options.points, options.seed, program)
    version = importlib.metadata.version("nvidia-cuda-runtime")
    print(
        f"{done} points, {len(capabilities())} compute capabilities, {len(OUTPUTS)} fields each, "
        f"header {version}: {wrong} differ"
    )
    for line in shown:
        print(" ", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
