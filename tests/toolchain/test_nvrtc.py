"""NVRTC through ctypes: outputs, options, headers, errors and the cache."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.timing.replayed import recorder_script
from warplens.errors import CompileError, ToolchainError
from warplens.toolchain import apart, nvrtc, packages
from warplens.toolchain.cache import Cache
from warplens.toolchain.cubin import read_cubin
from warplens.toolchain.elf import ElfFile
from warplens.toolchain.nvrtc import compile_source

NO_CACHE = Cache(None)
PLAIN = [
    "-arch=sm_90a", "--gpu-architecture=sm_90", "-std=c++14", "--std=c++20", "-lineinfo",
    "--generate-line-info", "-maxrregcount=32", "--maxrregcount=64", "-use_fast_math",
    "--use_fast_math", "-fmad=false", "--fmad=false", "-ftz=true", "--ftz=true", "-prec-div=false",
    "--prec-div=false", "-prec-sqrt=false", "--prec-sqrt=false", "-rdc=true",
    "--relocatable-device-code=true", "--ptxas-options=-O1", "-device-int128", "--device-int128",
    "-default-device", "--device-as-default-execution-space", "-extra-device-vectorization",
    "--extra-device-vectorization", "-w", "--disable-warnings", "-diag-suppress=177",
    "--diag-suppress=177", "-diag-error=177", "--diag-error=177", "-diag-warn=177",
    "--diag-warn=177", "-include=cuda_fp16.h", "--pre-include=cuda_fp16.h",
]  # fmt: skip
with recorder_script("copy_bursts") as BURSTS:
    pass
SCALE = "template<int N> __global__ void scale(float* p) { p[threadIdx.x] *= N; }"
MANY = """__global__ void many(float* p) {
    float a[64];
    for (int i = 0; i < 64; i++) a[i] = p[i * threadIdx.x];
    for (int i = 0; i < 64; i++) p[i] = a[63 - i] * a[i];
}"""


def test_cubin_and_ptx_come_from_one_compile() -> None:
    """Both outputs hold the instance that a name expression asked for."""
    made = compile_source(SCALE, sm=90, name_expressions=["scale<3>"], cache=NO_CACHE)
    name = made.lowered_names["scale<3>"]

    assert list(read_cubin(made.cubin).kernels) == [name]
    assert f".entry {name}" in made.ptx
    assert re.search(r"^\.target sm_90", made.ptx, re.MULTILINE)


@pytest.mark.parametrize("sm", [75, 80, 86, 87, 89, 90, 100, 103, 120, 121])
def test_every_architecture_compiles(sm: int) -> None:
    """The cubin is for the architecture asked for."""
    made = compile_source("__global__ void nothing() {}", sm=sm, cache=NO_CACHE)

    assert read_cubin(made.cubin).sm == sm


def test_register_limit_passes_through() -> None:
    """-maxrregcount reaches the assembler."""
    made = compile_source(MANY, sm=80, options=["-maxrregcount=32"], cache=NO_CACHE)

    (kernel,) = read_cubin(made.cubin).kernels.values()
    assert kernel.registers <= 32
    assert kernel.local_bytes > 0


def test_assembler_options_pass_through() -> None:
    """--ptxas-options=-O0 gives other, longer code."""
    source = MANY.replace("64", "8")
    plain = compile_source(source, sm=80, cache=NO_CACHE)
    slow = compile_source(source, sm=80, options=["--ptxas-options=-O0"], cache=NO_CACHE)

    sizes = [len(read_cubin(c.cubin).kernels["_Z4manyPf"].code) for c in (plain, slow)]
    assert sizes[0] < sizes[1]


def test_debug_information_passes_through() -> None:
    """-G brings variables' debug information, which -lineinfo does not."""
    names = []
    for options in ([], ["-G"]):
        made = compile_source(SCALE + MANY, sm=80, options=options, cache=NO_CACHE)
        names.append({section.name for section in ElfFile(made.cubin).sections})

    assert ".debug_line" in names[0] and ".debug_info" not in names[0]
    assert ".debug_info" in names[1]


@pytest.mark.parametrize(
    "options", [["-G"], ["--Ofast-compile=max"], PLAIN], ids=["debug", "fast", "others"]
)
def test_options_of_one_compile_do_not_reach_the_next(options: list[str]) -> None:
    """NVRTC keeps what some options set; all the same the next compile gives the same code."""
    source = BURSTS.source()
    before = compile_source(source, sm=90, cache=NO_CACHE).cubin

    for option in options:
        compile_source("__global__ void k() {}", sm=90, options=[option], cache=NO_CACHE)

    assert compile_source(source, sm=90, cache=NO_CACHE).cubin == before


def test_options_that_leave_no_trace_are_all_tried() -> None:
    """The options compiled within this process are those of the test above."""
    assert {option.partition("=")[0] for option in PLAIN} == apart.WITHOUT_TRACE
    assert apart.leave_no_trace(["-DN=3", "-I", "folder", *PLAIN])


def test_errors_of_a_compile_apart_are_the_same() -> None:
    """An option that NVRTC does not know, and a mistake in the source, name themselves."""
    with pytest.raises(CompileError, match="unrecognized option --no-such") as unknown:
        compile_source("__global__ void k() {}", sm=90, options=["--no-such"], cache=NO_CACHE)
    with pytest.raises(CompileError, match="missing") as mistaken:
        compile_source("__global__ void k() { missing(); }", sm=90, options=["-G"], cache=NO_CACHE)

    assert "no-such" in unknown.value.log
    assert "missing" in mistaken.value.log


