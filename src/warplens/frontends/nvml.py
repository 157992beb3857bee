"""NVIDIA's management library: the few functions that frameworks count and name GPUs with.

`libnvidia-ml.so.1` is served by a small library over the simulated driver's; other functions are
not in it, which its users report by name.
"""

from __future__ import annotations

import ctypes
from typing import Any

from warplens.frontends.frontend import Frontend
from warplens.libcuda.build import built_or_said

SONAME = "libnvidia-ml.so.1"
VERSION = "580.00"  # of the driver for CUDA 13.0, which is the version that the driver tells
_SOURCE = """\
#include <stdint.h>
#include <string.h>
#define EXPORTED __attribute__((visibility("default")))
enum { SUCCESS = 0, INVALID = 2, SMALL = 7, UNKNOWN = 999 };
extern int cuInit(unsigned), cuDeviceGetCount(int *), cuDriverGetVersion(int *);
extern int cuDeviceGetName(char *, int, int), cuDeviceTotalMem_v2(size_t *, int);
extern int cuDeviceGetAttribute(int *, int, int);
struct memory { unsigned long long total, free, used; };

static int text(char *into, unsigned room, const char *from) {
    if (strlen(from) >= room) return SMALL;
    strcpy(into, from);
    return SUCCESS;
}
EXPORTED int nvmlInit_v2(void) { return cuInit(0) ? UNKNOWN : SUCCESS; }
EXPORTED int nvmlInit(void) { return nvmlInit_v2(); }
EXPORTED int nvmlInitWithFlags(unsigned flags) { return nvmlInit_v2(); }
EXPORTED int nvmlShutdown(void) { return SUCCESS; }
EXPORTED const char *nvmlErrorString(int code) {
    return code == SUCCESS ? "Success" : code == INVALID ? "Invalid Argument"
        : code == SMALL ? "Insufficient Size" : "Unknown Error";
}
EXPORTED int nvmlSystemGetDriverVersion(char *into, unsigned room) {
    return text(into, room, "VERSION");
}
EXPORTED int nvmlSystemGetNVMLVersion(char *into, unsigned room) {
    return text(into, room, "13.VERSION");
}
EXPORTED int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    return cuDriverGetVersion(version) ? UNKNOWN : SUCCESS;
}
EXPORTED int nvmlSystemGetCudaDriverVersion(int *version) {
    return nvmlSystemGetCudaDriverVersion_v2(version);
}
EXPORTED int nvmlDeviceGetCount_v2(unsigned *count) {
    return cuDeviceGetCount((int *)count) ? UNKNOWN : SUCCESS;
}
EXPORTED int nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }
EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned index, uintptr_t *device) {
    unsigned count;
    if (nvmlDeviceGetCount_v2(&count) || index >= count) return INVALID;
    *device = index + 1;
    return SUCCESS;
}
EXPORTED int nvmlDeviceGetHandleByIndex(unsigned index, uintptr_t *device) {
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}
EXPORTED int nvmlDeviceGetIndex(uintptr_t device, unsigned *index) {
    *index = device - 1;
    return SUCCESS;
}
EXPORTED int nvmlDeviceGetName(uintptr_t device, char *into, unsigned room) {
    return cuDeviceGetName(into, room, device - 1) ? INVALID : SUCCESS;
}
EXPORTED int nvmlDeviceGetCudaComputeCapability(uintptr_t device, int *major, int *minor) {
    return cuDeviceGetAttribute(major, 75, device - 1)
        || cuDeviceGetAttribute(minor, 76, device - 1) ? INVALID : SUCCESS;
}
EXPORTED int nvmlDeviceGetMemoryInfo(uintptr_t device, struct memory *into) {
    size_t total;
    if (cuDeviceTotalMem_v2(&total, device - 1)) return INVALID;
    into->total = into->free = total;
    into->used = 0;
    return SUCCESS;
}
""".replace("VERSION", VERSION)
_kept: list[Any] = []


def _prepare() -> None:
    library = None if _kept else built_or_said(_SOURCE, SONAME)
    if library is not None:
        _kept.append(ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL))


FRONTEND = Frontend(
    module="cuda.bindings.nvml", package="cuda-bindings", first="13.0", before="14",
    prepare=_prepare,
)  # fmt: skip
