"""Launching from Python: arguments, arrays, results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warplens as wl
from tests.api.sources import SOURCE

FULL = np.arange(64, dtype=np.int32)


@pytest.fixture(scope="module")
def device() -> wl.Device:
    return wl.Device("H200")


@pytest.fixture(scope="module")
def module(device: wl.Device) -> wl.Module:
    return device.compile(SOURCE)


def test_a_grid_of_clusters(device: wl.Device) -> None:
    """A kernel whose code names block and cluster is launched with a grid of clusters."""
    source = """
    extern "C" __global__ void __block_size__((64, 1, 1), (2, 1, 1)) ranks(int* out) {
      int rank; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
      if (threadIdx.x == 0) out[blockIdx.x] = 10 * gridDim.x + rank;
    }"""
    out = np.zeros(8, np.int32)
    run = device.compile(source)["ranks"][3, 64](out)

    assert run.grid == (6, 1, 1)
    assert out.tolist() == [60, 61, 60, 61, 60, 61, 0, 0]


def test_arrays_are_used_in_place(module: wl.Module) -> None:
    """Results appear in the array that was given; nothing is left mapped."""
    a, b = np.arange(4096, dtype=np.float32), np.zeros(4096, np.float32)
    before = len(module.device.memory.segments)
    run = module["scale<3>"][32, 128](a, b, 2.0, 4096)

    assert (b == 2 * a + 3).all()
    assert run.metric("smsp__warps_launched.sum") == 128
    assert run["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"].number == 4096 * 4 / 32
    assert len(module.device.memory.segments) in (before, before + 1)  # the module's variables


def test_strided_arrays_are_copied_in_and_back(module: wl.Module) -> None:
    """A view that is not contiguous gets its results, its gaps keep theirs."""
    whole = np.zeros((64, 2), np.int32)
    whole[:, 0] = FULL
    module["reverse"][1, 64](whole[:, 0])

    assert (whole[:, 0] == FULL[::-1]).all()
    assert (whole[:, 1] == 0).all()


def test_reversed_view_is_copied(module: wl.Module) -> None:
    """Negative strides work too."""
    data = FULL.copy()
    module["add_one"][1, 32](data[::-1])

    assert (data == FULL + (FULL >= 32)).all()


def test_fortran_order_is_used_as_it_lies(module: wl.Module) -> None:
    """A Fortran-ordered array is contiguous memory: no copy."""
    data = np.asfortranarray(np.arange(64, dtype=np.int32).reshape(8, 8))
    module["add_one"][1, 64](data)

    assert (data == np.arange(64).reshape(8, 8) + 1).all()


@pytest.mark.parametrize("step", [1, 2])
def test_read_only_array_may_only_be_read(module: wl.Module, step: int) -> None:
    """Reading works; writing is a fault that leaves the array as it was."""
    data = np.arange(128, dtype=np.int32)[::step]
    data.flags.writeable = False
    out = np.zeros(64, np.int32)
    module["copy"][1, 64](data, out)

    assert (out == data[:64]).all()
    with pytest.raises(wl.MemoryFault):
        module["add_one"][1, 64](data)
    assert data[5] == 5 * step


def test_same_array_twice_has_one_address(module: wl.Module) -> None:
    """Copying an array onto itself changes nothing."""
    data = FULL.copy()
    module["copy"][1, 64](data, data)

    assert (data == FULL).all()


def test_scalars_are_converted(module: wl.Module) -> None:
    """Every scalar type arrives as given, from Python and from NumPy numbers."""
    out = np.zeros(7, np.int64)
    module["inner::types"][1, 1](out, 255, 3, -(1 << 62), 4_000_000_000, -5, True, 1.25)

    assert out.tolist() == [255, 3, -(1 << 62), 4_000_000_000, -5, 1, 5]
    module["types"][1, 1](
        out, np.uint8(1), np.float64(2), np.int64(3), np.uint32(4), np.int16(5), np.bool_(False),
        np.float32(0.5),
    )  # fmt: skip
    assert out.tolist() == [1, 2, 3, 4, 5, 0, 2]


@pytest.mark.parametrize(
    ("position", "value", "text"),
    [
        (1, 256, "0 to 255"),
        (1, -1, "0 to 255"),
        (1, 1.0, "integer"),
        (2, 1e400 * 0 + 1j, "float"),
        (2, True, "float"),
        (3, 1 << 63, "ranges from"),
        (4, -1, "0 to 4,294,967,295"),
        (5, 40_000, "-32,768 to 32,767"),
        (7, 1e39, "does not fit"),
        (7, "1", "float"),
        (7, None, "float"),
        (0, 1.5, "pointer"),
        (0, [1, 2], "pointer"),
        (0, np.zeros(7, np.float32), "points to long long"),
        (0, np.zeros(7, ">i8"), "byte order"),
        (0, np.array([None]), "Python objects"),
        (3, np.zeros(2, np.int64), "not a pointer"),
    ],
)
def test_bad_arguments_name_the_parameter(
    module: wl.Module, position: int, value: Any, text: str
) -> None:
    """A value that does not fit is refused with the parameter's number and what it is."""
    values: list[Any] = [np.zeros(7, np.int64), 1, 2.0, 3, 4, 5, True, 0.5]
    values[position] = value
    with pytest.raises(wl.ArgumentError, match=f"parameter {position}") as caught:
        module["types"][1, 1](*values)

    assert text in str(caught.value)


