"""Builds public programs, unmodified, and runs all tools over what they launch.

    python validation/sanitize_programs.py FOLDER [NAME ...] [--gpu H200] [-o results.json]

FOLDER has clones of https://github.com/zjin-lcf/HeCBench (`HeCBench`) and
https://github.com/yuhc/gpu-rodinia (`gpu-rodinia`). A program holds if it is built and ends as it
should without a finding; what is found otherwise is printed for somebody to read. Arguments are
those of `programs/hecbench.txt`, which are small.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "programs"))
from hecbench import HERE, shim
from trying import Found, every, ran

HECBENCH = (
    "atomicAggregate", "bitonic-sort", "floydwarshall", "hwt1d", "jaccard", "merge", "nqueen",
    "quicksort", "reverse", "scatterAdd", "segment-reduce", "softmax", "stencil1d", "threadfence",
    "tsa", "vote", "warpsort",
)  # fmt: skip
# folder of Rodinia, source, arguments
RODINIA = (
    ("pathfinder", "pathfinder.cu", "1000 20 5"), ("nw", "needle.cu", "64 10"),
    ("bfs", "bfs.cu", "graph.txt"), ("gaussian", "gaussian.cu", "-s 16"),
    ("lud/cuda", "lud.cu lud_kernel.cu ../common/common.c", "-s 64"),
)  # fmt: skip
_PROGRAM = re.compile(r"^program\s*=\s*(\S+)", re.MULTILINE)
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")


def graph() -> str:
    """A graph as Rodinia's search through it reads one: 64 nodes, each with three neighbours."""
    nodes = "".join(f"{3 * i} 3\n" for i in range(64))
    edges = "".join(f"{(i * step + 1) % 64} 1\n" for i in range(64) for step in (1, 5, 9))
    return f"64\n{nodes}\n0\n\n192\n{edges}"


def built(name: str, root: Path, place: Path, limit: float) -> tuple[Path | None, str]:
    """The built program, or None and what the compiler says."""
    path = f"{shim(place)}:/usr/bin:/bin"
    rodinia = {entry[0].split("/")[0]: entry for entry in RODINIA}
    if name.removeprefix("rodinia-") in rodinia and name.startswith("rodinia-"):
        folder, sources, _ = rodinia[name.removeprefix("rodinia-")]
        copy = place / "rodinia" / folder
        top = folder.split("/")[0]
        shutil.copytree(root / "gpu-rodinia" / "cuda" / top, place / "rodinia" / top)
        (copy / "graph.txt").write_text(graph())
        words = ["nvcc", "-arch=sm_90", "-I.", "-I../common", *sources.split(), "-o", "program"]
        status, text, _ = ran(words, copy, limit, path)
        return (copy / "program", "") if not status else (None, text)
    source = root / "HeCBench" / "src" / f"{name}-cuda"
    copy = place / "src" / source.name
    shutil.copytree(source, copy)
    makefile = (source / "Makefile").read_text()
    for other in set(re.findall(r"\.\./([\w-]+)", makefile)) - {source.name}:
        if (root / "HeCBench" / "src" / other).exists():
            (copy.parent / other).symlink_to(root / "HeCBench" / "src" / other)
    status, text, _ = ran(["make", "CC=nvcc", "ARCH=sm_90"], copy, limit, path)
    binary = _PROGRAM.search(makefile)
    return (copy / (binary[1] if binary else "main"), "") if not status else (None, text)


def tried(program: list[str], root: Path, gpu: str, limit: float) -> Found:
    """Builds a program and runs it under all tools."""
    name, *words = program
    with tempfile.TemporaryDirectory() as place:
        binary, text = built(name, root, Path(place), limit)
        if binary is None:
            return {"name": name, "outcome": "not built", "output": text[-3000:]}
        command = [sys.executable, "-m", "warplens.cli.main", "sanitize", "--gpu", gpu,
                   str(binary), "--", *words]  # fmt: skip
        status, text, seconds = ran(command, binary.parent, limit)
    counts = [int(count) for count in _SUMMARY.findall(text)]
    outcome = "too slow" if status == 124 else "no summary" if not counts else (
        "found" if any(counts) else "holds" if not status else "fails"
    )  # fmt: skip
    if outcome != "holds":
        print(text[-6000:], flush=True)
    return {"name": name, "run_seconds": round(seconds, 1), "status": status,
            "outcome": outcome, "output": text[-6000:]}  # fmt: skip


def main() -> int:
    """Tries all programs, or those that are named."""
    small = {line.split()[0]: line.split() for line in
             (HERE / "hecbench.txt").read_text().splitlines()}  # fmt: skip
    listed = [small[name] for name in HECBENCH]
    listed += [[f"rodinia-{folder.split('/')[0]}", *words.split()] for folder, _, words in RODINIA]
    return every(listed, lambda program: program[0], tried, __doc__ or "", "programs")


if __name__ == "__main__":
    sys.exit(main())
