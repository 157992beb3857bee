"""Sources, names, GPUs, metrics, cubins and options that are wrong before anything runs."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import warplens as wl
from tests.bad_input.cases import ARCHITECTURE, SOURCE, bad, ints, module

SOURCES = {
    "unclosed_brace": ("__global__ void k(int* p) {", "error, expected"),
    "unclosed_parameters": ("__global__ void k( {", "error"),
    "missing_semicolon": ("__global__ void k(int* p) { int a = 1 int b; }", "expected a"),
    "undeclared_name": ("__global__ void k(int* p) { *p = missing; }", "missing, undefined"),
    "undeclared_type": ("__global__ void k(matrix* p) { }", "matrix, undefined"),
    "undeclared_function": ("__global__ void k(int* p) { *p = absent(3); }", "absent, undefined"),
    "wrong_type": ('__global__ void k(int* p) { p = "text"; }', "error"),
    "assign_const": ("__global__ void k(const int* p) { *p = 1; }", "modifiable"),
    "missing_include": ('#include "not_there.h"\n__global__ void k() { }', "not_there.h"),
    "hash_error": ("#error no such thing\n__global__ void k() { }", "no such thing"),
    "host_call": (
        "#include <vector>\nvoid h();\n__global__ void k() { h(); }", "unresolved extern function",
    ),
    "returns_value": ("__global__ int k() { return 1; }", "void"),
    "static_assertion": ('__global__ void k() { static_assert(1 == 2, "off"); }', "off"),
    "bad_template": ("template <int N> __global__ void k() { int a[N]; }\ntemplate __global__ "
                     "void k<-1>(); ", "error"),
    "redefinition": ("__device__ int f() { return 1; }\n__device__ int f() { return 2; }\n"
                     "__global__ void k() { }", "already"),
    "unknown_assembly": ('__global__ void k() { asm("frobnicate.u32 r1;"); }', "frobnicate"),
    "bad_constraint": ('__global__ void k() { int a; asm("mov.u32 %0, 1;" : "=q"(a)); }', "error"),
    "too_much_shared": ("__global__ void k(int* p) { __shared__ int s[100000]; s[*p] = 1; "
                        "*p = s[1]; }", "shared"),
    "cuda_launch_inside": ("__global__ void g() { }\n__global__ void k() { g<<<1, 1>>>(); }",
                           "error"),
    "goto_nowhere": ("__global__ void k() { goto away; }", "away"),
    "python_source": ("def kernel(a):\n    return a + 1\n", "error"),
    "stray_character": ("__global__ void k() { int a = 1 @ 2; }", "error"),
    "unterminated_comment": ("__global__ void k() { } /* {", "comment"),
    "negative_array": ("__global__ void k() { int a[-1]; a[0] = 1; }", "array"),
    "void_argument": ("__global__ void k(void v, int n) { }", "error"),
}  # fmt: skip
for _name, (_text, _words) in SOURCES.items():
    bad(f"source_{_name}", wl.CompileError, _words,
        lambda text=_text: wl.Device(ARCHITECTURE).compile(text))  # fmt: skip
bad("source_line_is_named", wl.CompileError, "kernel.cu, 3",
    lambda: wl.Device(ARCHITECTURE).compile("\n\n__global__ void k() { oops; }"))  # fmt: skip

for _option in ("-arch=sm_12", "--no-such-option", "-std=c++1", "-maxrregcount=many", "-O9"):
    bad(f"option_{_option}", wl.CompileError, _option.split("=")[0].strip("-"),
        lambda o=_option: wl.Device(ARCHITECTURE).compile(SOURCE, options=[o]))  # fmt: skip
bad("options_as_string", wl.InputError, "options",
    lambda: wl.Device(ARCHITECTURE).compile(SOURCE, options="-O3"))  # fmt: skip
bad("names_as_string", wl.InputError, "name_expressions",
    lambda: wl.Device(ARCHITECTURE).compile(SOURCE, name_expressions="sized<3>"))  # fmt: skip
bad("path_missing", wl.InputError, "nosuch.cu",
    lambda: wl.Device(ARCHITECTURE).compile("nosuch.cu"))  # fmt: skip
bad("path_is_folder", wl.InputError, "directory",
    lambda: wl.Device(ARCHITECTURE).compile(SOURCE.parent))  # fmt: skip

for _gpu in ("RTX 9999", "", "sm_12", "sm_999", "H2000", "Radeon", "9.0.0", "sm90x", "A100 99GB",
             "é"):  # fmt: skip
    bad(f"gpu_{_gpu!r}", wl.UnknownGpu, _gpu, lambda gpu=_gpu: wl.Device(gpu))
for _clock in ("turbo", -5, 0, "12 parsecs"):
    bad(f"clock_{_clock}", wl.InputError, "clock",
        lambda clock=_clock: wl.Device("H200", clock=clock))  # fmt: skip

for _kernel in ("goood", "Good", "go od", "deep", "sized", "sized<x>", "sized<1", "sized<3, 4>",
                "::good", "read", "store<nothing>", "_Z4nonev"):  # fmt: skip
    bad(f"kernel_{_kernel}", wl.UnknownKernel, _kernel.split("<")[0].strip(":"),
        lambda kernel=_kernel: module()[kernel])  # fmt: skip
bad("kernel_empty", wl.UnknownKernel, "no kernel", lambda: module()[""])
bad("kernel_number", wl.InputError, "name", lambda: module()[3])


def good_launch() -> Any:
    """A launch whose metrics can be asked for."""
    return module()["good"][1, 32](ints(), ints(), 32)


for _metric in ("inst_executd", "smsp__inst_executed", "smsp__inst_executed.median", "", ".sum",
                "smsp__inst_executed.sum.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_xx.sum",
                "Duration of it", "dram__bytes.sum.per_fortnight", "sm__nonsense.avg"):  # fmt: skip
    bad(f"metric_{_metric!r}", wl.UnknownMetric, _metric.split(".")[0],
        lambda metric=_metric: good_launch().metric(metric))  # fmt: skip
for _section in ("Launch", "launchstats!", ""):
    bad(f"section_{_section!r}", wl.UnknownMetric, _section,
        lambda section=_section: good_launch().section(section))  # fmt: skip


@cache
def _cubin(sm: int) -> bytes:
    from warplens.toolchain.nvrtc import compile_source

    return compile_source(SOURCE.read_text(), sm=sm).cubin


def _load(data: bytes | str | Path) -> None:
    wl.Device(ARCHITECTURE).load(data)["good"]


for _share in (0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
    bad(f"cubin_truncated_{_share}", wl.CubinError, "",
        lambda share=_share: _load(_cubin(86)[: int(len(_cubin(86)) * share)]))  # fmt: skip
bad("cubin_empty", wl.CubinError, "empty", lambda: _load(b""))
bad("cubin_text", wl.CubinError, "", lambda: _load(b"this is not a cubin" * 50))
bad("cubin_ptx", wl.CubinError, "ptx", lambda: _load(b".version 8.0\n.target sm_90\n"))
bad("cubin_zeros", wl.CubinError, "", lambda: _load(bytes(4096)))
bad("cubin_host_program", wl.CubinError, "", lambda: _load(Path(sys.executable).resolve()))
bad("cubin_missing_file", wl.InputError, "nosuch.cubin", lambda: _load("nosuch.cubin"))
for _sm in (75, 90, 120):
    bad(f"cubin_for_sm_{_sm}", wl.CubinError, f"sm_{_sm}", lambda sm=_sm: _load(_cubin(sm)))


def _scrambled(seed: int) -> bytes:
    """A cubin whose section table was overwritten with noise."""
    data = bytearray(_cubin(86))
    table = int.from_bytes(data[40:48], "little")
    noise = np.random.default_rng(seed).integers(0, 256, 640, dtype=np.uint8).tobytes()
    data[table + 64 : table + 64 + len(noise)] = noise
    return bytes(data)


for _seed in range(4):
    bad(f"cubin_scrambled_{_seed}", wl.CubinError, "", lambda seed=_seed: _load(_scrambled(seed)))

bad("occupancy_no_threads", wl.InputError, "threads",
    lambda: wl.occupancy("H100", threads=0, registers=32))  # fmt: skip
bad("occupancy_many_registers", wl.InputError, "registers",
    lambda: wl.occupancy("H100", threads=64, registers=999))  # fmt: skip
bad("occupancy_unknown_gpu", wl.UnknownGpu, "h999",
    lambda: wl.occupancy("H999", threads=64, registers=32))  # fmt: skip
