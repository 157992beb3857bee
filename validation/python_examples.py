"""Runs the examples of cuda.core, cuTile and CuTe DSL from their repositories on a simulated GPU.

    python validation/python_examples.py [--folder GROUP=FOLDER ...] [--out FILE] [GROUP ...]

Nothing of the examples is kept here: FOLDER is a checkout, else the repository is taken from GitHub
at the revision named below. Each example runs unmodified in a process of its own, with the sizes
named below where it takes any, and holds if it ends without an error and prints what it prints
when its own comparison held. PyTorch's products of halves, a reference, are computed in single
precision as its CUDA version does.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORE, AMPERE = "cuda_core/examples", "examples/python/CuTeDSL/cute/ampere/kernel"
HOPPER = "examples/python/CuTeDSL/cute/hopper/kernel"
SECONDS = 900
SMALL = ("--warmup_iterations", "0", "--iterations", "1")


@dataclass(frozen=True)
class Example:
    """A file, its arguments, what it prints in the end, and the GPUs that it runs on."""

    path: str
    words: tuple[str, ...] = ()
    says: str = ""
    gpus: tuple[str, ...] = ("H200",)


GROUPS: dict[str, tuple[str, str, tuple[Example, ...]]] = {
    "cuda-core": (
        "https://github.com/NVIDIA/cuda-python", "c5d14171ab4bcc7414f72ac968dd06ca096257ea", (
            Example(f"{CORE}/vector_add.py", says="done!"),
            Example(f"{CORE}/saxpy.py", says="done!"),
            Example(f"{CORE}/cuda_graphs.py", says="completed successfully"),
            Example(f"{CORE}/memory_ops.py", says="example completed"),
            Example(f"{CORE}/show_device_properties.py", says="****"),
            Example(f"{CORE}/simple_multi_gpu_example.py", says="done", gpus=("H200", "H200")),
            Example(f"{CORE}/strided_memory_view_gpu.py", says="after:"),
            Example(f"{CORE}/thread_block_cluster.py", says="done!"),
            Example(f"{CORE}/jit_lto_fractal.py"),
            Example(f"{CORE}/strided_memory_view_cpu.py", says="after:"),
            Example(f"{CORE}/pytorch_example.py", says="All tests passed"),
        )),
    "cutile": (
        "https://github.com/NVIDIA/cutile-python", "9c3ee3ccc504f18bbabf55b0d3e6d398bb21ecc4",
        (Example("samples/quickstart/VectorAdd_quickstart.py", (), "passed", ("RTX 4090",)),
         *(Example(f"samples/{name}.py", ("--correctness-check",), "passed", ("RTX 4090",))
           for name in ("VectorAddition", "Transpose", "LayerNorm", "MatMul", "BatchMatMul",
                        "FFT", "AttentionFMHA", "MoE")))),
    "cute": (
        "https://github.com/NVIDIA/cutlass", "v4.7.0", (
            Example(f"{AMPERE}/elementwise/elementwise_add.py",
                    ("--M", "64", "--N", "128", *SMALL), "PASS", ("A100",)),
            Example(f"{AMPERE}/elementwise/elementwise_apply.py",  # other sizes: reads beyond
                    ("--M", "128", "--N", "256", *SMALL), "PASS", ("A100",)),
            Example(f"{AMPERE}/dense_gemm/sgemm.py", ("--mnk", "128,128,64", *SMALL), "PASS",
                    ("A100",)),
            Example(f"{AMPERE}/dense_gemm/tensorop_gemm.py", ("--mnkl", "128,128,64,1", *SMALL),
                    "PASS", ("A100",)),
            Example(f"{HOPPER}/dense_gemm/dense_gemm.py", ("--mnkl", "128,128,64,1", *SMALL),
                    "PASS"),
        )),
}  # fmt: skip


def precise_products(torch: Any) -> None:
    """Lets PyTorch's CPU sum products of halves in floats, as it does on a GPU."""
    plain = torch.matmul

    def matmul(a: Any, b: Any, **options: Any) -> Any:
        if a.dtype in (torch.float16, torch.bfloat16):
            return plain(a.float(), b.float(), **options).to(a.dtype)
        return plain(a, b, **options)

    torch.matmul = torch.Tensor.__matmul__ = matmul
    torch.bmm = matmul


