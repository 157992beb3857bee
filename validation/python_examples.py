"""Runs the examples of cuda.core, cuTile and CuTe DSL from their repositories on a simulated GPU.

    python validation/python_examples.py [--folder GROUP=FOLDER ...] [--out FILE] [GROUP ...]

Nothing of the examples is kept here: FOLDER is a checkout, else the repository is taken from GitHub
at the revision named below. Each example runs unmodified in a process of its own, with the sizes
named below where it takes any, and holds if it ends without an error and prints what it prints
when its own comparison held. References that PyTorch's CPU computes less precisely than its CUDA
version are put right (`like_cuda`).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

CORE, AMPERE = "cuda_core/examples", "examples/python/CuTeDSL/cute/ampere/kernel"
HOPPER = "examples/python/CuTeDSL/cute/hopper/kernel"
BLACKWELL = "examples/python/CuTeDSL/cute/blackwell"
GEFORCE = "examples/python/CuTeDSL/cute/blackwell_geforce/kernel"
SECONDS = 900
SMALL = ("--warmup_iterations", "0", "--iterations", "1")


@dataclass(frozen=True)
class Example:
    """A file, its arguments, what it prints in the end, the GPUs it runs on, smaller sizes."""

    path: str
    words: tuple[str, ...] = ()
    says: str = ""
    gpus: tuple[str, ...] = ("H200",)
    smaller: tuple[tuple[str, str], ...] = ()  # what else to write, each once in the file


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
         *(Example(f"samples/{name}.py", ("--correctness-check",), "passed", (gpu,))
           for gpu in ("RTX 4090", "H200", "B200")
           for name in ("VectorAddition", "Transpose", "LayerNorm", "MatMul", "BatchMatMul",
                        "FFT", "MoE")
           # An H200's tensor cores keep 14 bits of sums of 8-bit floats, the reference all.
           if (name, gpu) != ("BatchMatMul", "H200")),
         Example("samples/BlockScaledMatMul.py", ("--correctness-check",), "passed", ("B200",)),
         *(Example("samples/AttentionFMHA.py", ("--correctness-check",), "passed", (gpu,), (
             ("BATCH_SIZE = 8", "BATCH_SIZE = 1"), ("NUM_HEADS = 16", "NUM_HEADS = 2"),
             ("SEQ_LEN_Q = 1024", "SEQ_LEN_Q = 256"), ("SEQ_LEN_KV = 1024", "SEQ_LEN_KV = 256"),
         )) for gpu in ("RTX 4090", "H200", "B200")))),
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
            Example(f"{AMPERE}/attention/flash_attention_v2.py",
                    ("--batch_size", "1", "--seqlen_q", "256", "--seqlen_k", "256", "--num_head",
                     "2", "--head_dim", "64", *SMALL), "PASS", ("A100",)),
            Example(f"{AMPERE}/attention/hstu_attention.py",
                    ("--batch_size", "1", "--seqlen_q", "256", "--seqlen_kv", "256", "--num_head",
                     "1", "--head_dim", "64"), "PASS", ("A100",)),
            Example(f"{HOPPER}/dense_gemm/dense_gemm.py", ("--mnkl", "128,128,64,1", *SMALL),
                    "PASS"),
            Example(f"{HOPPER}/dense_gemm/dense_gemm.py",
                    ("--mnkl", "256,384,256,1", "--cluster_shape_mn", "2,1", *SMALL), "PASS"),
            *(Example(f"{HOPPER}/dense_gemm/dense_gemm_{name}.py",
                      ("--mnkl", f"256,256,{depth},1", *SMALL), "PASS")
              for name, depth in (("persistent", 128), ("fp8_2xacc", 256),
                                  ("fp8_gelu_persistent", 128))),
            Example(f"{HOPPER}/attention/fmha.py",
                    ("--is_causal", "--is_persistent", "--q_shape", "1,256,2,64", "--k_shape",
                     "1,256,1,64", *SMALL), "PASS"),
            Example(f"{HOPPER}/cta_norm/cta_norm.py",  # needs apache-tvm-ffi
                    ("--M", "8", "--N", "1024", *SMALL), "PASS"),
            *(Example(f"{BLACKWELL}/tutorial/tutorial_gemm/fp16_gemm_{number}.py",
                      ("--mnk", "512,512,128"), "PASS", ("B200",))
              for number in ("0", "1", "2", "3", "3_1", "4", "5", "6")),
            *(Example(f"{BLACKWELL}/tutorial/tutorial_gemm/nvfp4_gemm_{number}.py",
                      ("--mnkl", "256,512,512,2"), "PASS", ("B200",)) for number in ("0", "1")),
            *(Example(f"{BLACKWELL}/tutorial/tutorial_tma/tma_v{number}.py",
                      ("--M", "256", "--N", "256", "--num_warmup", "0", "--num_iters", "1"),
                      "PASSED", ("B200",)) for number in range(3)),
            *(Example(f"{BLACKWELL}/kernel/blockscaled_gemm/dense_blockscaled_gemm_{name}.py",
                      ("--mnkl", "256,256,256,1", *SMALL), "PASS", ("B200",))
              for name in ("persistent", "persistent_amax", "persistent_prefetch")),
            *(Example(f"{BLACKWELL}/kernel/{name}.py", ("--mnkl", f"256,256,{depth},1", *SMALL),
                      "PASS", ("B200",))
              for name, depth in (("blockwise_gemm/blockwise_gemm", 256),
                                  ("dense_gemm/dense_gemm_alpha_beta_persistent", 128),
                                  ("dense_gemm/dense_gemm_persistent_dynamic", 128))),
            Example(f"{BLACKWELL}/kernel/grouped_gemm/grouped_gemm.py",
                    ("--num_groups", "2", "--problem_sizes_mnkl",
                     "(128,128,128,1),(256,128,64,1)", *SMALL), "PASS", ("B200",)),
            Example(f"{BLACKWELL}/kernel/attention/fmha/fmha.py",
                    ("--q_shape", "1,256,2,128", "--k_shape", "1,256,2,128", *SMALL), "PASS",
                    ("B200",)),
            Example(f"{BLACKWELL}/kernel/rmsnorm/rmsnorm.py", ("--M", "8", "--N", "1024", *SMALL),
                    "PASS", ("B200",)),
            *(Example(f"{GEFORCE}/{name}.py", ("--mnkl", "256,256,256,1", *SMALL), "PASS",
                      ("RTX 5090",))
              for name in ("dense_gemm/dense_gemm",
                           "blockscaled_gemm/dense_blockscaled_gemm_persistent_cooperative",
                           "blockscaled_gemm/dense_blockscaled_gemm_persistent_pingpong")),
            Example(f"{BLACKWELL}/kernel/dense_gemm/dense_gemm.py",
                    ("--mnkl", "256,256,128,1", *SMALL), "PASS", ("B200",)),
            Example(f"{BLACKWELL}/kernel/dense_gemm/dense_gemm_persistent.py",
                    ("--mnkl", "256,256,128,1", *SMALL), "PASS", ("B200",)),
        )),
}  # fmt: skip


PRODUCT = r"""
#include <mma.h>
using namespace nvcuda;
template <class T, class Kind, int STEP> __device__ void product(
        const T* a, const T* b, float* c, int m, int n, int k) {
    a += size_t(blockIdx.z) * m * k; b += size_t(blockIdx.z) * k * n;
    c += size_t(blockIdx.z) * m * n;
    int row = 16 * blockIdx.y, column = 16 * blockIdx.x;
    wmma::fragment<wmma::matrix_a, 16, 16, STEP, Kind, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, STEP, Kind, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, STEP, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += STEP) {
        wmma::load_matrix_sync(left, a + row * k + i, k);
        wmma::load_matrix_sync(right, b + i * n + column, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}
#define PRODUCT(NAME, T, KIND, STEP) extern "C" __global__ void NAME( \
    const T* a, const T* b, float* c, int m, int n, int k) { \
    product<T, KIND, STEP>(a, b, c, m, n, k); }
