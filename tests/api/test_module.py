"""Devices, sources, kernel names, cubins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.api.sources import SOURCE
from warplens.naming import bare_name, names_of, without_parameters


@pytest.fixture(scope="module")
def module() -> wl.Module:
    return wl.Device("RTX 4090").compile(SOURCE, name_expressions=("scale<3>",))


@pytest.mark.parametrize(
    ("asked", "full"),
    [
        ("reverse", "reverse"),
        ("scale", "void scale<3>(float const*, float*, float, int)"),
        ("scale<3>", "void scale<3>(float const*, float*, float, int)"),
        ("scale< 3 >", "void scale<3>(float const*, float*, float, int)"),
        ("_Z5scaleILi3EEvPKfPffi", "void scale<3>(float const*, float*, float, int)"),
        ("types", "inner::types(long long*, unsigned char, double, long long, unsigned int, "
         "short, bool, float)"),
        ("inner::types", "inner::types(long long*, unsigned char, double, long long, "
         "unsigned int, short, bool, float)"),
        ("by_struct(Pair, int)", "by_struct(Pair, int)"),
    ],
)  # fmt: skip
def test_names(module: wl.Module, asked: str, full: str) -> None:
    """Bare, qualified, mangled, demangled names and expressions find the kernel."""
    assert module[asked].name == full


def test_templates_are_compiled_on_demand() -> None:
    """A template expression that was not asked for at compile time works as well."""
    module = wl.Device("RTX 4090").compile(SOURCE)
    out = np.zeros(32, np.float64)
    module["fill<double>"][1, 32](out, 2.5)

    assert (out == 2.5).all()
    assert "fill<double>" in module
    with pytest.raises(wl.UnknownKernel, match="several"):
        module["fill<float>"]
        module["fill"]


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("revers", "reverse"),
        ("scal<3>", "scale"),
        ("fill", "fill<...>"),
        ("fill<3>", "instantiated"),
        ("", "It has"),
    ],
)
def test_unknown_kernels_suggest(asked: str, hint: str) -> None:
    """A missing kernel gives close names, a template says that it is one."""
    module = wl.Device("RTX 4090").compile(SOURCE)
    with pytest.raises(wl.UnknownKernel) as caught:
        module[asked]

    assert hint in str(caught.value)
    assert asked not in module


def test_name_must_be_text(module: wl.Module) -> None:
    """module[3] is the user's mistake."""
    number: Any = 3
    with pytest.raises(wl.InputError):
        module[number]


@pytest.mark.parametrize(
    ("demangled", "bare"),
    [
        ("void k<float>(T1 *, int)", "k"),
        ("k(int*)", "k"),
        ("plain", "plain"),
        ("void a::b<c<int>, 3>::f<(int)2>(void (*)(int))", "f"),
        ("(anonymous namespace)::f(int)", "f"),
    ],
)
def test_bare_names(demangled: str, bare: str) -> None:
    """The bare name has no result type, namespace, template arguments or parameters."""
    assert bare_name(demangled) == bare
    assert without_parameters("f(int (*)(int))") == "f"
    assert "f<3>" in names_of("_Zx", "void f<(int)3>(int*)").spellings


def test_path_and_includes(tmp_path: Path) -> None:
    """A path is compiled with its own folder searched for headers."""
    (tmp_path / "value.h").write_text("#define VALUE 42\n")
    file = tmp_path / "k.cu"
    file.write_text('#include "value.h"\n__global__ void k(int* o) { *o = VALUE + EXTRA; }\n')
    out = np.zeros(1, np.int32)
    run = wl.Device().compile(file, options=["-DEXTRA=1"])["k"][1, 1](out)

    assert out[0] == 43
    assert {Path(name).name for name, _ in run.per_line("inst_executed") if name} == {"k.cu"}


@pytest.mark.parametrize("source", ["nowhere.cu", Path("nowhere.cu"), "bad\0name"])
def test_missing_file(source: str | Path) -> None:
    """A string without newline or brace is a path, and a missing one is named."""
    with pytest.raises(wl.InputError):
        wl.Device().compile(source)


def test_compile_error_shows_the_log() -> None:
    """NVRTC's messages are in the error."""
    with pytest.raises(wl.CompileError) as caught:
        wl.Device().compile("__global__ void k( {")

    assert "error" in caught.value.log


def test_options_must_be_a_sequence() -> None:
    """One string instead of a list would be taken letter by letter."""
    with pytest.raises(wl.InputError):
        wl.Device().compile(SOURCE, options="-G")


@pytest.mark.parametrize("name", ["RTX 9999", "", "sm_12", "H2OO"])
def test_unknown_gpu(name: str) -> None:
    """An unknown GPU is a typed error."""
    with pytest.raises(wl.UnknownGpu):
        wl.Device(name)


@pytest.mark.parametrize("clock", ["fast", -1, 0, 1e9])
def test_bad_clock(clock: str | float) -> None:
    """A clock is base, boost or a frequency."""
    with pytest.raises(wl.InputError):
        wl.Device("H200", clock=clock)


def test_clock_and_architecture_names() -> None:
    """Clock names and architecture names work."""
    assert wl.Device("H200", clock="boost").clock_mhz > wl.Device("H200").clock_mhz
    assert wl.Device("sm_90", clock=1500).clock_mhz == 1500


def test_gpu_that_cannot_be_compiled_for() -> None:
    """Volta is known for occupancy; compiling for it says why not."""
    with pytest.raises(wl.Unsupported, match="sm_70"):
        wl.Device("V100").compile(SOURCE)


def cubin_of(module: wl.Module) -> bytes:
    """The machine code of a module."""
    return module.images[0].kernels.cubin.data


def test_cubin(module: wl.Module, tmp_path: Path) -> None:
    """A cubin loads from bytes and from a file; its scalars need NumPy types."""
    data = cubin_of(module)
    file = tmp_path / "k.cubin"
    file.write_bytes(data)
    device = wl.Device("RTX 4090")
    a, b = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    device.load(data)["scale<3>"][1, 32](a, b, np.float32(2), np.int32(32))

    assert (b == 2 * a + 3).all()
    assert set(device.load(file).kernels) == set(module.kernels)
    kernel = device.load(file)["scale<3>"]
    with pytest.raises(wl.ArgumentError, match=r"np\.int32"):
        kernel[1, 32](a, b, np.float32(2), 32)
    with pytest.raises(wl.ArgumentError, match="4 bytes"):
        kernel[1, 32](a, b, np.float64(2), np.int32(32))
    with pytest.raises(wl.Unsupported):
        kernel.sweep(maxrregcount=(32,))


def test_foreign_cubins(module: wl.Module) -> None:
    """Truncated and foreign files and other architectures are refused."""
    data = cubin_of(module)
    for bad in (b"", b"not a cubin", data[:100], data[: len(data) // 2]):
        with pytest.raises(wl.CubinError):
            wl.Device("RTX 4090").load(bad)
    with pytest.raises(wl.CubinError, match="sm_89"):
        wl.Device("H200").load(data)
    with pytest.raises(wl.InputError):
        wl.Device("RTX 4090").load("nowhere.cubin")


def test_occupancy_of_a_kernel(module: wl.Module) -> None:
    """`kernel.occupancy` uses the compiled resources."""
    found = module["scale<3>"].occupancy(256)

    assert found.occupancy == 1.0
    assert found.registers == module["scale<3>"].registers
