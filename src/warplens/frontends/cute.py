"""CuTe DSL: a runtime library of our own over the driver's functions.

Its own holds NVIDIA's runtime, which asks the driver for undocumented tables. Compiled programs
call that library's functions by name; `CUTE_DSL_LIBS` says which library has them. Most are one
call of the driver each; the others say their name once and return cudaErrorNotSupported.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from warplens.driver.entries import served
from warplens.frontends.frontend import Frontend, GiveDriver
from warplens.libcuda.build import build

_HEAD = """\
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))
typedef uint64_t u64;
"""
_MISSING = """\
EXPORTED int %(name)s(void) {
    static atomic_int is_told;
    if (!atomic_exchange(&is_told, 1))
        fprintf(stderr, "warplens: CuTe DSL's %(name)s is not supported\\n");
    return 801;
}
"""
# The runtime's functions that are one of the driver's, parameter by parameter. Structures that are
# passed (launch configurations and attributes) have the same fields at the same places.
_SAME = {
    "_cudaGetDeviceCount": "cuDeviceGetCount", "_cudaDeviceGetAttribute": "cuDeviceGetAttribute",
    "_cudaMalloc": "cuMemAlloc_v2", "_cudaFree": "cuMemFree_v2", "_cudaFreeHost": "cuMemFreeHost",
    "_cudaMallocHost": "cuMemAllocHost_v2", "_cudaMallocAsync": "cuMemAllocAsync",
    "_cudaFreeAsync": "cuMemFreeAsync", "_cudaEventDestroy": "cuEventDestroy_v2",
    "_cudaEventRecord": "cuEventRecord", "_cudaEventElapsedTime": "cuEventElapsedTime_v2",
    "_cudaStreamDestroy": "cuStreamDestroy_v2", "_cudaStreamSynchronize": "cuStreamSynchronize",
    "_cudaStreamWaitEvent": "cuStreamWaitEvent", "_cudaStreamEndCapture": "cuStreamEndCapture",
    "_cudaStreamBeginCapture": "cuStreamBeginCapture_v2", "_cudaGraphLaunch": "cuGraphLaunch",
    "_cudaGraphDestroy": "cuGraphDestroy", "_cudaGraphExecDestroy": "cuGraphExecDestroy",
    "_cudaGraphInstantiate": "cuGraphInstantiateWithFlags",
    "_cudaLibraryLoadData": "cuLibraryLoadData", "_cudaLibraryUnload": "cuLibraryUnload",
    "_cudaLibraryLoadFromFile": "cuLibraryLoadFromFile", "_cudaDeviceSynchronize":
    "cuCtxSynchronize", "_cudaLibraryGetKernel": "cuLibraryGetKernel",
    "_cudaLibraryGetGlobal": "cuLibraryGetGlobal", "_cudaLibraryGetManaged": "cuLibraryGetManaged",
    "_cudaLibraryGetKernelCount": "cuLibraryGetKernelCount", "_cudaProfilerStart":
    "cuProfilerStart", "_cudaProfilerStop": "cuProfilerStop", "_cuDeviceGet": "cuDeviceGet",
    "_cuKernelGetAttribute": "cuKernelGetAttribute", "_cuLibraryGetGlobal": "cuLibraryGetGlobal",
    "_cuLibraryGetKernel": "cuLibraryGetKernel", "_cuLibraryLoadData": "cuLibraryLoadData",
    "_cuLibraryGetKernelCount": "cuLibraryGetKernelCount", "_cuLibraryUnload": "cuLibraryUnload",
    "_cuLibraryGetManaged": "cuLibraryGetManaged", "_cuLibraryGetModule": "cuLibraryGetModule",
    "_cuLibraryLoadFromFile": "cuLibraryLoadFromFile",
    "_cuTensorMapEncodeTiled": "cuTensorMapEncodeTiled",
    "_cudaOccupancyMaxActiveBlocksPerMultiprocessor":
    "cuOccupancyMaxActiveBlocksPerMultiprocessor", "_cudaStreamAddCallback": "cuStreamAddCallback",
}  # fmt: skip
_OWN = """\
static int ready(void) {
    u64 context = 0;
    int status = cuCtxGetCurrent((u64)&context);
    if (status || context) return status;
    status = cuDevicePrimaryCtxRetain((u64)&context, 0);
    return status ? status : cuCtxSetCurrent(context);
}
EXPORTED int _cudaGetDevice(int *device) {
    int status = ready();
    return status ? status : cuCtxGetDevice((u64)device);
}
EXPORTED int _cudaSetDevice(int device) {
    u64 context = 0;
    int status = cuDevicePrimaryCtxRetain((u64)&context, device);
    return status ? status : cuCtxSetCurrent(context);
}
EXPORTED int _cudaMallocManaged(u64 to, u64 bytes, unsigned flags) {
    return cuMemAllocManaged(to, bytes, flags);
}
EXPORTED int _cudaMemcpy(u64 to, u64 from, u64 bytes, int kind) {
    return cuMemcpy(to, from, bytes);
}
EXPORTED int _cudaMemcpyAsync(u64 to, u64 from, u64 bytes, int kind, u64 stream) {
    return cuMemcpyAsync(to, from, bytes, stream);
}
EXPORTED int _cudaMemset(u64 to, int value, u64 bytes) { return cuMemsetD8_v2(to, value, bytes); }
EXPORTED int _cudaMemsetAsync(u64 to, int value, u64 bytes, u64 stream) {
    return cuMemsetD8Async(to, value, bytes, stream);
}
EXPORTED int _cudaEventCreate(u64 event) { return cuEventCreate(event, 0); }
EXPORTED int _cudaStreamCreate(u64 stream) { return cuStreamCreate(stream, 0); }
EXPORTED int _cudaFuncSetAttribute(u64 function, int attribute, int value) {
    return cuFuncSetAttribute(function, attribute, value);
}
EXPORTED int _cudaKernelSetAttributeForDevice(u64 kernel, int attribute, int value, int device) {
    return cuKernelSetAttribute(attribute, value, kernel, device);
}
EXPORTED int _cudaLaunchKernelEx(u64 config, u64 function, u64 arguments) {
    int status = ready();
    return status ? status : cuLaunchKernelEx(config, function, arguments, 0);
}
/* Programs compiled for TVM FFI load their kernels themselves. */
EXPORTED int cuda_dialect_init_library_once(u64 *library, int (*init)(u64 *),
                                            int (*load)(u64 *, int),
                                            void (*raise)(const char *, const char *)) {
    if (*library) return 0;
    int status = ready(), count = 0;
    u64 loaded = 0;
    if (!status) status = init(&loaded);
    if (!status) status = cuDeviceGetCount((u64)&count);
    for (int device = 0; device < count && !status; device++) status = load(&loaded, device);
    if (status) {
        char text[64];
        snprintf(text, sizeof text, "CUDA Error Code: %d", status);
        raise("CUDADialectError", text);
        return status;
    }
    *library = loaded;
    return 0;
}
typedef void raised(const char *kind, const char **parts, int count);
EXPORTED void CuteDSLRT_TVMFFISetRaisedCudaError(raised *raise, int status) {
    char text[64];
    const char *parts[] = {text};
    snprintf(text, sizeof text, "CUDA Error Code: %d", status);
    raise("CUDADialectError", parts, 1);
}
EXPORTED void CuteDSLRT_TVMFFISetRaisedCudaLaunchError(
        raised *raise, int gx, int gy, int gz, int bx, int by, int bz, int threads,
        long long shared, int device, int most, int mbx, int mby, int mbz, int mgx, int mgy,
        int mgz, int most_shared, int most_shared_optin, const char *violation,
        const char *file, int line, int column, int end) {
    char text[1024];
    const char *parts[] = {text};
    snprintf(text, sizeof text, "CUDA Error Code: 9 %s: grid (%d, %d, %d), block (%d, %d, %d), "
             "%lld bytes of dynamic shared memory, %s:%d", violation, gx, gy, gz, bx, by, bz,
             shared, file, line);
    raise("CUDADialectError", parts, 1);
}
EXPORTED int cuda_dialect_unload_library_once(void *a, void *b, void *c, void *d) { return 0; }
EXPORTED const char *cuda_dialect_get_error_name(int status) {
    const char *name = 0;
    cuGetErrorName(status, (u64)&name);
    return name ? name : "unknown error";
}
EXPORTED void cuda_dialect_print_on_error(int status) {
    if (status) fprintf(stderr, "warplens: %s\\n", cuda_dialect_get_error_name(status));
}
"""
_OTHERS = (
    "_cudaGetDeviceProperties", "_cudaLaunchKernel", "_cudaLibraryGetUnifiedFunction",
    "_cuLibraryGetUnifiedFunction", "CuteDSLRT_Function_Run", "CuteDSLRT_GetErrorName",
    "CuteDSLRT_GetErrorString", "CuteDSLRT_Module_Create_From_Bytes", "CuteDSLRT_Module_Destroy",
    "CuteDSLRT_Module_Get_Function", "cuda_dialect_assert_success",
)  # fmt: skip
_C_TYPES = {"I32": "int", "U8": "unsigned char", "U16": "unsigned short", "U32": "unsigned",
            "U64": "u64", "Pointer": "u64"}  # fmt: skip


def source() -> str:
    """The library's C text."""
    entries, parts = served(), [_HEAD]
    used = sorted({*_SAME.values(), *(name for name in entries if f"{name}(" in _OWN)})
    for name in used:
        declared = ", ".join(_C_TYPES[kind] for kind in entries[name].types) or "void"
        parts.append(f"int {name}({declared});")
    parts.append(_OWN)
    for name, entry in _SAME.items():
        types = [_C_TYPES[kind] for kind in entries[entry].types]
        given = ", ".join(f"{kind} a{i}" for i, kind in enumerate(types)) or "void"
        passed = ", ".join(f"a{i}" for i in range(len(types)))
        parts.append(
            f"EXPORTED int {name}({given}) {{\n"
            f"    int status = ready();\n    return status ? status : {entry}({passed});\n}}"
        )
    parts += [_MISSING % {"name": name} for name in _OTHERS]
    return "\n".join(parts)


def _name_library() -> None:
    os.environ["CUTE_DSL_LIBS"] = str(build(source(), soname="libwarplens_cute.so"))
    os.environ.setdefault("CUTE_DSL_LINEINFO", "1")  # reports and faults name the Python line


def _answer_runtime(give_driver: GiveDriver) -> None:
    """Some questions go to NVIDIA's runtime through cuda.bindings; the driver answers them."""
    runtime: Any = importlib.import_module("cuda.bindings.runtime")
    good = runtime.cudaError_t.cudaSuccess
    runtime.cudaGetDeviceCount = lambda: (good, len(give_driver().gpus))
    runtime.cudaGetDevice = lambda: (good, 0)
    runtime.cudaLibraryUnload = lambda library: (good,)
    sm = give_driver().gpus[0].spec.sm
    os.environ.setdefault("CUTE_DSL_ARCH", f"sm_{sm}" + ("a" if sm >= 90 else ""))


def _activate(give_driver: GiveDriver) -> None:
    _answer_runtime(give_driver)


FRONTEND = Frontend(
    module="cutlass", package="nvidia-cutlass-dsl", first="4.8", before="4.9",
    prepare=_name_library, activate=_activate,
)  # fmt: skip
