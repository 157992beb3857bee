"""How fast one core executes matrix instructions: mma.sync, wmma, wgmma and tcgen05, by type.

    python benchmarks/tensor.py [--seconds 1] [NAME ...]

Sparse products count as NVIDIA counts them: as those of the matrices with their zeros.
Operands are random numbers of ordinary size; time is the process's own, of one worker. A wgmma's B
is the same in all rounds: in a product of matrices three of a warpgroup's four warps find it made.
"""

from __future__ import annotations

import argparse
import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parents[1]
sys.path[:0] = [str(HERE), str(HERE / "validation" / "recorder")]

from tests.blackwell.images import along_k, instruction, scaled_instruction  # noqa: E402
from wgmma_kernels import Kernel, product  # noqa: E402

import warplens as wl  # noqa: E402

MMA = {  # name -> (shape and types, registers of A, B and C, operations)
    "mma.f16": ("m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, 4096),
    "mma.bf16": ("m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 4, 4096),
    "mma.tf32": ("m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4, 2048),
    "mma.f16.f16": ("m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2, 4096),
    "mma.s8": ("m16n8k32.row.col.s32.s8.s8.s32", 4, 2, 4, 8192),
    "mma.e4m3": ("m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 2, 4, 8192),
    "mma.sp.f16": (".sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32", 4, 4, 4, 8192),
    "mma.sp.tf32": (".sp::ordered_metadata.m16n8k16.row.col.f32.tf32.tf32.f32", 4, 4, 4, 4096),
    "mma.sp.s8": (".sp::ordered_metadata.m16n8k64.row.col.s32.s8.s8.s32", 4, 4, 4, 16384),
    "mma.sp.e4m3": (".sp::ordered_metadata.m16n8k64.row.col.f32.e4m3.e4m3.f32", 4, 4, 4, 16384),
    "mma.e2m1": ("m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", 4, 2, 4, 8192),
    "mma.mxf8": ("m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32"
                 ".ue8m0", 4, 2, 4, 8192),
    "mma.mxf4": ("m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
                 4, 2, 4, 16384),
    "mma.nvf4": ("m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32"
                 ".ue4m3", 4, 2, 4, 16384),
    "mma.sp.f8f6f4.e4m3": (".sp::ordered_metadata.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32",
                           4, 4, 4, 16384),
    "mma.sp.mxf8": (".sp::ordered_metadata.m16n8k64.row.col.kind::mxf8f6f4.block_scale"
                    ".scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", 4, 4, 4, 16384),
    "mma.sp.mxf4": (".sp::ordered_metadata.m16n8k128.row.col.kind::mxf4.block_scale"
                    ".scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", 4, 4, 4, 32768),
    "mma.sp.nvf4": (".sp::ordered_metadata.m16n8k128.row.col.kind::mxf4nvf4.block_scale"
                    ".scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 4, 4, 4, 32768),
}  # fmt: skip
WGMMA = {  # name -> (kernel, operations of a warpgroup)
    "wgmma.f16": Kernel(name="", a="f16", b="f16", sums="f32", columns=128, depth=16,
                        rest=", 1, 1, 0, 0"),
    "wgmma.tf32": Kernel(name="", a="tf32", b="tf32", sums="f32", columns=128, depth=8,
                         rest=", 1, 1"),
    "wgmma.e4m3": Kernel(name="", a="e4m3", b="e4m3", sums="f32", columns=128, depth=32,
                         rest=", 1, 1"),
    "wgmma.s8": Kernel(name="", a="s8", b="s8", sums="s32", columns=128, depth=32),
}  # fmt: skip
FIFTH = {  # name -> (kernel, type of A and B, bytes of a row of A)
    "tcgen05.f16": ("f16", 0, 32), "tcgen05.f8": ("f8f6f4", 0, 32), "tcgen05.s8": ("i8", 1, 32),
    "tcgen05.mxf8": ("mxf8f6f4", 0, 32), "tcgen05.mxf4": ("mxf4", 1, 32),
    "tcgen05.nvf4": ("nvf4", 1, 32), "tcgen05.sp.f16": ("sparse_f16", 0, 32),
    "tcgen05.sp.tf32": ("sparse_tf32", 2, 32), "tcgen05.sp.f8": ("sparse_f8f6f4", 0, 32),
    "tcgen05.sp.s8": ("sparse_i8", 1, 32), "tcgen05.sp.mxf8": ("sparse_mxf8f6f4", 0, 32),
    "tcgen05.sp.mxf4": ("sparse_mxf4", 1, 32), "tcgen05.sp.nvf4": ("sparse_nvf4", 1, 32),
}  # fmt: skip
_METADATA, _SCALES = 200, (160, 168)  # columns of tensor memory
WMMA = """
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void run(const half* x, float* y, int rounds) {
  fragment<matrix_a, 16, 16, 16, half, row_major> a;
  fragment<matrix_b, 16, 16, 16, half, col_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  load_matrix_sync(a, x, 16);
  load_matrix_sync(b, x + 256, 16);
  fill_fragment(c, 0.0f);
  for (int i = 0; i < rounds; i++) mma_sync(c, a, b, c);
  store_matrix_sync(y + blockIdx.x * 1024 + threadIdx.x / 32 * 256, c, 16, mem_row_major);
}
"""


def _is_whole(form: str) -> bool:
    """Whether C's registers hold integers or packed halves."""
    return ".s32." in form or ".f16.f16.f16" in form


def mma_source(name: str) -> str:
    """A loop of one mma.sync instruction."""
    form, a, b, c, _ = MMA[name]
    sparse, _, rest = form.rpartition("::ordered_metadata.") if ".sp" in form else ("", "", form)
    form = f"mma{sparse}{'::ordered_metadata' if sparse else ''}.sync.aligned.{rest}"
    letter, kind = ("r", "unsigned") if _is_whole(form) else ("f", "float")
    places = [f"%{i}" for i in range(c + a + b)]
    groups = [places[:c], places[c : c + a], places[c + a :], places[:c]]
    text = ", ".join("{" + ", ".join(group) + "}" for group in groups)
    outputs = ", ".join(f'"+{letter}"(c[{i}])' for i in range(c))
    given = ", ".join(f'"r"(x[{i}])' for i in range(a + b))
    n = a + b + c
    if sparse:
        text, given, n = f"{text}, %{n}, 0x0", f'{given}, "r"(0x44444444)', n + 1
    if "block_scale" in form:  # one, or 0.5 of ue4m3
        text, given = f"{text}, %{n}, {{0, 0}}, %{n}, {{0, 0}}", f'{given}, "r"(0x7f7f7f7f & scale)'
    return f"""extern "C" __global__ void run(const unsigned* in, {kind}* out, int rounds) {{
  const unsigned scale = {"0x30303030" if "ue4m3" in form else "~0u"};
  unsigned x[{a + b}];
  {kind} c[{c}] = {{}};
  for (int i = 0; i < {a + b}; i++) x[i] = in[threadIdx.x % 32 + 32 * i];
  for (int i = 0; i < rounds; i++)
    asm volatile("{form} {text};" : {outputs} : {given});
  for (int i = 0; i < {c}; i++) out[(blockIdx.x * 128 + threadIdx.x) * {c} + i] = c[i];
}}"""


def wgmma_source(kernel: Kernel) -> str:
    """A loop of one product of a warpgroup, from rows of 128 bytes."""
    kind = "float" if kernel.sums == "f32" else "unsigned"
    n = kernel.registers
    return f"""extern __shared__ __align__(1024) unsigned char image[];
extern "C" __global__ void run(const uint4* in, {kind}* out, int rounds) {{
  for (int i = threadIdx.x; i < 1536; i += 128) ((uint4*)image)[i] = in[i % 512];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  unsigned long long base = (unsigned)__cvta_generic_to_shared(image) >> 4;
  unsigned long long da = base | 1ull << 16 | 64ull << 32 | 1ull << 62, db = da + 512;
  {kind} c[{n}] = {{}};
  int s = 1;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int i = 0; i < rounds; i++) {{ {product(kernel)} }}
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < {n}; i++) out[(blockIdx.x * 128 + threadIdx.x) * {n} + i] = c[i];
}}"""


def fifth_source() -> str:
    """The tests' kernels, with a loop around their products."""
    text = (HERE / "tests" / "blackwell" / "products.cu").read_text()
    text = text.replace("const unsigned *before, unsigned *after) {        ",
                        "const unsigned *before, unsigned *after, int rounds) {")  # fmt: skip
    return text.replace("            __VA_ARGS__;  ",
                        "            for (int i = 0; i < rounds; i++) __VA_ARGS__;  ")  # fmt: skip


def _device(gpu: str) -> wl.Device:
    from warplens.session.options import LaunchOptions

    return wl.Device(gpu, options=LaunchOptions(workers=1, timing=False))


def _numbers(kind: str, words: int) -> Any:
    """Normal numbers of a kind, packed in words; of bytes any."""
    rng = np.random.default_rng(1)
    if kind in ("s8", "e4m3", "mxf8", "e2m1", "mxf4", "nvf4"):
        mask = np.uint32(0xBFBFBFBF if kind in ("e4m3", "mxf8") else 0xFFFFFFFF)
        return rng.integers(0, 2**32, words, np.uint32) & mask
    if kind == "tf32":
        return rng.standard_normal(words).astype(np.float32).view(np.uint32)
    if kind == "bf16":
        wide = rng.standard_normal(2 * words).astype(np.float32).view(np.uint32)
        return (wide >> 16).astype(np.uint16).view(np.uint32)
    return rng.standard_normal(2 * words).astype(np.float16).view(np.uint32)


def prepared(name: str) -> tuple[Any, float]:
    """What launches so many rounds, and the operations of one."""
    if name in MMA:
        gpu, options = "H200", []
        if "kind::" in MMA[name][0]:
            gpu, options = "sm_120", ["-arch=sm_120a"]
        kernel = _device(gpu).compile(mma_source(name), options=options)["run"]
        kind = np.uint32 if _is_whole(MMA[name][0]) else np.float32
        given, out = _numbers(name.split(".")[-1], 32 * 8), np.zeros(4 * 128 * 4, kind)
        return lambda n: kernel[4, 128](given, out, n), MMA[name][4] * 16.0
    if name == "wmma.f16":
        kernel = _device("H200").compile(WMMA)["run"]
        given = _numbers("f16", 256).view(np.float16)
        out = np.zeros(4 * 1024, np.float32)
        return lambda n: kernel[4, 128](given, out, n), 8192 * 16.0
    if name in WGMMA:
        form = WGMMA[name]
        kernel = _device("H200").compile(wgmma_source(form))["run"]
        kind = np.float32 if form.sums == "f32" else np.uint32
        out = np.zeros(4 * 128 * form.registers, kind)
        given = _numbers(form.a, 2048)
        each = 2.0 * 64 * form.columns * form.depth * 4
        return lambda n: kernel[4, 128, 0, 25600](given, out, n), each
    return fifth(name)


def fifth(name: str) -> tuple[Any, float]:
    """The same of a product of tensor memory, 128 by 128."""
    kernel_name, kind, width = FIFTH[name]
    sparse, scaled = kernel_name.startswith("sparse"), kernel_name.endswith(("4", "mxf8f6f4"))
    scaled = scaled and kernel_name not in ("f8f6f4", "sparse_f8f6f4")
    module = _device("sm_100").compile(fifth_source(), options=["-arch=sm_100a", "-DOF_SM_100"])
    rng = np.random.default_rng(2)
    layout = 4 if sparse else 2
    widths = (width, width << sparse)
    rows = [rng.integers(0, 64, (128, n)).astype(np.uint8) for n in widths]
    if kernel_name == "sparse_tf32":
        numbers = [rng.standard_normal((128, n // 4)).astype(np.float32) for n in widths]
        rows = [one.view(np.uint8) for one in numbers]
    first, da = along_k(rows[0], 2, 0)
    second, db = along_k(rows[1], layout, len(first))
    image = np.concatenate([first, second])
    if scaled:
        form = scaled_instruction(128, 128, a=kind, b=kind, power="nvf4" not in kernel_name)
    else:
        form = instruction(128, 128, a=kind, b=kind, d=2 if kernel_name.endswith("i8") else 1)
    start, after = np.zeros((128, 512), np.uint32), np.zeros((128, 512), np.uint32)
    start[:, _METADATA : _METADATA + 4] = 0x44444444
    for column in _SCALES:
        start[:, column : column + 4] = 0x30303030 if "nvf4" in kernel_name else 0x7F7F7F7F
    operands = struct.pack("<QQ10I4x", da, db, form | sparse << 2, 1, 0, *_SCALES, *[0] * 4,
                           _METADATA)[: 16 + 40]  # fmt: skip
    each = {"f16": 2, "tf32": 4}.get(kernel_name.rpartition("_")[2], 1)
    is_packed = "mxf4" in kernel_name or "nvf4" in kernel_name
    depth = (2 * width if is_packed else width // each) << sparse

    def launch(n: int) -> None:
        module[kernel_name][1, 128, 0, len(image) + 1024](
            image.view(np.uint32), len(image) // 16, operands, start, after, n
        )

    return launch, 2.0 * 128 * 128 * depth


def measure(name: str, seconds: float) -> float:
    """Operations per second of the process's time."""
    launch, operations = prepared(name)
    launch(20)
    rounds, taken = 50, 0.0
    while taken < seconds / 4:
        rounds *= 4
        began = time.process_time()
        launch(rounds)
        taken = time.process_time() - began
    began = time.process_time()
    launch(rounds)
    return operations * rounds / (time.process_time() - began)


def main() -> None:
    """Every kind, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    for name in given.names or (*MMA, "wmma.f16", *WGMMA, *FIFTH):
        speed = measure(name, given.seconds) / 1e9
        print(f"{name:18} {speed:8.2f} GFLOP/s of one core", flush=True)


if __name__ == "__main__":
    main()
