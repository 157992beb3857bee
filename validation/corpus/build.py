"""Builds the corpus: kernels of public and own sources as cubins, for any architectures.

`python validation/corpus/build.py OUT --sm 90 75 ...` needs nvcc and, for the public repositories,
git. Each source is one translation unit for one type; the same machine code counts once.
Repositories are taken from --mirror (a folder of clones, owner+name each) or cloned from GitHub.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCES = HERE / "sources"
PLAIN = ("intrinsics", "atomics", "groups", "matrices", "waiting")
RADIX, SEGMENTS, HISTOGRAM = "-DCORPUS_RADIX", "-DCORPUS_SEGMENTS", "-DCORPUS_HISTOGRAM"
TYPES = {
    "int": ("int", RADIX, SEGMENTS, HISTOGRAM),
    "uint": ("unsigned", RADIX),
    "long": ("long long", RADIX),
    "ulong": ("unsigned long long", RADIX, HISTOGRAM),
    "char": ("signed char", RADIX),
    "byte": ("unsigned char", RADIX, HISTOGRAM),
    "short": ("short", RADIX),
    "float": ("float", RADIX, SEGMENTS, HISTOGRAM),
    "double": ("double", RADIX),
    "half": ("__half", RADIX),
    "bf16": ("__nv_bfloat16",),
    "complex": ("corpus_pair",),
}
TYPED = ("cub_block", "cub_device", "thrust")
OWN = ("tests", "src/warplens/reference/kernels", "validation/published/kernels",
       "validation/timing/kernels")  # fmt: skip
REPOSITORIES = {
    "NVIDIA/cuda-samples": ("-I{root}/Common", "-rdc=false"),
    "karpathy/llm.c": ("-I{root}/dev/cuda", "-I{root}"),
    "csl-iisc/ScoR": ("-I{root}",),
    # Its headers print two fields that CUDA 13's cudaDeviceProp no longer has.
    "burtscher/Indigo2Suite": ("-I{root}/codes/cuda/include", "-I{root}/include",
                               "-DclockRate=warpSize", "-DmemoryClockRate=warpSize"),
}  # fmt: skip


@dataclass(frozen=True)
class Unit:
    """One translation unit."""

    name: str
    source: Path
    options: tuple[str, ...] = ()


def own_units() -> Iterator[Unit]:
    """The corpus's own sources, once for each type, and the repository's kernels."""
    for name in PLAIN:
        yield Unit(name, SOURCES / f"{name}.cu")
    for name in TYPED:
        for label, (kind, *options) in TYPES.items():
            if name != "thrust" or label not in ("half", "bf16", "complex"):
                own = ("-include", str(SOURCES / "pair.h"), f"-DCORPUS_TYPE={kind}", *options)
                yield Unit(f"{name}.{label}", SOURCES / f"{name}.cu", own)
    for folder in OWN:
        for path in sorted((ROOT / folder).rglob("*.cu")):
            label = str(path.relative_to(ROOT).with_suffix("")).replace("/", ".")
            yield Unit(label, path, (f"-I{path.parent}",))


def public_units(mirror: Path, work: Path, repositories: list[str]) -> Iterator[Unit]:
    """Every .cu file of the public repositories."""
    for repository in repositories:
        root = checkout(repository, mirror, work)
        options = tuple(o.format(root=root) for o in REPOSITORIES[repository])
        for path in sorted(root.rglob("*.cu")):
            label = str(path.relative_to(root).with_suffix("")).replace("/", ".")
            yield Unit(f"{repository.partition('/')[2]}.{label}", path,
                       (f"-I{path.parent}", *options))  # fmt: skip


def checkout(repository: str, mirror: Path, work: Path) -> Path:
    """A work tree of the repository, from a clone that is there or from GitHub."""
    target = (work / repository.replace("/", "+")).resolve()
    if not target.is_dir():
        stored = sorted((mirror / repository.replace("/", "+")).glob("*/HEAD"))
        origin = str(stored[0].parent) if stored else f"https://github.com/{repository}"
        command = ["git", "clone", "-q", "--depth", "1", f"file://{origin}" if stored else origin]
        subprocess.run([*command, str(target)], check=True)
    return target


def compile_unit(unit: Unit, sm: int, out: Path, seconds: float) -> str:
    """Compiles one unit unless its cubin is there; the first error, or nothing."""
    target = out / f"sm_{sm}" / f"{unit.name}.cubin"
    if target.exists():
        return ""
    target.parent.mkdir(parents=True, exist_ok=True)
    suffix = "a" if sm in (90, 100) else ""
    command = ["nvcc", "-cubin", f"-arch=sm_{sm}{suffix}", "-std=c++17", "-w", "-lineinfo",
               "--expt-relaxed-constexpr", "--extended-lambda", *unit.options,
               "-o", f"{target}.tmp", str(unit.source)]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "takes too long to compile"
    if done.returncode:
        lines = [x for x in (done.stderr + done.stdout).splitlines() if "error" in x.lower()]
        return (lines or ["failed"])[0][:200]
    os.replace(f"{target}.tmp", target)
    return ""


def text_sections(cubin: bytes) -> dict[str, bytes]:
    """The machine code of every kernel of a cubin."""
    start = int.from_bytes(cubin[40:48], "little")
    size, count, names = (int.from_bytes(cubin[a : a + 2], "little") for a in (58, 60, 62))

    def field(section: int, at: int, width: int) -> int:
        place = start + section * size + at
        return int.from_bytes(cubin[place : place + width], "little")

    table = field(names, 24, 8)
    found = {}
    for section in range(count):
        at = table + field(section, 0, 4)
        name = cubin[at : cubin.index(0, at)].decode()
        if name.startswith(".text."):
            begin = field(section, 24, 8)
            found[name[6:]] = cubin[begin : begin + field(section, 32, 8)]
    return found


def census(out: Path) -> dict[str, dict[str, int]]:
    """Of each architecture: cubins, kernels, and kernels of distinct machine code."""
    found = {}
    for folder in sorted(out.glob("sm_*")):
        codes = [code for path in sorted(folder.glob("*.cubin"))
                 for code in text_sections(path.read_bytes()).values()]  # fmt: skip
        distinct = {hashlib.sha256(code).digest() for code in codes}
        found[folder.name] = {"cubins": len(list(folder.glob("*.cubin"))), "kernels": len(codes),
                              "distinct": len(distinct)}  # fmt: skip
    return found


def main() -> None:
    """Compiles what is missing and counts the kernels."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--sm", type=int, nargs="+", default=[90])
    parser.add_argument("--mirror", type=Path, default=Path("mirror"))
    parser.add_argument("--repositories", nargs="*", default=list(REPOSITORIES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--only", default="", help="a pattern of units' names")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    units = [*own_units(), *public_units(given.mirror, given.out / "repos", given.repositories)]
    todo = [(unit, sm) for sm in given.sm for unit in units if re.search(given.only, unit.name)]
    with ThreadPoolExecutor(given.jobs) as pool:
        errors = list(pool.map(lambda t: compile_unit(*t, given.out, given.seconds), todo))
    failed = {f"sm_{sm} {unit.name}": e for (unit, sm), e in zip(todo, errors, strict=True) if e}
    (given.out / "failed.json").write_text(json.dumps(failed, indent=0))
    (given.out / "census.json").write_text(json.dumps(census(given.out), indent=1))
    print(json.dumps(census(given.out)), len(failed), "units did not compile")


if __name__ == "__main__":
    main()
