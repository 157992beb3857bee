"""Files that nvcc takes: its implicit declarations, host headers, host code beside kernels."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import warplens as wl
from tests.in_turn import one_in
from warplens.errors import CompileError
from warplens.toolchain.cache import Cache
from warplens.toolchain.cubin import read_cubin
from warplens.toolchain.host_code import name_of, parts_of
from warplens.toolchain.nvrtc import compile_source

NO_CACHE = Cache(None)
KERNEL = 'extern "C" __global__ void k(float* o) {{ {} }}\n'
# What nvcc 13 compiles with GCC's headers, each without any other declaration.
BODIES = {
    "constants": "o[0] = INFINITY; o[1] = NAN; o[2] = HUGE_VALF + HUGE_VAL;",
    "mathematics": "o[0] = M_PI * M_E + M_SQRT2 - M_LN2;",
    "short names": "uint a = 1; ushort b = 2; ulong c = 3; u_char d = 4; o[0] = a + b + c + d;",
    "fixed widths": "int32_t a = 1; uint8_t b = 2; uint64_t c = 3; ssize_t d = 4; o[0] = a + c;",
    "limits": "o[0] = INT_MAX + CHAR_BIT; o[1] = RAND_MAX; o[2] = sizeof(std::size_t);",
}  # fmt: skip
HEADERS = {
    "math.h": "o[0] = M_PI; o[1] = INFINITY; o[2] = sqrtf(o[0]);",
    "cuda.h": "o[0] = 1;",
    "cuda_runtime.h": "o[0] = make_float4(1, 2, 3, 4).y;",
    "device_launch_parameters.h": "o[threadIdx.x] = 1;",
    "stdio.h": 'printf("%f", o[0]);',
    "assert.h": "assert(o); o[0] = 1;",
    "stdbool.h": "bool positive = o[0] > 0; o[1] = positive;",
    "vector": "o[0] = std::max(o[1], o[2]);",
    "iostream": "o[0] = 1;",
    "string": "o[0] = 1;",
    "chrono": "o[0] = 1;",
    "random": "o[0] = 1;",
    "sys/time.h": "o[0] = 1;",
    "cublas_v2.h": "o[0] = __bfloat162float(__float2bfloat16(o[1]));",
}
HOST_CODE = {
    "function": "int next(int a) { return a + 1; }",
    "marked function": "__host__ int next(int a);\n__host__ int next(int a) { return a + 1; }",
    "members": """struct S {
        float x;
        __host__ S() : x(1) {}
        __host__ __device__ S(float a) : x(a) {}
        __host__ void save(const char* file) const;
        __device__ float get() { return x; }
    };
    __device__ float use() { S s(2.0f); return s.get(); }""",
    "runtime calls": """#include <cuda_runtime.h>
    #define CHECK(x) check((x), __LINE__)
    void check(cudaError_t e, int n) { if (e) { fprintf(stderr, "%d\\n", n); exit(1); } }
    template <class T> void fill(T* p, int n) { for (int i = 0; i < n; i++) p[i] = rand(); }""",
    "containers": """#include <vector>
    using std::vector;
    using Row = std::vector<float>;
    static std::vector<int> kept = {1, 2, 3};
    struct Config { std::vector<int> sizes; Row row; };
    float sum(const Row& row) { float s = 0; for (float v : row) s += v; return s; }""",
    "class with a member of the host's": """#include <sys/time.h>
    struct Watch { struct timeval start; float get() { return start.tv_sec; } };""",
    "class of its own": """#include <string>
    class Timer { std::string name_; public: Timer(std::string n) : name_(n) {} ~Timer(); };
    Timer::~Timer() { std::cout << name_; }""",
}  # fmt: skip
MAIN = """
int main(int argc, char** argv) {
    float* o;
    cudaMalloc(&o, 4);
    k<<<1, 32>>>(o);
    cudaDeviceSynchronize();
    return 0;
}
"""


@pytest.mark.parametrize("body", BODIES)
def test_implicit_declarations(body: str) -> None:
    """What nvcc declares before the first line."""
    made = compile_source(KERNEL.format(BODIES[body]), sm=90, cache=NO_CACHE)
    assert list(read_cubin(made.cubin).kernels) == ["k"]


@pytest.mark.parametrize("header", one_in(2, list(HEADERS), str))
def test_headers(header: str) -> None:
    """Headers of the host's compiler, of CUDA and of its libraries."""
    source = f"#include <{header}>\n" + KERNEL.format(HEADERS[header])
    assert compile_source(source, sm=90, cache=NO_CACHE).cubin