def test_argument_count(module: wl.Module) -> None:
    """Too many or too few arguments are refused."""
    with pytest.raises(wl.ArgumentError, match="takes 4 arguments, 2"):
        module["scale<3>"][1, 32](1, 2)
    assert module["no_arguments"][1, 1]().metric("launch__grid_size") == 1


def test_structures(module: wl.Module, device: wl.Device) -> None:
    """A structure goes as bytes or as a NumPy void scalar; it may hold a device address."""
    layout = np.dtype([("factor", "f4"), ("pad", "i4"), ("target", "u8")])
    target = device.to_device(np.zeros(32, np.int32))
    pair = np.array((2.5, 0, target.address), layout)
    module["by_struct"][1, 32](pair, 4)
    first = target.copy_to_host()
    module["by_struct"][1, 32](pair[()].tobytes(), 8)

    assert (first == 10).all()
    assert (target.copy_to_host() == 20).all()
    with pytest.raises(wl.ArgumentError, match="16 bytes"):
        module["by_struct"][1, 32](b"123", 4)
    with pytest.raises(wl.ArgumentError, match="structure"):
        module["by_struct"][1, 32](5, 4)
    target.free()


def test_device_arrays(module: wl.Module, device: wl.Device) -> None:
    """An array on the device keeps its content between launches until freed."""
    source = FULL.copy()
    array = device.to_device(source)
    for _ in range(3):
        module["add_one"][1, 64](array)

    assert (array.copy_to_host() == FULL + 3).all()
    assert (source == FULL).all()
    assert (array.shape, array.dtype, array.nbytes, len(array)) == ((64,), np.int32, 256, 64)
    assert not hasattr(array, "__cuda_array_interface__")
    assert (np.asarray(array) == FULL + 3).all()
    array.copy_from_host(FULL)
    assert (array.copy_to_host(np.zeros(64, np.int32)) == FULL).all()
    array.free()
    for use in (lambda: module["add_one"][1, 64](array), array.copy_to_host, array.free):
        with pytest.raises(wl.ArgumentError, match="freed"):
            use()


def test_device_array_of_another_device(module: wl.Module) -> None:
    """An array of another device is refused."""
    with pytest.raises(wl.ArgumentError, match="another Device"):
        module["add_one"][1, 64](wl.Device("H200").to_device(FULL))


