"""Builds the libraries that a program finds in place of NVIDIA's: C text, compiled and kept.

`libcuda.so.1` holds the connection to the engine and the driver's functions; `libcudart.so.13`,
and the same as `.12`, the runtime's; `libcublas` and others the host libraries'. Which functions
there are is read from NVIDIA's own runtime library and headers, so that every program finds what it
was linked with; a function that is not served says so once and fails with the code for that.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path

from warplens.driver.entries import served as driver_served
from warplens.errors import ToolchainError
from warplens.libcuda.build import compiled
from warplens.libcuda.header import driver_api
from warplens.libcuda.source import served_name
from warplens.programs.calls import driver_slots, library_slots, runtime_slots
from warplens.programs.libraries import built
from warplens.programs.libraries import served as libraries_served
from warplens.programs.libraries.table import LIBRARIES, Library
from warplens.programs.runtime import served as runtime_served
from warplens.programs.runtime.table import SHAPES, STRUCTURES
from warplens.toolchain import packages
from warplens.toolchain.cache import default_cache, key_of
from warplens.toolchain.elf import ElfFile

DRIVER = "libcuda.so.1"
NVTX = "libnvToolsExt.so.1"
INVALID_VALUE, INVALID_CONFIGURATION = 1, 9
RUNTIMES = ("libcudart.so.13", "libcudart.so.12")
# What CUDA 12's runtime calls otherwise than CUDA 13's; its old forms are in runtime12.c.
_NAMED_EARLIER = {
    **{f"{name}_v2": name for name in (
        "cudaEventElapsedTime", "cudaGraphAddDependencies", "cudaGraphAddNode", "cudaGraphGetEdges",
        "cudaGraphNodeGetDependencies", "cudaGraphNodeGetDependentNodes",
        "cudaGraphRemoveDependencies", "cudaMemAdvise",
    )},
    **{f"{name}_v2{stream}": name + stream for stream in ("", "_ptsz") for name in (
        "cudaMemPrefetchAsync", "cudaSignalExternalSemaphoresAsync",
        "cudaStreamUpdateCaptureDependencies", "cudaWaitExternalSemaphoresAsync",
    )},
    "cudaStreamGetCaptureInfo_v3": "cudaStreamGetCaptureInfo",
    "cudaStreamGetCaptureInfo_v3_ptsz": "cudaStreamGetCaptureInfo_ptsz",
}  # fmt: skip
_COMPLETE = "complete"
_CODES = (*range(1000), 10_000)
_WORDS = {"Dim": 2, "Extent": 3, "Pitched": 4}
_EXPORTED = re.compile(r"EXPORTED [^(]*?\b(\w+)\(")
_WRITTEN = re.compile(r"\b(_?_?cuda[A-Z]\w*)[(,]")
_SHARED = """\
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <string.h>
#define EXPORTED __attribute__((visibility("default")))
int warplens_call(int slot, const uint64_t *words, size_t n, const void *data, size_t bytes);
void warplens_register(const uint64_t *words, size_t n, const char *name);
int warplens_missing(atomic_int *is_told, const char *name);
"""
_RESULT = """\
#include <stdio.h>
static __thread int last_error;
static int result(int status) {
    if (status && status != 600) last_error = status; /* not ready is no error */
    return status;
}
"""
_STUB = """\
EXPORTED int %(name)s(%(parameters)s) {
    uint64_t words[%(n)d] = {0};
%(packing)s    return %(result)s(warplens_call(%(slot)d, words, %(n)d, NULL, 0));
}
"""
_MISSING = """\
EXPORTED int %(name)s(void) {
    static atomic_int is_told;
    return %(result)s(warplens_missing(&is_told, "%(name)s"));
}
"""
# Names of the driver's codes are asked for once; the program keeps copies of its own.
_DRIVER_TEXTS = """\
#include <dlfcn.h>
static int kept_text(int slot, int code, const char **text) {
    static struct { int slot, code; char *text; } known[256];
    static int count;
    char room[512] = "";
    uint64_t words[] = {(uint32_t)code, (uint64_t)room, sizeof room};
    for (int i = 0; i < count; i++)
        if (known[i].slot == slot && known[i].code == code) return *text = known[i].text, 0;
    int status = warplens_call(slot, words, 3, NULL, 0);
    *text = NULL;
    if (status) return status;
    *text = strdup(room);
    if (count < 256) known[count].slot = slot, known[count].code = code, known[count++].text =
        (char *)*text;
    return 0;
}
static const struct { int code; const char *name, *text; } texts[] = {%(texts)s};
EXPORTED int cuGetErrorString(int code, const char **text) {
    *text = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].code == code) *text = texts[i].text;
    return *text ? 0 : 1;
}
EXPORTED int cuGetErrorName(int code, const char **text) { return kept_text(%(name)d, code, text); }