@pytest.mark.parametrize("code", one_in(2, list(HOST_CODE), str))
@pytest.mark.parametrize("tail", ["", MAIN], ids=["alone", "main"])
def test_host_code_beside_kernels(code: str, tail: str) -> None:
    """It is left out; the log says so once."""
    source = HOST_CODE[code] + "\n" + KERNEL.format("o[0] = 1;") + tail
    made = compile_source(source, sm=90, cache=NO_CACHE)
    assert list(read_cubin(made.cubin).kernels) == ["k"]
    assert made.log.count("warplens: ") == 1
    assert ("main()" in made.log) == bool(tail)


def test_constants_have_the_bits_of_nvcc() -> None:
    """NAN is the quiet NaN that nvcc makes of it, and they may stand in constant expressions."""
    body = KERNEL.format("o[0] = NAN; o[1] = -NAN; o[2] = g;")
    source = f"__device__ float g = INFINITY;\n{body}"
    out = np.zeros(3, np.float32)
    wl.Device("sm_90").compile(source)["k"][1, 1](out)
    assert out.view(np.uint32).tolist() == [0x7FC00000, 0xFFC00000, 0x7F800000]


def test_lines_stay_in_files_with_host_code(tmp_path: Path) -> None:
    """Line tables and errors name the user's lines, in headers too."""
    (tmp_path / "common.h").write_text(
        "#pragma once\n#include <vector>\n"
        "inline void say(std::vector<int> v) {\n    std::cout << v.size();\n}\n"
        "__device__ float twice(float a) {\n    return a * __expf(a);\n}\n"
    )
    path = tmp_path / "main.cu"
    path.write_text(
        '#include <string>\n#include "common.h"\nstatic std::string name;\n\n'
        + KERNEL.format("\n    o[0] = twice(o[1]);\n")
        + MAIN
    )
    module = wl.Device("sm_90").compile(path)
    places = {(Path(i.file or "").name, i.line): i.opcode for i in module.sass("k").instructions}
    assert places["main.cu", 6] == "STG"
    assert ("common.h", 7) in places
    assert "say(), main()" in module.log

    path.write_text(path.read_text().replace("twice(o[1])", "thrice(o[1])"))
    with pytest.raises(CompileError, match=r"main\.cu\(6\): error: identifier \"thrice\""):
        wl.Device("sm_90").compile(path)


def test_device_code_is_never_left_out() -> None:
    """An error in a kernel stays an error, also where a macro writes the kernel's head."""
    source = "#define BODY(n) __global__ void n(float* o)\nBODY(k) { o[0] = unknown; }\n" + MAIN
    with pytest.raises(CompileError, match=r'\(2\): error: identifier "unknown"'):
        compile_source(source, sm=90, cache=NO_CACHE)


def test_what_compiled_before_is_not_touched() -> None:
    """A file that NVRTC takes is compiled as it is."""
    source = "typedef unsigned long long uint64_t;\n" + KERNEL.format("uint64_t a = 1; o[0] = a;")
    assert compile_source(source, sm=90, cache=NO_CACHE).log == ""


def test_parts_of_a_file() -> None:
    """Declarations and definitions are told apart by their braces, not by their layout."""
    text = """namespace a { namespace b {
    template <typename T, int N = (3 > 2)> struct alignas(16) S : Base<T> {
        T x[N] = {1, 2};
        S() : x{1}, y(2) { f("}{"); } // }
        private: T get() const;
    };
    enum class E : int { A, B };
    }}
    extern "C" { void h(int a = {}) { if (a) { g(R"x(})x"); } } }
    #define MACRO { {
    static int v[] = {1, 2, 3}, w{4};
    bool operator==(const V& a, const V& b) { return true; }
    auto f = [](int a) { return a; };
    struct P make() { return {}; }
    """
    parts = parts_of(text)
    assert [(p.kind, re.split(r"\W", name_of(p))[0]) for p in parts] == [
        ("class", "template"), ("declaration", "enum"), ("function", "h"),
        ("declaration", "static"), ("function", "operator"), ("declaration", "auto"),
        ("function", "make"),
    ]  # fmt: skip
    assert [p.kind for p in parts[0].inner] == ["declaration", "function", "prototype"]