def test_language_standard_can_be_chosen() -> None:
    """C++17 is the default and can be overridden."""
    concept = "template<class T> concept Any = true; __global__ void k() {}"
    with pytest.raises(CompileError):
        compile_source(concept, sm=80, cache=NO_CACHE)

    assert compile_source(concept, sm=80, options=["--std=c++20"], cache=NO_CACHE).cubin


@pytest.mark.parametrize(
    "header",
    "assert.h cassert stdio.h stdint.h cstdint stdlib.h math.h cmath string.h stddef.h limits.h"
    " cuda_runtime.h cuda_fp16.h cuda_bf16.h mma.h type_traits".split(),
)
def test_ordinary_headers_are_there(header: str) -> None:
    """Sources may include what nvcc would find."""
    body = '__global__ void k(float* p) { assert(p); *p = sqrtf(*p); printf("%f", *p); }'

    assert compile_source(f"#include <{header}>\n{body}", sm=80).cubin


def test_standard_names_are_in_std() -> None:
    """Fixed-width integers and the mathematics are in namespace std."""
    source = """#include <cmath>
    #include <cstdint>
    #include <limits>
    #include <algorithm>
    __global__ void k(float* p, std::uint64_t* q, int32_t* r) {
        *p = std::sqrt(*p) + std::fabs(*p) + std::numeric_limits<float>::max();
        *q = UINT64_MAX - std::max<uint64_t>(*q, INT32_MAX);
        static_assert(sizeof(std::int8_t) == 1 && sizeof(uint64_t) == 8);
    }"""

    assert compile_source(source, sm=80).cubin


def test_errors_show_the_log() -> None:
    """A compile error names file, line and architecture and keeps NVRTC's log."""
    with pytest.raises(CompileError) as caught:
        compile_source("__global__ void k() { undefined(); }", name="wrong.cu", sm=80)

    assert "wrong.cu(1)" in str(caught.value) and "sm_80" in str(caught.value)
    assert '"undefined" is undefined' in caught.value.log


@pytest.mark.parametrize(
    "host",
    [
        "int main() { return 0; }",
        "void launch(float* p) { k<<<1, 32>>>(p); }",
        "#include <iostream>\n",
        "#include <vector>\nstd::vector<int> v;",
    ],
)
def test_host_code_is_explained(host: str) -> None:
    """A file without kernels is refused; the hint says why and how to set host code apart."""
    with pytest.raises(CompileError) as caught:
        compile_source(host, sm=80, cache=NO_CACHE)

    assert caught.value.hint is not None and "host code" in caught.value.hint


def test_missing_headers_are_explained() -> None:
    """The hint says how to make a header known."""
    with pytest.raises(CompileError) as caught:
        compile_source('#include "mine.h"', sm=80, cache=NO_CACHE)

    assert caught.value.hint is not None and "mine.h" in caught.value.hint


def test_unknown_name_expressions_are_compile_errors() -> None:
    """A template instance that cannot be made gives a CompileError with the expression."""
    with pytest.raises(CompileError, match="nosuch<3>"):
        compile_source(SCALE, sm=80, name_expressions=["nosuch<3>"], cache=NO_CACHE)


def test_placement_new_works() -> None:
    """<new> may be included; placement new is NVRTC's own."""
    source = "#include <new>\nstruct S { int a; __device__ S() : a(3) {} };"
    kernel = "__global__ void k(void* p) { new (p) S; }"

    assert compile_source(f"{source}\n{kernel}", sm=80).cubin


def test_second_compile_comes_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repeated compile does not call NVRTC and gives the same bytes."""
    cache = Cache(tmp_path)
    first = compile_source(SCALE, sm=80, name_expressions=["scale<2>"], cache=cache)
    monkeypatch.setattr(nvrtc._Job, "run", lambda job: pytest.fail("compiled again"))

    assert compile_source(SCALE, sm=80, name_expressions=["scale<2>"], cache=cache) == first


@pytest.mark.parametrize("as_option", [False, True])
def test_changed_headers_are_noticed(tmp_path: Path, as_option: bool) -> None:
    """An edited header of the user, direct or nested, makes a new compile."""
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "outer.h").write_text('#include "inner.h"\n')
    cache = Cache(tmp_path / "cache")
    found = []
    for factor in (2, 3):
        (folder / "inner.h").write_text(f"#define FACTOR {factor}\n")
        made = compile_source(
            '#include "outer.h"\n__global__ void k(int* p) { *p *= FACTOR * 1000; }',
            sm=80,
            options=[f"-I{folder}"] if as_option else [],
            include_dirs=[] if as_option else [folder],
            cache=cache,
        )
        found.append(made.ptx)

    assert "2000" in found[0] and "3000" in found[1]


def test_own_headers_win_over_the_built_in_ones(tmp_path: Path) -> None:
    """A user's file of a standard header's name is used."""
    (tmp_path / "array").write_text("#define MINE 12345\n")
    made = compile_source(
        '#include "array"\n__global__ void k(int* p) { *p = MINE; }',
        sm=80,
        include_dirs=[tmp_path],
        cache=NO_CACHE,
    )

    assert "12345" in made.ptx


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a package, the error says which one to install."""
    monkeypatch.setattr(packages, "trees", lambda: ())
    with pytest.raises(ToolchainError, match="nvidia-cuda-runtime"):
        packages.include_dirs()
    with pytest.raises(ToolchainError) as caught:
        packages.find_binary(nvrtc.PACKAGE, "libnvrtc.so.13*")

    assert "pip install" in str(caught.value) and nvrtc.PACKAGE in str(caught.value)


def test_machine_code_is_required() -> None:
    """An option for a virtual architecture is refused with advice."""
    with pytest.raises(CompileError, match="no machine code"):
        compile_source(SCALE, sm=80, options=["-arch=compute_80"], cache=NO_CACHE)