EXPORTED int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                                 int *status) {
    char name[256] = "";
    int32_t found = 1;
    uint64_t words[] = {(uint64_t)symbol, (uint32_t)version, (uint64_t)name, (uint64_t)&found};
    int failed = warplens_call(%(lookup)d, words, 4, NULL, 0);
    static void *self;
    Dl_info info;
    if (!self && dladdr((void *)cuGetProcAddress_v2, &info))
        self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    *function = !failed && *name ? dlsym(self, name) : NULL;
    if (status) *status = found;
    return failed ? failed : *function ? 0 : 500;
}
EXPORTED int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
"""


def libraries() -> Path:
    """The folder that holds the libraries: kept, so that nothing is left when a program ends."""
    texts, made_of = _ingredients()
    root = kept_folder()
    folder = root / made_of.hex()[:32]
    if (folder / _COMPLETE).exists():
        return folder
    root.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix="building-", dir=root))
    try:
        _place(building, texts, made_of)
        (building / _COMPLETE).touch()
        with suppress(OSError):  # another process was faster
            building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return folder


def kept_folder() -> Path:
    """Where libraries lie for as long as they are of use."""
    return (default_cache().directory or _temporary()) / "libraries"


@lru_cache(maxsize=1)
def _temporary() -> Path:
    """Where the libraries are if nothing is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="warplens-libraries-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _ingredients() -> tuple[tuple[str, ...], bytes]:
    """The written parts' texts, and a key of everything that the libraries are made of."""
    here = Path(__file__).parent
    names = ("client.c", "runtime.c", "nvtx.c", "runtime12.c", "library.py")
    client, runtime, *others = ((here / name).read_text() for name in names)
    texts = (client, configuration_text() + runtime, *others)
    made_of = key_of(
        *texts, str(driver_slots()), str(runtime_slots()), str(library_slots()), *_signatures(),
        packages.version_of("nvidia-cuda-runtime"), built.versions(),
        *(text for one in LIBRARIES.values()
          for text in (built.library_head(one), *built.header_marks(one))),
    )  # fmt: skip
    return texts, made_of


def _place(folder: Path, texts: tuple[str, ...], made_of: bytes) -> None:
    _library(DRIVER, made_of, partial(_driver_text, texts[0]), folder)
    for name, earlier in zip(RUNTIMES, ("", texts[3]), strict=True):
        _library(name, made_of, partial(_runtime_text, texts[1], earlier), folder)
    _library(NVTX, made_of, partial(_nvtx_text, texts[2]), folder)
    for library in LIBRARIES.values():
        for name in library.sonames:
            _library(name, made_of, partial(_host_library_text, library), folder)
    _link_compilers(folder)
    for name in (DRIVER, RUNTIMES[0], NVTX, *(one.sonames[0] for one in LIBRARIES.values())):
        (folder / f"{name.split('.so')[0]}.so").symlink_to(name)


def _link_compilers(folder: Path) -> None:
    """What programs link with by names that pip's packages do not have."""
    for package, name in (("nvidia-cuda-nvrtc", "nvrtc"), ("nvidia-nvjitlink", "nvJitLink")):
        with suppress(ToolchainError):
            (folder / f"lib{name}.so").symlink_to(packages.find_binary(package, f"lib{name}.so.13"))


def _signatures() -> tuple[str, ...]:
    signatures = [entry.types for entry in driver_served().values()]
    signatures += [entry.types for entry in runtime_served().values()]
    signatures += [entry.types for entry in libraries_served().values()]
    return tuple(map(str, signatures))


def _library(soname: str, made_of: bytes, text: Callable[[], str], folder: Path) -> Path:
    """One library, from the cache if it was built before."""
    headers = packages.include_dirs()[0]
    script = f"{soname} {{ global: *; }};\n"
    is_runtime = soname != DRIVER
    options = ["-pthread", f"-I{headers}", "-Wno-unused-parameter"]
    if is_runtime:
        options += ["-Wl,-rpath,$ORIGIN", "-Wl,--version-script,version"]
    key = key_of("programs", os.uname().machine, soname, script, *options, made_of)
    cache = default_cache()
    data = cache.get("programs", key)
    if data is None:
        beside = {"version": script.encode()}
        if is_runtime:
            beside[DRIVER] = (folder / DRIVER).read_bytes()
            options.append(DRIVER)
        data = compiled(text(), soname=soname, options=options, beside=beside)
        cache.put("programs", key, data)
    path = folder / soname
    path.write_bytes(data)
    return path


def _driver_text(client: str) -> str:
    served, slots = driver_served(), driver_slots()
    signatures = {name: entry.types for name, entry in served.items()}
    own = {"cuGetErrorString", "cuGetErrorName", "cuGetProcAddress", "cuGetProcAddress_v2"}
    parts = [client, STRUCTURES, _DRIVER_TEXTS % {
        "texts": error_texts(),  # the same as the runtime's for the same codes
        "name": runtime_slots()["__warplens_driver_error_name"],
        "lookup": runtime_slots()["__warplens_exported_name"],
    }]  # fmt: skip
    parts += _stubs(sorted({*driver_api().names, *served} - own), signatures, slots, "")
    return "\n".join(parts)


