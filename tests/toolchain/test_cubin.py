"""The cubin reader against pyelftools, known sources and damaged files."""

from __future__ import annotations

import io
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

import warplens as wl
from tests.in_turn import one_in
from tests.sass.corpus import compiled
from warplens.api import LaunchOptions
from warplens.errors import CubinError
from warplens.sass.model import Parameter
from warplens.sass.parser import load_kernels
from warplens.toolchain.cache import Cache
from warplens.toolchain.cubin import ARCHITECTURES, Cubin, GlobalSymbol, read_cubin
from warplens.toolchain.nvrtc import compile_source

SOURCE = """
struct Pair { int a; double b; };
struct alignas(64) Wide { float x[16]; };
__constant__ float weights[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ int initialised[5] = {1, 2, 3, 4, 5};
__device__ long long zeroed[3];
__global__ void __launch_bounds__(128)
parameters(char c, short s, Pair p, float* out, Wide w, int n) {
    __shared__ float tile[48];
    tile[threadIdx.x] = p.b * weights[n];
    __syncthreads();
    asm volatile("bar.sync 3, 64;");
    out[n] = tile[n] + c + s + w.x[n] + initialised[n];
    zeroed[n] = 5;
}
extern __shared__ float dynamic[];
__global__ void shared_only_dynamic(float* p) { p[0] = dynamic[threadIdx.x]; }
"""
each_architecture = pytest.mark.parametrize("sm", ARCHITECTURES)


def cubin_of(source: str, sm: int) -> Cubin:
    """The cubin of a source text."""
    return read_cubin(compile_source(source, sm=sm).cubin)


@each_architecture
def test_parameters_follow_the_c_layout(sm: int) -> None:
    """Offsets honour alignment at the absolute bank address; sizes are those of the C types."""
    kernel = cubin_of(SOURCE, sm).kernels["_Z10parameterscs4PairPf4Widei"]
    offset, expected = 0, []
    for ordinal, (size, align) in enumerate([(1, 1), (2, 2), (16, 8), (8, 8), (64, 64), (4, 4)]):
        address = kernel.parameter_base + offset
        offset += -address % align
        expected.append(Parameter(ordinal, offset, size))
        offset += size

    assert kernel.parameters == tuple(expected)
    assert kernel.parameter_bytes == offset
    assert len(kernel.constants[0]) == kernel.parameter_base + kernel.parameter_bytes


@each_architecture
def test_resources(sm: int) -> None:
    """Shared memory, barriers, launch bounds and names are the source's."""
    cubin = cubin_of(SOURCE, sm)
    kernel = cubin.kernels["_Z10parameterscs4PairPf4Widei"]

    assert kernel.demangled == "parameters(char, short, Pair, float*, Wide, int)"
    assert kernel.static_shared == 48 * 4
    assert kernel.shared_section == 48 * 4 + (0x400 if sm >= 90 else 0)
    assert kernel.n_barriers == 4
    assert kernel.max_threads == (128, 1, 1)
    assert kernel.required_threads is None
    assert 0 < kernel.registers <= 64
    dynamic = cubin.kernels["_Z19shared_only_dynamicPf"]
    assert dynamic.static_shared == 0


@each_architecture
def test_module_data(sm: int) -> None:
    """Initialised, zeroed and constant variables lie where their symbols say."""
    cubin = cubin_of(SOURCE, sm)
    weights, initialised = cubin.symbols["weights"], cubin.symbols["initialised"]

    assert (weights.section, weights.size) == (".nv.constant3", 16)
    assert struct.unpack_from("<4f", cubin.constant3, weights.offset) == (1, 2, 3, 4)
    assert initialised.section == ".nv.global.init"
    assert struct.unpack_from("<5i", cubin.global_init, initialised.offset) == (1, 2, 3, 4, 5)
    assert cubin.symbols["zeroed"] == GlobalSymbol(
        name="zeroed", section=".nv.global", offset=0, size=24
    )
    assert cubin.global_bytes == 24
    slots = {r.symbol: r for r in cubin.relocations if r.section == ".nv.constant4"}
    assert set(slots) == {"initialised", "zeroed"}
    assert all(r.kind == "R_CUDA_64" and r.offset < len(cubin.constant4) for r in slots.values())


@pytest.mark.parametrize("sm", [90, 100, 120])
def test_block_and_cluster_attributes(sm: int) -> None:
    """Required block and cluster dimensions are read."""
    source = (
        "__global__ void __cluster_dims__(2, 1, 1) clustered(float* p) { p[0] = 1; }\n"
        "__global__ void __block_size__((64, 2, 1)) required(float* p) { p[0] = 1; }\n"
        "__global__ void __block_size__((64, 1, 1), (2, 1, 1)) both(float* p) { p[0] = 1; }\n"
    )
    kernels = cubin_of(source, sm).kernels

    assert kernels["_Z9clusteredPf"].cluster == (2, 1, 1)
    assert kernels["_Z8requiredPf"].required_threads == (64, 2, 1)
    assert (kernels["_Z4bothPf"].required_threads, kernels["_Z4bothPf"].cluster) == (
        (64, 1, 1), (2, 1, 1)
    )  # fmt: skip
    assert [k.blocks_are_clusters for _, k in sorted(kernels.items())] == [True, True, False]


@pytest.mark.parametrize("sm", [75, 90, 120])
def test_runtime_functions_are_listed(sm: int) -> None:
    """Functions that the runtime provides, and where they are called."""
    cubin = read_cubin(compiled("runtime", sm).cubin)
    (kernel,) = cubin.kernels.values()

    assert set(cubin.externs) == {"vprintf", "malloc", "free", "__assertfail"}
    assert set(kernel.externs) == set(cubin.externs)
    assert len(kernel.system_calls) == 4
    assert b"%d %f %s\n\0" in cubin.global_init


