"""Runs Triton's tutorials on a simulated GPU, each unmodified and in a process of its own.

    python validation/triton_tutorials.py [--gpu H200] [--folder FOLDER] [--out FILE] [NUMBER ...]

Nothing of the tutorials is kept here: FOLDER holds those of a checkout, else they are taken from
GitHub at the commit named below. What takes a GPU to be worth its time is made smaller from
outside: benchmarks run their first size with few rows, `autotune` tries the first configurations,
and the tutorials that are modules of tests (06, 09) have theirs called with small shapes. PyTorch's
layer norm of halves, a reference, is computed in single precision as its CUDA version is. A
tutorial holds if it ends without an exception and prints no sign that results differ.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPOSITORY = "https://github.com/triton-lang/triton"
COMMIT = "c147f0988de75b002a05945a3c82f2597d1ae23d"
NUMBERS = ("01", "02", "03", "04", "05", "06", "07", "08", "09")
CONFIGURATIONS = 2  # that autotune tries
ROWS = 64  # of benchmarks whose rows are an argument
TOO_LARGE = ("group-gemm-performance-m-8192-k-8192",)  # benchmarks with sizes in their code
SECONDS = 1500


def smaller(triton: Any) -> None:
    """Makes benchmarks and autotuning small."""
    plain_benchmark, plain_autotune = triton.testing.Benchmark, triton.autotune

    def benchmark(*positional: Any, **options: Any) -> Any:
        made = plain_benchmark(*positional, **options)
        made.x_vals = list(made.x_vals)[:1]
        made.args = {name: ROWS if name == "M" else of for name, of in made.args.items()}
        return made

    def autotune(configs: Any, key: Any, **options: Any) -> Any:
        return plain_autotune(list(configs)[:CONFIGURATIONS], key, **options)

    def run(self: Any, show_plots: bool = False, print_data: bool = False, **options: Any) -> None:
        many = isinstance(self.benchmarks, list)
        for one in self.benchmarks if many else [self.benchmarks]:
            for line in () if one.plot_name in TOO_LARGE else one.line_vals:
                at = dict.fromkeys(one.x_names, one.x_vals[0])
                found = self.fn(**at, **{one.line_arg: line}, **one.args)
                milli = found[0] if isinstance(found, tuple) else found
                print(f"{one.plot_name} {at} {line}: {float(milli):.4g} {one.ylabel}")

    triton.testing.Benchmark = benchmark
    triton.autotune = autotune
    triton.testing.Mark.run = run


def attention(module: dict[str, Any]) -> None:
    """Tutorial 06: its own test, one or two blocks long."""
    for mode, provider in (("fwd", "triton-fp8"), ("bwd", "triton-fp16")):
        for causal in (False, True):
            module["test_op"](1, 2, 256, 64, causal, False, mode, provider)
            print(f"attention {mode} {provider} causal={causal}: as PyTorch's")


def persistent(module: dict[str, Any]) -> None:
    """Tutorial 09: its own comparison at two shapes."""
    torch, validate = module["torch"], module["validate"]
    torch.manual_seed(0)
    for dtype in (torch.float16, torch.float8_e4m3fn):
        for shape in ((32, 32, 32), (512, 384, 128)):
            validate(*shape, dtype)
        # Its cuBLAS is exact here; tensor cores keep 14 bits of a sum of 8-bit products.
        validate.__globals__["device_blas"] = None


def precise_reference(torch: Any) -> None:
    """Lets PyTorch sum a layer norm's gradients of halves in floats, as it does on a GPU."""
    plain = torch.nn.functional.layer_norm

    def layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
        return plain(x.float(), shape, weight.float(), bias.float(), eps).to(x.dtype)

    torch.nn.functional.layer_norm = layer_norm


CALLED: dict[str, Callable[[dict[str, Any]], None]] = {"06": attention, "09": persistent}


def run_one(path: Path, gpu: str) -> None:
    """Runs one tutorial in this process."""
    import warplens.cuda

    warplens.cuda.choose(gpu)
    import torch
    import triton

    smaller(triton)
    precise_reference(torch)
    import warplens.frontends.triton as plugin

    simulated = plugin.active().simulated
    simulated.keep_times()
    sys.argv = [str(path)]
    number = path.name[:2]
    if number in CALLED:
        CALLED[number](runpy.run_path(str(path)))
    else:
        runpy.run_path(str(path), run_name="__main__")
    last = simulated.launches[-1]
    print(f"{len(simulated.launches)} launches; the last, {last.function_name}: "
          f"{last.metric('gpu__time_duration.sum')} ns, "
          f"{last.metric('smsp__inst_executed.sum')} warp instructions")


def fetched(folder: Path) -> Path:
    """The tutorials of GitHub's repository."""
    for command in (
        ["git", "init", "-q", str(folder)],
        ["git", "-C", str(folder), "fetch", "-q", "--depth=1", "--filter=blob:none",
         REPOSITORY, COMMIT],
        ["git", "-C", str(folder), "checkout", "-q", COMMIT, "--", "python/tutorials"],
    ):  # fmt: skip
        subprocess.run(command, check=True)
    return folder / "python" / "tutorials"


def placed(path: Path) -> Path:
    """A copy of the tutorial in a tree with libdevice where tutorial 07 looks for it."""
    root = Path(tempfile.mkdtemp())
    found = importlib.util.find_spec("triton")
    assert found is not None and found.origin is not None
    library = Path("backends/nvidia/lib/libdevice.10.bc")
    for source, to in (
        (Path(found.origin).parent / library, root / "third_party" / library.parts[1]
         / "backend/lib" / library.name),
        (path, root / "python/tutorials" / path.name),
    ):  # fmt: skip
        to.parent.mkdir(parents=True)
        shutil.copy(source, to)
    return to


def outcome(path: Path, gpu: str) -> dict[str, Any]:
    """Whether a tutorial held, and what it said."""
    started = time.monotonic()
    path = placed(path)
    command = [sys.executable, __file__, "--gpu", gpu, "--one", str(path)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False,
            cwd=tempfile.mkdtemp(),
        )  # fmt: skip
        output, errors, code = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        output, errors, code = "", f"longer than {SECONDS} s", -1
    held = code == 0 and "❌" not in output and "differ" not in output.replace("difference", "")
    return {
        "tutorial": path.stem, "held": held, "seconds": round(time.monotonic() - started),
        "why": "" if held else (errors or output)[-1500:], "output": output[-6000:],
    }  # fmt: skip


def main() -> None:
    """Runs what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numbers", nargs="*", help="such as 03; all if none")
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        run_one(asked.one, asked.gpu)
        return
    folder = asked.folder or fetched(Path(tempfile.mkdtemp()))
    results = []
    for number in asked.numbers or NUMBERS:
        (path,) = folder.glob(f"{number}-*.py")
        results.append(outcome(path, asked.gpu))
        print(path.stem, "held" if results[-1]["held"] else "FAILED", results[-1]["seconds"], "s",
              results[-1]["why"][-400:], flush=True)  # fmt: skip
        if asked.out:
            asked.out.write_text(json.dumps(results, indent=1, ensure_ascii=False))
    sys.exit(not all(one["held"] for one in results))


if __name__ == "__main__":
    main()