def _runtime_text(written: str, earlier: str) -> str:
    """The runtime's text; `earlier`: the functions that only CUDA 12's has in that form."""
    served, slots = runtime_served(), dict(runtime_slots())
    by_hand = {*_WRITTEN.findall(written), *_EXPORTED.findall(earlier)}
    by_hand |= {name for name, entry in served.items() if entry.written or entry.is_internal}
    defined = [f"#define SLOT_{name} {slot}" for name, slot in slots.items()]
    defined.append(f"#define TEXTS {error_texts()}")
    # CUDA 13 leaves it to the driver to look at a launch's shape, which has no code of its own.
    defined.append(f"#define REFUSED_SHAPE {INVALID_CONFIGURATION if earlier else INVALID_VALUE}")
    parts = [_SHARED, STRUCTURES, _RESULT, *defined, written]
    signatures = {name: entry.types for name, entry in served.items()}
    names = [*exported_runtime_names()]
    if earlier:
        names += _NAMED_EARLIER
        for name, now in _NAMED_EARLIER.items():
            if entry := served_name(now, signatures):
                signatures[name], slots[name] = signatures[entry], slots[entry]
    parts += [*_stubs(_without(names, by_hand), signatures, slots, "result"), earlier]
    return "\n".join(parts)


def _nvtx_text(written: str) -> str:
    slot = runtime_slots()["__warplens_nvtx"]
    return "\n".join((_SHARED, f"#define SLOT___warplens_nvtx {slot}", written))


def _host_library_text(library: Library) -> str:
    head = built.library_head(library)
    parts = [_SHARED, STRUCTURES, head]
    mine = {name: one for name, one in libraries_served().items() if one.library is library}
    slots = library_slots()
    by_hand = set(_EXPORTED.findall(head))
    for name in sorted({*mine, *built.declared_names(library)} - by_hand):
        if name in mine:
            parts.append(_stub(name, mine[name].types, slots[name], "result"))
        else:
            parts.append(_MISSING % {"name": name, "result": "unsupported"})
    return "\n".join(parts)


def configuration_text() -> str:
    """The C functions that keep a launch's shape between its call and the kernel's stub."""
    return (Path(__file__).parent / "configuration.c").read_text()


def error_texts() -> str:
    """The names and texts of the runtime's codes, from the installed library: no driver needed."""
    library = ctypes.CDLL(str(packages.find_binary("nvidia-cuda-runtime", "libcudart.so.13")))
    texts = (library.cudaGetErrorName, library.cudaGetErrorString)
    for function in texts:
        function.restype = ctypes.c_char_p
    unknown = texts[0](_CODES[-1] + 1)
    rows = []
    for code in _CODES:
        name, text = (json.dumps(function(code).decode()) for function in texts)
        if name != json.dumps(unknown.decode()):
            rows.append(f"{{{code}, {name}, {text}}}")
    return ", ".join(rows)


def exported_runtime_names() -> tuple[str, ...]:
    """Every function of NVIDIA's runtime library, and those that only earlier versions had."""
    path = packages.find_binary("nvidia-cuda-runtime", "libcudart.so.13")
    found = {name for name in ElfFile(path.read_bytes()).exported() if "cuda" in name[:6]}
    return tuple(sorted(found | {"cudaGetDeviceProperties_v2"}))


def _without(names: Iterable[str], others: Iterable[str]) -> list[str]:
    left = set(others)
    return [name for name in names if name not in left]


def _stubs(
    names: Iterable[str],
    signatures: Mapping[str, tuple[str, ...]],
    slots: Mapping[str, int],
    result: str,
) -> list[str]:
    """The functions of a library: those that are served ask the engine, the others refuse."""
    parts = []
    for name in names:
        entry = served_name(name, signatures)
        if entry:
            parts.append(_stub(name, signatures[entry], slots[entry], result))
        else:
            parts.append(_MISSING % {"name": name, "result": result})
    return parts


def _stub(name: str, types: tuple[str, ...], slot: int, result: str) -> str:
    packing, place = [], 0
    for index, kind in enumerate(types):
        packing.append(f"    memcpy(&words[{place}], &a{index}, sizeof a{index});\n")
        place += _WORDS.get(kind, 1)
    parameters = ", ".join(f"{SHAPES[kind][0]} a{i}" for i, kind in enumerate(types)) or "void"
    return _STUB % {"name": name, "parameters": parameters, "n": max(place, 1),
                    "packing": "".join(packing), "slot": slot, "result": result}  # fmt: skip