PRODUCT(float16, half, half, 16)
PRODUCT(bfloat16, __nv_bfloat16, __nv_bfloat16, 16)
PRODUCT(float32, float, wmma::precision::tf32, 8)
"""


def tensor_cores(torch: Any, gpu: str) -> Any:
    """Products as cuBLAS computes them on this GPU: on its tensor cores, k ascending.

    They cut sums where a CPU rounds, which tells where a product nearly vanishes. Every product
    is held against one of doubles: each step may cut off the unit of a float as large as all
    terms together.
    """
    import numpy as np

    import warplens

    module = warplens.Device(gpu).compile(PRODUCT)

    def as_read(x: Any) -> Any:  # single precision becomes tf32, ties away from zero
        if x.dtype != torch.float32:
            return x
        return ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)

    def multiply(a: Any, b: Any) -> Any:
        (m, k), n = a.shape[-2:], b.shape[-1]
        batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        left, right = (as_read(x).cpu() for x in (a, b))
        left, right = left.expand(*batch, m, k), right.expand(*batch, k, n)
        fill = [-size % 16 for size in (m, n, k)]
        pad = torch.nn.functional.pad
        left = pad(left.reshape(-1, m, k), (0, fill[2], 0, fill[0])).contiguous()
        right = pad(right.reshape(-1, k, n), (0, fill[1], 0, fill[2])).contiguous()
        count, rows, columns, depth = len(left), m + fill[0], n + fill[1], k + fill[2]
        c = np.zeros((count, rows, columns), np.float32)
        words = [(x.view(torch.int16) if x.itemsize == 2 else x).numpy() for x in (left, right)]
        kernel = module[str(a.dtype).rpartition(".")[2]]
        kernel[(columns // 16, rows // 16, count), 32](*words, c, rows, columns, depth)
        exact, size = left.double() @ right.double(), left.double().abs() @ right.double().abs()
        assert ((torch.from_numpy(c) - exact).abs() <= size * (depth / 8 + 1) * 2.0**-22).all()
        return torch.from_numpy(c[:, :m, :n].reshape(*batch, m, n)).to(a.device, a.dtype)

    return multiply


def like_cuda(torch: Any, gpu: str) -> None:
    """Lets references on PyTorch's CPU be as precise as those of its CUDA version.

    There, products of halves, and of floats if a program allows tf32, come from tensor cores;
    attention and layer norm of short floats, with its gradients, are summed in single precision.
    On the CPU gradients are summed in the short type. Which of CUDA's attentions is asked for
    makes no difference.
    """
    plain, multiply = torch.matmul, tensor_cores(torch, gpu)
    norm = torch.nn.functional.layer_norm
    short = (torch.float16, torch.bfloat16)

    def matmul(a: Any, b: Any, **options: Any) -> Any:
        allowed = a.dtype in short or (
            a.dtype == torch.float32 and torch.get_float32_matmul_precision() != "highest"
        )
        if options or not allowed or a.dtype != b.dtype or min(a.dim(), b.dim()) < 2:
            return plain(a, b, **options)
        return multiply(a, b)

    def layer_norm(
        x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
    ) -> Any:
        floats = [None if one is None else one.float() for one in (weight, bias)]
        return norm(x.float(), shape, *floats, eps).to(x.dtype)

    attention = torch.nn.functional.scaled_dot_product_attention

    def attend(*tensors: Any, **options: Any) -> Any:
        return attention(*(one.float() for one in tensors), **options).to(tensors[0].dtype)

    torch.nn.functional.scaled_dot_product_attention = attend
    torch.nn.attention.sdpa_kernel = lambda *_, **__: contextlib.nullcontext()
    torch.matmul = torch.Tensor.__matmul__ = torch.bmm = matmul
    torch.nn.functional.layer_norm = layer_norm


def run_one(example: Example, path: Path, words: list[str], gpus: list[str]) -> None:
    """Runs one example in this process."""
    import warplens.cuda

    driver = warplens.cuda.choose(*gpus, timed=True)
    if importlib.util.find_spec("torch") is not None and "torch" in path.read_text():
        import torch
        import torch.nn.attention

        like_cuda(torch, gpus[0])
    sys.argv = [str(path), *words]
    sys.path.insert(0, str(path.parent))
    if (path.parent / "utils" / "benchmark.py").exists():  # it repeats launches for 100 ms
        importlib.import_module("utils.benchmark")._estimate_bench_iter = lambda *_: (0, 1, 1)
    text = path.read_text()
    for old, new in example.smaller:
        assert text.count(old) == 1, (path, old)
        text = text.replace(old, new)
    program = ModuleType("__main__")
    program.__dict__["__file__"] = str(path)
    sys.modules["__main__"] = program
    exec(compile(text, str(path), "exec", dont_inherit=True), program.__dict__)
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
        known = [one for *_, ones in GROUPS.values() for one in ones]
        example = next(one for one in known if asked.one.match(one.path))
        run_one(example, asked.one, asked.groups, asked.gpu)
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
            print(group, example.path, *example.gpus, "held" if results[-1]["held"] else "FAILED",
                  results[-1]["seconds"], "s", results[-1]["why"][-300:], flush=True)  # fmt: skip
            if asked.out:
                asked.out.write_text(json.dumps(results, indent=1, ensure_ascii=False))
    sys.exit(not all(one["held"] for one in results))


if __name__ == "__main__":
    main()