@pytest.mark.parametrize("sm", [75, 90, 120])
def test_recursion_is_noticed(sm: int) -> None:
    """A kernel without a bound on its stack says so; others do not."""
    kernels = load_kernels(compiled("control", sm).cubin)

    assert kernels["_Z9recursionPi"].uses_recursion
    assert not kernels["nothing"].uses_recursion
    assert not kernels["_Z10call_tablePii"].uses_recursion
    assert "fibonacci(int)" in kernels["_Z9recursionPi"].functions.values()


def test_recursion_is_noticed_in_code_alone() -> None:
    """Toolkit 13.0 says of no kernel that its stack has no bound; what calls itself is seen.

    The file is what nvcc 13.0.88 made for sm_90 of corpus/control.cu's fibonacci and nothing.
    """
    cubin = (Path(__file__).parent / "recursion_13_0.cubin").read_bytes()
    assert not any(kernel.uses_recursion for kernel in read_cubin(cubin).kernels.values())

    module = wl.Device("H200", options=LaunchOptions(timing=False)).load(cubin)
    out = np.zeros(12, np.int32)
    module["recursion"][1, 12](out)

    assert out.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    assert not load_kernels(cubin)["nothing"].uses_recursion


@pytest.mark.parametrize("sm", [75, 90, 120])
@pytest.mark.parametrize("name", ["arithmetic", "control", "memory"])
def test_sections_and_symbols_equal_pyelftools(name: str, sm: int) -> None:
    """Code, constants and symbols are what another ELF reader finds."""
    data = compiled(name, sm).cubin
    cubin, oracle = read_cubin(data), ELFFile(io.BytesIO(data))
    symbols = list(oracle.get_section_by_name(".symtab").iter_symbols())
    functions = [s for s in symbols if s.entry.st_info.type == "STT_FUNC"]

    assert set(cubin.kernels) <= {s.name for s in functions if s.entry.st_value == 0}
    for kernel in cubin.kernels.values():
        code = oracle.get_section_by_name(f".text.{kernel.name}")
        assert kernel.code == code.data()
        assert (
            kernel.constants[0] == oracle.get_section_by_name(f".nv.constant0.{kernel.name}").data()
        )
        inside = {s.entry.st_value for s in functions if s.entry.st_shndx == kernel.section_index}
        assert set(kernel.functions) == inside - {0}
    for variable in cubin.symbols.values():
        (match,) = (s for s in symbols if s.name == variable.name)
        assert (match.entry.st_value, match.entry.st_size) == (variable.offset, variable.size)


@pytest.mark.parametrize("sm", [75, 120])
def test_line_table_equals_pyelftools(sm: int) -> None:
    """Every row of the line program is found, in every function."""
    data = compiled("memory", sm).cubin
    dwarf: Any = ELFFile(io.BytesIO(data)).get_dwarf_info(relocate_dwarf_sections=False)
    # The table has no compilation unit, through which pyelftools would look for its programs.
    programs = [dwarf._parse_line_program_at_offset(0, dwarf.structs)]
    rows = [
        (entry.state.address, entry.state.line)
        for program in programs
        for entry in program.get_entries()
        if entry.state is not None and not entry.state.end_sequence
    ]
    found = [
        (row.address, row.line)
        for kernel in read_cubin(data).kernels.values()
        for row in kernel.lines
        if row.file is not None
    ]

    assert sorted(found) == sorted(rows)


FOREIGN = {
    "empty": b"",
    "text": b"#include <cstdio>\nint main() {}\n",
    "fat binary": b"\x50\xed\x55\xba" + bytes(100),
    "ptx": b"//\n.version 8.0\n.target sm_90\n.address_size 64\n",
    "zeros": bytes(5000),
    "only magic": b"\x7fELF" + bytes(60),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_other_files_are_refused(kind: str) -> None:
    """What is no cubin gives a CubinError."""
    with pytest.raises(CubinError):
        read_cubin(FOREIGN[kind])


def test_relocatable_code_is_refused_with_advice() -> None:
    """Device code that is not yet linked says how to compile it."""
    made = compile_source("__global__ void k() {}", sm=80, options=["-rdc=true"], cache=Cache(None))
    with pytest.raises(CubinError, match="rdc"):
        read_cubin(made.cubin)


def test_unknown_architecture_is_named() -> None:
    """A cubin of an architecture outside the list names it."""
    made = bytearray(compile_source("__global__ void k() {}", sm=90, cache=Cache(None)).cubin)
    made[made.index(90, 48)] = 99  # in the flags of ELF's header
    with pytest.raises(CubinError, match="sm_99"):
        read_cubin(bytes(made))


@pytest.mark.parametrize("seed", one_in(4, range(4), str))
def test_damaged_cubins_never_crash(seed: int) -> None:
    """Truncated and altered cubins are read or refused with a CubinError, nothing else."""
    data = compiled("control", (75, 90, 100, 120)[seed]).cubin
    generator = random.Random(seed)
    headers = int.from_bytes(data[40:48], "little")
    for _ in range(300):
        damaged = bytearray(data)
        if generator.random() < 0.3:
            del damaged[generator.randrange(len(damaged)) :]
        else:
            start = headers if generator.random() < 0.6 else 0
            for _ in range(generator.randrange(1, 6)):
                damaged[generator.randrange(start, len(damaged))] = generator.choice(
                    (0, 1, 127, 128, 255)
                )
        try:
            read_cubin(bytes(damaged))
        except CubinError as error:
            assert str(error)
