"""Modules, libraries, their functions and variables, and the linker."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from pathlib import Path

from warplens.driver.cells import get_bytes, get_text, put_i32, put_u32, put_u64
from warplens.driver.entries.devices import kept_text
from warplens.driver.entries.table import I32, U32, U64, Pointer, entry
from warplens.driver.images import code_at, code_of
from warplens.driver.machine import Driver, SimulatedGpu
from warplens.driver.modules import (
    Function,
    LoadedModule,
    attribute_of,
    function_of,
    load,
    set_attribute,
    unload,
    variable_of,
)
from warplens.driver.status import DriverError, Status
from warplens.toolchain import nvjitlink

_EAGER, _LOADED = 1, 1
_INPUT_KINDS = {  # CUjitInputType -> nvJitLink's
    0: nvjitlink.CUBIN, 1: nvjitlink.PTX, 2: nvjitlink.FATBIN, 3: nvjitlink.OBJECT,
    4: nvjitlink.LIBRARY,
}  # fmt: skip


def _library_gpu(driver: Driver) -> SimulatedGpu:
    """Libraries need no context; without one they are for the first GPU."""
    return driver.stack[-1].gpu if driver.stack else driver.gpus[0]


def _load_file(driver: Driver, gpu: SimulatedGpu, path: int) -> int:
    name = get_text(path)
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise DriverError(Status.CUDA_ERROR_FILE_NOT_FOUND, name) from error
    return load(driver, gpu, code_of(data, gpu.spec.sm))


@entry("cuModuleLoadData", "cuModuleLoadFatBinary")
def load_data(driver: Driver, module: Pointer, image: Pointer) -> None:
    """A module from a cubin, a fat binary or PTX."""
    gpu = driver.context().gpu
    put_u64(module, load(driver, gpu, code_at(image, gpu.spec.sm)))


@entry("cuModuleLoadDataEx")
def load_data_ex(
    driver: Driver, module: Pointer, image: Pointer, count: U32, options: Pointer, values: Pointer
) -> None:
    """The same; options of the PTX compiler are not taken."""
    gpu = driver.context().gpu
    put_u64(module, load(driver, gpu, code_at(image, gpu.spec.sm)))


@entry("cuModuleLoad")
def load_file(driver: Driver, module: Pointer, path: Pointer) -> None:
    """A module from a file."""
    put_u64(module, _load_file(driver, driver.context().gpu, path))


@entry("cuLibraryLoadData")
def load_library(
    driver: Driver, library: Pointer, image: Pointer, options: Pointer, values: Pointer,
    count: U32, library_options: Pointer, library_values: Pointer, library_count: U32,
) -> None:  # fmt: skip
    """A library from a cubin, a fat binary or PTX."""
    gpu = _library_gpu(driver)
    put_u64(library, load(driver, gpu, code_at(image, gpu.spec.sm)))


@entry("cuLibraryLoadFromFile")
def load_library_file(
    driver: Driver, library: Pointer, path: Pointer, options: Pointer, values: Pointer,
    count: U32, library_options: Pointer, library_values: Pointer, library_count: U32,
) -> None:  # fmt: skip
    """A library from a file."""
    put_u64(library, _load_file(driver, _library_gpu(driver), path))


@entry("cuModuleUnload", "cuLibraryUnload")
def unload_module(driver: Driver, module: Pointer) -> None:
    """Ends a module or library."""
    unload(driver, module)


@entry("cuModuleGetLoadingMode")
def loading_mode(driver: Driver, mode: Pointer) -> None:
    """Modules are read when they are loaded."""
    put_i32(mode, _EAGER)


@entry("cuModuleGetFunction", "cuLibraryGetKernel")
def get_function(driver: Driver, function: Pointer, module: Pointer, name: Pointer) -> None:
    """A kernel by its mangled name."""
    found = driver.thing(module, LoadedModule)
    put_u64(function, function_of(driver, found, get_text(name)))


@entry("cuModuleGetFunctionCount", "cuLibraryGetKernelCount")
def function_count(driver: Driver, count: Pointer, module: Pointer) -> None:
    """How many kernels there are."""
    put_u32(count, len(driver.thing(module, LoadedModule).kernel_names))


@entry("cuModuleEnumerateFunctions", "cuLibraryEnumerateKernels")
def enumerate_functions(driver: Driver, functions: Pointer, room: U32, module: Pointer) -> None:
    """The kernels, as many as there is room for."""
    found = driver.thing(module, LoadedModule)
    for index, name in enumerate(found.kernel_names[:room]):
        put_u64(functions + 8 * index, function_of(driver, found, name))


@entry("cuModuleGetGlobal_v2", "cuLibraryGetGlobal", "cuLibraryGetManaged")
def get_global(
    driver: Driver, address: Pointer, nbytes: Pointer, module: Pointer, name: Pointer
) -> None:
    """Where a variable of the module lies."""
    where, size = variable_of(driver.thing(module, LoadedModule), get_text(name))
    if address:
        put_u64(address, where)
    if nbytes:
        put_u64(nbytes, size)


@entry("cuLibraryGetModule")
def library_module(driver: Driver, module: Pointer, library: Pointer) -> None:
    """A library is its own module."""
    put_u64(module, driver.thing(library, LoadedModule).number)


@entry("cuKernelGetFunction")
def kernel_function(driver: Driver, function: Pointer, kernel: Pointer) -> None:
    """A kernel is its own function."""
    put_u64(function, driver.thing(kernel, Function).number)


@entry("cuKernelGetLibrary", "cuFuncGetModule")
def function_module(driver: Driver, module: Pointer, function: Pointer) -> None:
    """The module of a function."""
    put_u64(module, driver.thing(function, Function).module.number)


@entry("cuFuncGetName", "cuKernelGetName")
def function_name(driver: Driver, name: Pointer, function: Pointer) -> None:
    """The mangled name."""
    text = kept_text(driver.thing(function, Function).name)
    put_u64(name, ctypes.addressof(text))


@entry("cuFuncGetAttribute")
def function_attribute(driver: Driver, value: Pointer, attribute: I32, function: Pointer) -> None:
    """One number about a kernel."""
    put_i32(value, attribute_of(driver.thing(function, Function), attribute))


@entry("cuKernelGetAttribute")
def kernel_attribute(
    driver: Driver, value: Pointer, attribute: I32, kernel: Pointer, device: I32
) -> None:
    """One number about a kernel."""
    put_i32(value, attribute_of(driver.thing(kernel, Function), attribute))


@entry("cuFuncSetAttribute")
def set_function_attribute(driver: Driver, function: Pointer, attribute: I32, value: I32) -> None:
    """Changes what launches of a kernel may ask for."""
    set_attribute(driver.thing(function, Function), attribute, value)


@entry("cuKernelSetAttribute")
def set_kernel_attribute(
    driver: Driver, attribute: I32, value: I32, kernel: Pointer, device: I32
) -> None:
    """Changes what launches of a kernel may ask for."""
    set_attribute(driver.thing(kernel, Function), attribute, value)


@entry("cuFuncSetCacheConfig", "cuFuncSetSharedMemConfig")
def set_cache(driver: Driver, function: Pointer, config: I32) -> None:
    """Preferences that newer GPUs ignore as well."""
    driver.thing(function, Function)


@entry("cuKernelSetCacheConfig")
def set_kernel_cache(driver: Driver, kernel: Pointer, config: I32, device: I32) -> None:
    """Preferences that newer GPUs ignore as well."""
    driver.thing(kernel, Function)


@entry("cuFuncLoad")
def load_function(driver: Driver, function: Pointer) -> None:
    """Functions are loaded with their module."""
    driver.thing(function, Function)


@entry("cuFuncIsLoaded")
def is_loaded(driver: Driver, state: Pointer, function: Pointer) -> None:
    """Functions are loaded with their module."""
    driver.thing(function, Function)
    put_i32(state, _LOADED)


@entry("cuFuncGetParamInfo", "cuKernelGetParamInfo")
def parameter_info(
    driver: Driver, function: Pointer, index: U64, offset: Pointer, nbytes: Pointer
) -> None:
    """Where a parameter lies among the parameters, and its size."""
    parameters = driver.thing(function, Function).sass.parameters
    if index >= len(parameters):
        raise DriverError(Status.CUDA_ERROR_INVALID_VALUE, f"there is no parameter {index}")
    put_u64(offset, parameters[index].offset)
    if nbytes:
        put_u64(nbytes, parameters[index].size)


@entry("cuFuncGetParamCount", "cuKernelGetParamCount")
def parameter_count(driver: Driver, function: Pointer, count: Pointer) -> None:
    """How many parameters a kernel has."""
    put_u64(count, len(driver.thing(function, Function).sass.parameters))


# --- linking -------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Linking:
    """A link under way."""

    gpu: SimulatedGpu
    inputs: list[nvjitlink.LinkInput] = field(default_factory=list)
    cubin: ctypes.Array[ctypes.c_char] | None = None


@entry("cuLinkCreate_v2")
def link_create(
    driver: Driver, count: U32, options: Pointer, values: Pointer, state: Pointer
) -> None:
    """Begins a link; options of the PTX compiler are not taken."""
    put_u64(state, driver.handle(Linking(driver.context().gpu)))


def _add(state: Linking, kind: int, data: bytes, name: str) -> None:
    if kind not in _INPUT_KINDS:
        raise DriverError(Status.CUDA_ERROR_NOT_SUPPORTED, f"linker input of kind {kind}")
    state.inputs.append(nvjitlink.LinkInput(kind=_INPUT_KINDS[kind], data=data, name=name))


@entry("cuLinkAddData_v2")
def link_add(
    driver: Driver, state: Pointer, kind: I32, data: Pointer, nbytes: U64, name: Pointer,
    count: U32, options: Pointer, values: Pointer,
) -> None:  # fmt: skip
    """Adds what is in memory."""
    label = get_text(name) if name else "input"
    _add(driver.thing(state, Linking), kind, get_bytes(data, nbytes), label)


@entry("cuLinkAddFile_v2")
def link_add_file(
    driver: Driver, state: Pointer, kind: I32, path: Pointer, count: U32, options: Pointer,
    values: Pointer,
) -> None:  # fmt: skip
    """Adds a file."""
    name = get_text(path)
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise DriverError(Status.CUDA_ERROR_FILE_NOT_FOUND, name) from error
    _add(driver.thing(state, Linking), kind, data, name)


@entry("cuLinkComplete")
def link_complete(driver: Driver, state: Pointer, cubin: Pointer, nbytes: Pointer) -> None:
    """The cubin, which lives as long as the link."""
    found = driver.thing(state, Linking)
    data = nvjitlink.link(found.inputs, sm=found.gpu.spec.sm)
    found.cubin = ctypes.create_string_buffer(data, len(data))
    put_u64(cubin, ctypes.addressof(found.cubin))
    if nbytes:
        put_u64(nbytes, len(data))


@entry("cuLinkDestroy")
def link_destroy(driver: Driver, state: Pointer) -> None:
    """Ends a link."""
    driver.forget(state, Linking)
