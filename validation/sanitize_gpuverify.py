"""Runs all tools over GPUVerify's CUDA tests (github.com/mc-imperial/gpuverify).

    python validation/sanitize_gpuverify.py FOLDER [--only REGEX] [--part 3/40]

FOLDER is a copy of the repository. Each kernel's first lines say whether it is right (`//pass`),
what the verifier says of it otherwise, and the launch. Grids are cut to four blocks and blocks to
256 threads. Arrays are larger than what the kernels index, filled with zeros; integers are the
number of threads, or what a `__requires(n == ...)` asks for, and where the suite expects a failure
1, eight times as many as there are threads, and the value that its counterexample has. The
verifier's own annotations are left out.

Prints a line per kernel and the figures: of kernels that the suite calls racy, divergent or wrong
in memory, those found, found as a remark (all threads store the same value) and missed; of right
ones the clean, the reported, those that read what nobody wrote, of which the verifier says nothing,
and those with a finding that is explained (above all: the suite lets the lanes of a warp run in
lockstep); and those left out, whose expected failure is none of CUDA's (a contract, an invariant,
a construct that the verifier does not read).
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl
from warplens.errors import Unsupported, WarplensError

ELEMENTS = 1 << 16
# The verifier's own words, which CUDA does not know, and what its header declares.
PRELUDE = r"""
#include <cooperative_groups.h>
#define __requires(...) ((void)0)
#define __ensures(...) ((void)0)
#define __global_requires(...) ((void)0)
#define __global_ensures(...) ((void)0)
#define __invariant(...) ((void)0)
#define __global_invariant(...) ((void)0)
#define __function_wide_invariant(...) ((void)0)
#define __candidate_invariant(...) ((void)0)
#define __assert(...) ((void)0)
#define __global_assert(...) ((void)0)
#define __assume(...) ((void)0)
#define __axiom(...)
#define __requires_fresh_array(...) ((void)0)
#define __reads_from(...) ((void)0)
#define __writes_to(...) ((void)0)
#define uint unsigned int
#define __builtin_memset(target, value, size) (memset)(target, value, size)
#define __builtin_memcpy(target, source, size) (memcpy)(target, source, size)
namespace cooperative_groups {
template <typename Group> __device__ void synchronize(Group& group) { group.sync(); }
}
"""
_DIMENSIONS = re.compile(r"--(blockDim|gridDim)=(\[[\d,]+\]|\d+)")
# Kernels that fail for the verifier alone, by what stands in their way.
REASONS = {
    "function_pointers/soundness_issue": "an assertion of the verifier's",
    "function_pointers/unknown_function": "a function that is declared only",
    "return_val": "a contract",
    "memset/unhandled_varval": "a construct that the verifier does not read; no race",
    "atomics/test_abstraction_enforced": "an assertion of the verifier's",
    "param_values/value_in_assert": "an assertion of the verifier's",
    "misc/fail/miscfail8": "an assertion of the verifier's",
    "misc/fail/miscfail2": "an invariant",
    "warpsync/equality_abstraction_issue": "an assertion of the verifier's",
    "memcpy_simplification": "a function that is declared only, or a texture",
    "misc/fail/miscfail7": "the array might be null: a contract",
    "misc/fail/miscfail1": "does not compile, on purpose",
    "misc/fail/miscfail5": "does not compile as CUDA: constant memory is assigned",
    "misc/fail/miscfail6": "an array without a size",
    "misc/pass/misc3": "does not compile as CUDA: constant memory is assigned",
    "memcpy/fail_arrayofstruct": "stores an undefined value, for which there is no machine code",
    "globalarray/fail": "the verifier does not take the array's initial values",
    "curand_tests": "needs cuRAND's header",
    "annotation_tests/test_axiom": "right only for one block that an axiom names",
}

LOCKSTEP = "right only if the lanes of a warp run in lockstep, as since Volta they need not"
# Right kernels in which there is something to find.
EXPLAINED = {
    "pointertests/test12": "all threads store a pointer and read it, without a barrier",
}


def explained(name: str, text: str) -> str:
    """Why a kernel that the suite calls right is reported; empty if nobody knows."""
    return LOCKSTEP if "--warp-sync" in text.partition("#")[0] else EXPLAINED.get(name, "")


def shape(text: str, name: str, most: int) -> tuple[int, ...]:
    """A launch's dimensions as the first lines give them, cut to a size that runs quickly."""
    found = dict(_DIMENSIONS.findall(text)).get(name, "1")
    sizes = [int(n) for n in re.findall(r"\d+", found)]
    while np.prod(sizes) > most:
        largest = sizes.index(max(sizes))
        sizes[largest] = max(1, sizes[largest] // 2)
    return tuple(sizes)


def required(text: str, number: int) -> int:
    """What a kernel's first condition asks an integer to be, else a number."""
    asked = re.search(r"__requires\(\w+ == (\d+)", text)
    return int(asked.group(1)) if asked else number


def values(kernel: Any, text: str, number: int) -> list[Any]:
    """An argument for every parameter: integers a number, structures full of pointers."""
    found: list[Any] = []
    for formal in kernel.parameters:
        if "(" in formal.spelled:
            raise Unsupported("a function's address as an argument")
        array = kernel.device.to_device(np.zeros(ELEMENTS, np.uint64))
        if formal.kind in ("pointer", "word"):
            found.append(array)
        elif formal.kind in ("float", "bfloat"):
            found.append(1.0)
        elif formal.kind == "struct":
            found.append(array.address.to_bytes(8, "little") * -(-formal.size // 8))
            found[-1] = found[-1][: formal.size]
        else:
            found.append(min(required(text, number), formal.bounds[1]))
    return found


def verdict(text: str, is_bad: bool) -> tuple[list[str], list[str]]:
    """The checks and remarks for one file's kernels; what fails may do so for some numbers only."""
    defines = tuple(re.findall(r"(?m)^//.*?(-D\w+=\w+)", text))
    source = PRELUDE + re.sub(r'#include\s+[<"]cuda.h[>"]', "", text)
    device = wl.Device("H200")
    module = device.compile(source, options=defines)
    grid, block = shape(text, "gridDim", 4), shape(text, "blockDim", 256)
    checks: set[str] = set()
    remarks: set[str] = set()
    for name in module.kernels:
        kernel = module[name]
        threads = int(np.prod(grid) * np.prod(block))
        witness = [int(n) for n in re.findall(r"(?m)^//\s*\w+ = (\d+)\s*$", text)]
        for number in (threads, 1, 8 * threads, *witness) if is_bad else (threads,):
            report = kernel.sanitize[grid, block](*values(kernel, text, number))
            checks |= {finding.check for finding in report.errors}
            remarks |= {f.check for f in report.findings if "same-value" in f.check}
    return sorted(checks), sorted(remarks)


def outcome_of(is_bad: bool, checks: list[str], remarks: list[str]) -> str:
    """What a kernel's checks mean, the suite's opinion given."""
    if is_bad:
        return "found" if checks else "remark" if remarks else "MISSED"
    if checks and all(check.startswith("uninitialised-") for check in checks):
        return "unwritten"
    return "REPORTED" if checks else "clean"


def main() -> None:
    """Reads the folder and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="run the kernels whose path matches")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="run the I-th of N parts")
    arguments = parser.parse_args()
    figures: Counter[str] = Counter()
    base = arguments.folder / "testsuite" / "CUDA"
    part, parts = map(int, arguments.part.split("/"))
    for path in sorted(base.rglob("kernel.cu"))[part - 1 :: parts]:
        name = str(path.parent.relative_to(base))
        text = path.read_text()
        if not re.search(arguments.only, name):
            continue
        reason = next((why for start, why in REASONS.items() if name.startswith(start)), "")
        checks, remarks = [], []
        is_bad = not text.lower().startswith("//pass")
        if not reason:
            try:
                checks, remarks = verdict(text, is_bad)
            except WarplensError as error:
                reason = " ".join(error.message.split())[:150]
        outcome = "left out" if reason else outcome_of(is_bad, checks, remarks)
        if outcome == "REPORTED" and explained(name, text):
            outcome, reason = "explained", explained(name, text)
        figures[outcome] += 1
        print(f"{name:60} {outcome:9} {reason or ', '.join(checks or remarks)}", flush=True)
    print(dict(figures))


if __name__ == "__main__":
    main()