def run_one(path: Path, words: list[str], gpus: list[str]) -> None:
    """Runs one example in this process."""
    import runpy

    import warplens.cuda

    driver = warplens.cuda.choose(*gpus, timed=True)
    if importlib.util.find_spec("torch") is not None and "torch" in path.read_text():
        import torch

        precise_products(torch)
    sys.argv = [str(path), *words]
    sys.path.insert(0, str(path.parent))
    runpy.run_path(str(path), run_name="__main__")
    for last in list(driver.launches)[-1:]:
        print(f"the last launch, {last.function_name}: "
              f"{last.metric('gpu__time_duration.sum')} ns, "
              f"{last.metric('smsp__inst_executed.sum')} warp instructions")  # fmt: skip


def outcome(folder: Path, example: Example) -> dict[str, Any]:
    """Whether an example held, and what it said."""
    started, path = time.monotonic(), folder / example.path
    command = [sys.executable, __file__, "--one", str(path)]
    for gpu in example.gpus:
        command += ["--gpu", gpu]
    nvidia = importlib.util.find_spec("nvidia")
    roots = list(nvidia.submodule_search_locations or ()) if nvidia is not None else []
    toolkit = {"CUDA_PATH": str(Path(roots[0]) / "cu13")} if roots else {}  # of pip's packages
    try:
        done = subprocess.run(
            [*command, "--", *example.words], capture_output=True, text=True, timeout=SECONDS,
            check=False, cwd=path.parent, env=toolkit | dict(os.environ),
        )  # fmt: skip
        output, errors, code = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        output, errors, code = "", f"longer than {SECONDS} s", -1
    held = code == 0 and example.says in output
    return {
        "example": example.path, "held": held, "seconds": round(time.monotonic() - started),
        "why": "" if held else (errors or output)[-1500:], "output": output[-3000:],
    }  # fmt: skip


def fetched(url: str, revision: str, paths: list[str]) -> Path:
    """A group's folders of GitHub's repository."""
    folder = Path(tempfile.mkdtemp())
    for command in (
        ["git", "init", "-q", str(folder)],
        ["git", "-C", str(folder), "fetch", "-q", "--depth=1", "--filter=blob:none", url, revision],
        ["git", "-C", str(folder), "checkout", "-q", "FETCH_HEAD", "--", *paths],
    ):
        subprocess.run(command, check=True)
    return folder


def main() -> None:
    """Runs what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"{', '.join(GROUPS)}; all if none")
    parser.add_argument("--folder", action="append", default=[], metavar="GROUP=FOLDER")
    parser.add_argument("--only", default="", help="examples whose path has this in it")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--gpu", action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        run_one(asked.one, asked.groups, asked.gpu)
        return
    folders = dict(one.split("=", 1) for one in asked.folder)
    results = []
    for group in asked.groups or GROUPS:
        url, revision, examples = GROUPS[group]
        paths = sorted({example.path.rpartition("/")[0] for example in examples})
        folder = Path(folders.get(group) or fetched(url, revision, paths))
        for example in examples:
            if asked.only not in example.path:
                continue
            results.append({"group": group} | outcome(folder, example))
            print(group, example.path, "held" if results[-1]["held"] else "FAILED",
                  results[-1]["seconds"], "s", results[-1]["why"][-300:], flush=True)  # fmt: skip
            if asked.out:
                asked.out.write_text(json.dumps(results, indent=1, ensure_ascii=False))
    sys.exit(not all(one["held"] for one in results))


if __name__ == "__main__":
    main()