class Foreign:
    """An array of another library, offered through DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_foreign_arrays_are_used_in_place(module: wl.Module) -> None:
    """Arrays of other libraries in host memory work through DLPack."""
    data = FULL.copy()
    module["add_one"][1, 64](Foreign(data))

    assert (data == FULL + 1).all()


def test_package_names() -> None:
    """Every public name can be imported, and wrong ones fail as usual."""
    assert all(getattr(wl, name) is not None for name in wl.__all__)
    with pytest.raises(AttributeError):
        wl.nonsense  # noqa: B018


def test_module_variables_last(device: wl.Device) -> None:
    """A __device__ variable keeps its value from launch to launch."""
    module, out = device.compile(SOURCE), np.zeros(1, np.int32)
    seen = []
    for _ in range(3):
        module["count"][1, 1](out)
        seen.append(int(out[0]))

    assert seen == [7, 8, 9]


def test_dynamic_shared_memory(module: wl.Module) -> None:
    """More than 48 KB is allowed up to the opt-in limit, not beyond."""
    out, n = np.zeros(1, np.int32), 50_000
    run = module["dynamic"][1, 128, 0, 4 * n](out, n)

    assert out[0] == n // 2
    assert run.metric("launch__shared_mem_per_block_dynamic") == 4 * n
    with pytest.raises(wl.LaunchError, match="232,448"):
        module["dynamic"][1, 128, 0, 232_449](out, n)


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        ((1, 1025), wl.LaunchError),
        ((1, (32, 33)), wl.LaunchError),
        ((1, (1, 1, 65)), wl.LaunchError),
        ((0, 1), wl.LaunchError),
        ((1, 0), wl.LaunchError),
        (((1, 65_536), 1), wl.LaunchError),
        ((1 << 31, 1), wl.LaunchError),
        ((1, 1, 0, -4), wl.LaunchError),
        ((1, 1, 0, 1.5), wl.LaunchError),
        ((1.5, 1), wl.InputError),
        (((1, 1, 1, 1), 1), wl.InputError),
        (("1", 1), wl.InputError),
        ((1,), wl.InputError),
        ((1, 1, 0, 0, 0), wl.LaunchError),
        ((1, 1, 0, 0, 1, 0), wl.InputError),
    ],
)
def test_launch_limits(module: wl.Module, shape: Any, error: type[Exception]) -> None:
    """A shape that the GPU would refuse is refused before anything runs."""
    with pytest.raises(error):
        module["add_one"][shape]


def test_launch_bounds(module: wl.Module) -> None:
    """More threads than __launch_bounds__ promised are refused."""
    with pytest.raises(wl.LaunchError, match="__launch_bounds__ of 64"):
        module["bounded"][1, 65]


def test_shapes_as_tuples(module: wl.Module) -> None:
    """Grid and block are numbers or tuples, as in numba.cuda; a stream may be given."""
    data = np.zeros(64, np.int32)
    run = module["add_one"][(1, 1, 1), (np.int64(32), 1), 0, 0](data)

    assert (run.grid, run.block) == ((1, 1, 1), (32, 1, 1))
    assert data.sum() == 32


def test_kernel_needs_a_shape(module: wl.Module) -> None:
    """Calling a kernel without brackets tells how."""
    with pytest.raises(wl.LaunchError, match="grid"):
        module["add_one"](FULL)


def test_empty_array_is_a_null_pointer(module: wl.Module) -> None:
    """An empty array can be passed; using it faults."""
    empty = np.zeros(0, np.float32)
    module["scale<3>"][1, 32](empty, empty, 1, 0)
    with pytest.raises(wl.MemoryFault):
        module["scale<3>"][1, 32](empty, empty, 1, 1)


def test_process_survives_faults(module: wl.Module) -> None:
    """After a fault the arrays are usable and a good kernel runs."""
    small = np.zeros(8, np.int32)
    with pytest.raises(wl.MemoryFault):
        module["add_one"][1, 64](small)
    data = FULL.copy()
    module["add_one"][1, 64](data)

    assert (data == FULL + 1).all()


def test_launch_shows_itself(module: wl.Module) -> None:
    """print, repr and HTML work, and names are escaped."""
    run = module["fill<int>"][1, 32](np.zeros(32, np.int32), 5)
    html = run._repr_html_()

    assert "Section: Occupancy" in str(run)
    assert "fill<int>" in repr(run)
    assert "fill&lt;int&gt;" in html and "fill<int>" not in html
    assert run.section("LaunchStats")["Block Size"].number == 32
    assert run.metrics()["smsp__inst_executed.sum"].basis == "exact"


def test_result_of_a_launch(module: wl.Module, tmp_path: Any) -> None:
    """A launch saves itself and loads again."""
    run = module["reverse"][1, 64](FULL.copy())
    path = run.save(str(tmp_path / "r"))
    (found,) = wl.load(path).launches

    assert found.metrics["smsp__inst_executed.sum"].number == run.metric("smsp__inst_executed.sum")
    assert found.source is not None and found.source.sources["kernel.cu"] == SOURCE
    total = sum(int(v or 0) for v in found.source.columns[0].values)
    assert total == run.metric("smsp__inst_executed.sum")


@pytest.mark.long  # tests/models and tests/workers have one
def test_sweep_recompiles(module: wl.Module) -> None:
    """`kernel.sweep` shows registers and occupancy of each variant."""
    sweep = module["scale<3>"].sweep(maxrregcount=(None, 16), block=(128, 1024))

    assert len(sweep) == 4
    assert all(variant.registers <= 16 for variant in list(sweep)[2:])
